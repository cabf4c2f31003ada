// Replays every recorded conversation through the loop, a real store and real HTTP, whole and killed:
//   node scripts/replay-corpus.mjs [--seed N] [--kills N] [NAME]
// A recording's answers come from a server on loopback, its results from its tools. Each request must be the
// recorded history, byte for byte, up to the normalisations that recording.mjs declares. Then the same again,
// killed with SIGKILL at a random point and resumed in another process: the conversation must end the same.
// Each stored session is then run again as `palimpsest replay` does it, which must write the same log.
//
// How it can end the same, though recovery adds facts: a result whose outcome is unknown is verified and replaced by
// the true one; a resumed turn needs a word to wake the agent, which one request holds, and which the answer to it
// then shadows. Both are edits in the log, made by agent.mjs with the kernel's own operations.
import { join } from 'node:path'
import { readOptions } from './options.mjs'
import { root } from './prepare.mjs'
import { listRecordings, readRecording } from './replay/recording.mjs'
import { replay } from './replay/replay.mjs'

const CONCURRENCY = 2
const { values, positionals } = readOptions(
  'node scripts/replay-corpus.mjs [--seed N] [--kills N] [NAME …]',
  { seed: { type: 'string' }, kills: { type: 'string', default: '1' } },
  { allowPositionals: true },
)
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const corpus = join(root, '..', 'shared', 'corpus')
const names = listRecordings(corpus).filter(name => positionals.every(part => name.includes(part)))
if (names.length === 0) {
  console.log(`SKIPPED: no recording found under ${join('..', 'shared', 'corpus')}`)
  process.exit(0)
}

const totals = {
  withCalls: 0,
  bySend: 0,
  rounds: 0,
  steps: 0,
  events: 0,
  kills: 0,
  inTools: 0,
  recovered: 0,
  failed: 0,
}
console.log(`seed ${seed}: ${names.length} recordings, each once whole then killed and resumed ${values.kills} times`)
const queue = names.map((name, index) => ({ name, index }))
await Promise.all(Array.from({ length: CONCURRENCY }, work))
console.log(
  `${totals.withCalls} files with tool calls, ${totals.bySend} files driven by send alone; ` +
    `${totals.rounds} rounds, ${totals.steps} requests compared, ${totals.kills} kills (${totals.inTools} in tools), ` +
    `${totals.recovered} results of unknown outcome verified`,
)
console.log(
  `${totals.rounds} logs replayed equal, event for event (${totals.rounds - totals.kills} whole, ` +
    `${totals.kills} killed and resumed; ${totals.events} events)`,
)
console.log(`${names.length - totals.failed} files passed, ${totals.failed} failed`)
process.exitCode = totals.failed === 0 ? 0 : 1

// --- internal ---

async function work() {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) await replayFile(next)
}

async function replayFile({ name, index }) {
  const recording = readRecording(corpus, name)
  totals[recording.tools.length > 0 ? 'withCalls' : 'bySend']++
  try {
    const told = []
    for (let round = 0; round <= Number(values.kills); round++) {
      // The first kill has the seed of the whole round, so that `--seed N NAME` plays it again.
      const own = seed + index * 1000 + Math.max(0, round - 1)
      const outcome = await replay(corpus, recording, { seed: own, killed: round > 0 })
      count(outcome)
      if (outcome.told) told.push(outcome.told)
    }
    console.log(`ok     ${name}: ${recording.rows.length} rows; ${told.join('; ')}`)
  } catch (error) {
    totals.failed++
    console.log(`FAILED ${name}: ${error.message}\nnext: node scripts/replay-corpus.mjs --seed N ${name}`)
  }
}

function count({ requests, events, kill, recovered }) {
  totals.rounds++
  totals.steps += requests
  totals.events += events
  totals.recovered += recovered
  if (kill) totals.kills++
  if (kill?.at === 'tool') totals.inTools++
}
