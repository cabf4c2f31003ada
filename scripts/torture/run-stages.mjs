import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'

/**
 * Runs stage after stage, and notes each in `folder` once it is over (`torture.json`, and as a table in
 * `torture-report.md`): another call goes on behind what passed, and runs what failed again from its
 * seed. `run(stage, seed)` resolves to whether it passed. With `isTimeUp` it goes over all stages again
 * and again, from other seeds, until then. Resolves to whether nothing that it ran failed.
 *
 * @param {{ name: string, size: Record<string, number>, isSeeded?: boolean }[]} stages
 */
export async function runStages(stages, { folder, run, seed, again = false, isTimeUp, now = Date.now, say }) {
  mkdirSync(folder, { recursive: true })
  const state = (!again && readState(folder)) || { seed, pass: 1, finished: [] }
  let failed = false
  for (;;) {
    for (const [index, stage] of stages.entries()) {
      if (isTimeUp?.()) return !failed
      const entry = entryOf(state, stage)
      if (state.finished.some(each => isSame(each, entry) && each.result === 'passed')) {
        say(`${entry.stage}: passed before, in ${seconds(state, entry)} s`)
        continue
      }
      say(
        `${entry.stage}: ${entry.size || 'its own size'}, seed ${entry.seed}, ${index + 1} of ${stages.length}, pass ${state.pass}`,
      )
      const began = now()
      const passed = await run(stage, entry.seed)
      failed ||= !passed
      const result = { ...entry, seconds: Math.round((now() - began) / 1000), result: passed ? 'passed' : 'FAILED' }
      state.finished = [...state.finished.filter(each => !isSame(each, entry)), result]
      writeState(folder, state)
    }
    // Without a limit one pass is what was asked for; what failed is found again under its seed.
    if (isTimeUp === undefined || failed) return !failed
    state.pass += 1
    writeState(folder, state)
  }
}

// --- internal ---

const STATE = 'torture.json'
const REPORT = 'torture-report.md'

function readState(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, STATE), 'utf8'))
  } catch {
    return undefined
  }
}

/** The state whole or not at all: a run is stopped when somebody has enough of it. */
function writeState(folder, state) {
  const path = join(folder, STATE)
  writeFileSync(`${path}.new`, `${JSON.stringify(state, null, 2)}\n`)
  renameSync(`${path}.new`, path)
  writeFileSync(join(folder, REPORT), tableOf(state.finished))
}

function tableOf(finished) {
  const rows = finished.map(each =>
    [each.stage, each.pass, each.size, each.seconds, each.result, each.seed].join(' | '),
  )
  const head = ['stage | pass | size | seconds | result | seed', '---|---|---|---|---|---']
  return `${[...head, ...rows].map(row => `| ${row} |`).join('\n')}\n`
}

function entryOf({ seed, pass }, { name, size, isSeeded }) {
  const sizes = Object.entries(size).map(([variable, value]) => `${variable.replace('PALIMPSEST_', '')} ${value}`)
  return {
    stage: name,
    pass,
    size: sizes.join(', '),
    seed: isSeeded ? (seed + crc32(`${name} ${pass}`)) % 2 ** 31 : '',
  }
}

/** Another size is another stage. */
function isSame(one, other) {
  return one.stage === other.stage && one.pass === other.pass && one.size === other.size
}

function seconds({ finished }, entry) {
  return finished.find(each => isSame(each, entry)).seconds
}
