import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const scripts = ['bench', 'torture', 'prune-corpus', 'replay-corpus']

test.each(scripts)('%s refuses an option that it does not know in plain words', script => {
  const { status, stderr } = run(script, '--nonsense')
  expect(status).toBe(2)
  expect(stderr).toContain("'--nonsense'")
  expect(stderr).toContain(script)
  expect(stderr).not.toMatch(/^\s+at /m)
})

test.each(scripts)('%s says how it is called', script => {
  const { status, stdout } = run(script, '--help')
  expect(status).toBe(0)
  expect(stdout).toContain(script)
})

test('torture names its stages where it is given none of them', () => {
  const { status, stderr } = run('torture', '--only', 'nothing')
  expect(status).toBe(2)
  expect(stderr).toMatch(/expected one of .*power-cut.*, found nothing/)
})

// --- internal ---

function run(script: string, ...args: string[]) {
  const path = fileURLToPath(new URL(`../scripts/${script}.mjs`, import.meta.url))
  return spawnSync(process.execPath, [path, ...args], { encoding: 'utf8' })
}
