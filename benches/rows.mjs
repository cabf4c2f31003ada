// What every file of own rows needs: a row's line, the clocks, fresh processes. A row is one JSON object on a line:
// { label, unit, values: { ours, floor } }; scripts/bench.mjs holds it against its target.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const median = values => values.sort((a, b) => a - b)[values.length >> 1]

/** CPU of this process, in milliseconds. */
export const cpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Prints the rows that are asked for: all of them, or those whose labels are in the JSON list of `--rows`. */
export async function runRows(rows) {
  const at = process.argv.indexOf('--rows')
  const wanted = at < 0 ? undefined : JSON.parse(process.argv[at + 1])
  for (const [label, { unit, measure }] of Object.entries(rows)) {
    if (wanted === undefined || wanted.includes(label)) {
      console.log(JSON.stringify({ label, unit, values: await measure() }))
    }
  }
}

/** Runs `body` with a new folder in `parent` and removes it. */
export async function withFolder(parent, body) {
  const folder = mkdtempSync(join(parent, 'palimpsest-bench-'))
  try {
    return await body(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What a bench file prints as JSON in a process of its own. */
export function inFreshProcess(file, ...args) {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${file} ${args.join(' ')} failed: ${stderr}`)
  return JSON.parse(stdout)
}

/** CPU that a command takes, in milliseconds, in steps of 10; Linux only. */
export function commandCpuMs(command, args) {
  const before = childTicks()
  const { status, stderr } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`)
  return (childTicks() - before) * 10
}

// --- internal ---

/** `cutime + cstime`: of children that have ended. The name before them may hold spaces and brackets. */
function childTicks() {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[13]) + Number(fields[14])
}
