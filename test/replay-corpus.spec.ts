import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

// Recorded conversations of real agents lie beside the repository, where they are at hand.
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const corpus = join(root, '..', 'shared', 'corpus')
const atHand = existsSync(corpus)
if (!atHand) console.log(`SKIPPED: no recorded conversations at ${join('..', 'shared', 'corpus')}`)

test.runIf(atHand)('every recorded conversation is replayed, whole and killed', { timeout: 600_000 }, () => {
  const script = join(root, 'scripts', 'replay-corpus.mjs')
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
  console.log(stdout)
  expect(stderr).toBe('')
  expect(stdout).not.toMatch(/FAILED/)
  expect(status).toBe(0)
})
