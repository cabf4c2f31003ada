import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

// Recorded conversations of real agents lie beside the repository, where they are at hand.
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const corpus = join(root, '..', 'shared', 'corpus')
const atHand = existsSync(corpus)
if (!atHand) console.log(`SKIPPED: no recorded conversations at ${join('..', 'shared', 'corpus')}`)

test.runIf(atHand)('every recorded conversation is replayed, whole and killed', { timeout: 600_000 }, async () => {
  const { status, printed } = await run(join(root, 'scripts', 'replay-corpus.mjs'))
  console.log(printed)
  expect(printed).not.toMatch(/FAILED/)
  expect(printed).toMatch(/^\d+ files with tool calls, \d+ files driven by send/m)
  expect(printed).toMatch(/^\d+ logs replayed equal, event for event \([1-9]\d* whole, [1-9]\d* killed and resumed;/m)
  expect(status).toBe(0)
})

function run(script: string): Promise<{ status: number | string; printed: string }> {
  return new Promise(resolve =>
    execFile(process.execPath, [script], (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : (error.code ?? 1), printed: stdout + stderr }),
    ),
  )
}
