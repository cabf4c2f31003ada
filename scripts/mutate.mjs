// `npm run mutate`: changes the kernel's surface and recovery and the JSONL format in small ways, one at a
// time, and fails where the specs let too many changes pass. `npm run mutate -- PART` does one part;
// PALIMPSEST_MUTATION_WORKERS says how many changes are tried side by side (1). With `--incremental` only what
// changed since the last run is tried; it sees new code and new names of tests, not the new body of an old test.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parts } from './mutation/parts.mjs'
import { prepare, root } from './prepare.mjs'

const wanted = process.argv.slice(2).filter(each => !each.startsWith('-'))
const flags = process.argv.slice(2).filter(each => each.startsWith('-'))
const unknown = wanted.find(name => !Object.hasOwn(parts, name))
if (unknown !== undefined) {
  console.error(`expected a part (${Object.keys(parts).join(', ')}), found ${unknown}`)
  process.exit(2)
}
if (!(await prepare())) process.exit(1)

const stryker = join(root, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js')
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'palimpsest-mutation-'))
try {
  for (const name of wanted.length > 0 ? wanted : Object.keys(parts)) mutate(name)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function mutate(name) {
  console.log(`\n== ${name}`)
  const env = { ...process.env, PALIMPSEST_MUTATED_PART: name, TMPDIR: folder }
  const { status } = spawnSync(process.execPath, [stryker, 'run', ...flags], { cwd: root, env, stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
