// One round: a recording, a server that holds it, an agent in a process of its own, and a store.
import { deepStrictEqual, ok } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { replaySession } from '../../apps/cli/dist/replay/replay.js'
import { chooseKill, expectedRequests, startRecordedServer } from './recorded-server.mjs'

const AGENT = fileURLToPath(new URL('agent.mjs', import.meta.url))

/**
 * Plays the recording to its end, killed once on the way if `killed`; throws where anything is not as
 * recorded, or where `palimpsest replay` of the stored session writes another log. Resolves to the number of
 * requests compared, of events replayed and of unknown outcomes verified, and the kill.
 */
export async function replay(corpus, recording, { seed, killed }) {
  const random = randomFrom(seed)
  const kill = killed ? chooseKill(recording, random) : undefined
  const directory = mkdtempSync(join(tmpdir(), 'palimpsest-replay-'))
  let child
  const server = await startRecordedServer(recording, { random, kill, onKill: () => child.kill('SIGKILL') })
  const run = async () => {
    child = spawn(process.execPath, [AGENT, corpus, recording.name, directory, server.url])
    return outcomeOf(child)
  }
  try {
    const first = await run()
    ok(
      killed === (first.signal === 'SIGKILL'),
      `expected ${killed ? 'a kill' : 'an end'}, found ${describe(first, server)}`,
    )
    const last = killed ? await run() : first
    ok(last.code === 0, `the agent failed: ${describe(last, server)}`)
    const told = JSON.parse(last.output)
    deepStrictEqual(server.state.problems, [])
    deepStrictEqual(told.rows, recording.rows, 'the conversation ends as recorded')
    expectRequests(recording, server.state.requests, kill)
    ok(server.state.wakes <= (kill ? 1 : 0), `the agent was woken ${server.state.wakes} times`)
    const events = await expectReloadEqualsLive(directory, told.live)
    const recovered = kill ? expectTruth(kill, told.repaired) : 0
    const requests = server.state.requests.length
    return { requests, events, kill, recovered, told: kill && `seed ${seed}: ${nameOf(kill)}` }
  } catch (error) {
    throw new Error(`seed ${seed}${kill ? `, killed ${nameOf(kill)}` : ''}: ${error.message}`, { cause: error })
  } finally {
    await server.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

// --- internal ---

function outcomeOf(child) {
  const pieces = { stdout: [], stderr: [] }
  for (const name of ['stdout', 'stderr']) child[name].on('data', piece => pieces[name].push(piece))
  const text = name => Buffer.concat(pieces[name]).toString()
  return new Promise(resolve =>
    child.on('close', (code, signal) => resolve({ code, signal, output: text('stdout'), errors: text('stderr') })),
  )
}

function describe({ code, signal, errors }, server) {
  return [`exit ${code ?? signal}`, ...server.state.problems, errors.trim()].join('; ')
}

/** Every answer was asked for once, in order; after a kill the one it hit, or the next, may be asked for again. */
function expectRequests(recording, requests, kill) {
  const distinct = requests.filter((row, index) => row !== requests[index - 1])
  const wanted = expectedRequests(recording)
  const repeats = requests.length - distinct.length
  ok(repeats <= (kill ? 1 : 0), `${repeats} requests were repeated`)
  // Killed after its last result, the agent has no reason to ask for what the recording does not hold.
  const atEnd = kill !== undefined && distinct.length < wanted.length ? wanted.slice(0, -1) : wanted
  deepStrictEqual(distinct, atEnd, 'each answer is asked for in order')
}

async function expectReloadEqualsLive(directory, live) {
  const backend = createJsonlBackend({ directory })
  const { session, report, close } = await openSession(backend, 'replay')
  try {
    deepStrictEqual(report, { damage: [], repaired: [], readOnly: false })
    const { length } = session
    const reloaded = { length, messages: session.deriveMessages(), request: session.requestAt(length) }
    ok(JSON.stringify(reloaded) === live, 'the reopened session derives other bytes than the live one did')
    await expectReplayEqualsRecorded(session)
    return length
  } finally {
    await close()
    await backend.close()
  }
}

/** What `palimpsest replay` proves: the loop, run again on the stored log, writes the same log. */
async function expectReplayEqualsRecorded(session) {
  const { length, turns, difference } = await replaySession(session)
  ok(difference === undefined, `the replay differs at event ${difference?.seq}: ${JSON.stringify(difference)}`)
  deepStrictEqual(length, session.length, 'the replay goes to the end')
  ok(turns > 0, 'a turn is run again')
}

/** What recovery wrote must be true of where the kill hit. Returns how many outcomes it called unknown. */
function expectTruth(kill, repaired) {
  const results = repaired.filter(({ type }) => type === 'tool/result')
  if (kill.at === 'tool' && kill.when === 'running') {
    deepStrictEqual(
      results.map(({ code, sources }) => ({ code, sources })),
      [{ code: 'TOOL_OUTCOME_UNKNOWN', sources: ['tool/call'] }],
      'one call had begun and not ended',
    )
  }
  deepStrictEqual(repaired.at(-1)?.reason, 'interrupted', 'the turn was open when the kill hit')
  for (const { code } of results)
    ok(['TOOL_OUTCOME_UNKNOWN', 'TOOL_NOT_STARTED'].includes(code), `recovery wrote ${code}`)
  return results.length
}

function nameOf(kill) {
  return kill.at === 'stream' ? `at row ${kill.row}, piece ${kill.piece}` : `at row ${kill.row}, tool ${kill.when}`
}

/** Mulberry32: small, seeded, the same on every machine. */
function randomFrom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
