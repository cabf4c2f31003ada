import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

// Faulty transcripts, each with the right outcome, and their own runner lie beside the repository.
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const cases = join(root, '..', 'shared', 'cases')
const atHand = existsSync(join(cases, 'run.mjs'))
if (!atHand) console.log(`SKIPPED: no cases at ${join('..', 'shared', 'cases')}`)

test.runIf(atHand)('every faulty transcript is told and healed as its case expects', { timeout: 600_000 }, async () => {
  const command = `${process.execPath} ${join('apps', 'cli', 'dist', 'main.js')}`
  const printed = await run([join(cases, 'run.mjs'), '--cases', cases, '--cmd', command, '--jobs', '2'])
  expect(printed.split('\n').filter(line => line.startsWith('FAIL'))).toEqual([])
  expect(printed).toMatch(/^[1-9]\d* passed, 0 failed$/m)
})

// --- internal ---

function run(args: string[]): Promise<string> {
  return new Promise(resolve =>
    execFile(process.execPath, args, { cwd: root, maxBuffer: 1 << 26 }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    ),
  )
}
