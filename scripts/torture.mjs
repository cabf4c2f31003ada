// `npm run torture`: the fault tests, large. Stop it when you like: the next run goes on behind what has
// passed. -- --only NAME: the stages whose name holds NAME; --hours N: pass after pass from new seeds
// until N hours are over; --again: from the beginning.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readOptions, refuse } from './options.mjs'
import { prepare, root } from './prepare.mjs'
import { runStages } from './torture/run-stages.mjs'
import { stages } from './torture/stages.mjs'

const { only, hours, again } = readOptions('npm run torture -- [--only NAME] [--hours N] [--again]', {
  only: { type: 'string' },
  hours: { type: 'string' },
  again: { type: 'boolean' },
}).values
const chosen = stages.filter(({ name }) => name.includes(only ?? ''))
if (chosen.length === 0) refuse(`--only: expected one of ${stages.map(({ name }) => name).join(', ')}, found ${only}`)
if (hours !== undefined && !(Number(hours) > 0)) refuse(`--hours: expected a number above 0, found ${hours}`)

const report = join(root, '.cache', 'torture-report.md')
const end = Date.now() + Number(hours) * 3_600_000
const passed =
  (await prepare()) &&
  (await runStages(chosen, {
    folder: join(root, '.cache'),
    seed: Math.floor(Math.random() * 2 ** 30),
    again,
    isTimeUp: hours === undefined ? undefined : () => Date.now() > end,
    run: runStage,
    say: line => console.log(`\n== ${line}`),
  }))
if (existsSync(report)) console.log(`\n${readFileSync(report, 'utf8')}`)
process.exitCode = passed ? 0 : 1

// --- internal ---

function runStage({ specs, size, isSeeded }, seed) {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const env = { ...process.env, ...size, ...(isSeeded && { PALIMPSEST_SEED: String(seed) }) }
  return new Promise(resolve => {
    // Large sizes take as long as they take.
    const child = spawn(process.execPath, [vitest, 'run', '--testTimeout=0', ...specs], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env,
    })
    child.on('error', () => resolve(false))
    child.on('close', code => resolve(code === 0))
  })
}
