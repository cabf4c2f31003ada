import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { SessionEvent } from '@palimpsest/session'
import { openSession, type SessionBackend } from '@palimpsest/session-persistence'
import { releaseLog } from './project.js'

export interface Place {
  project: string
  directory: string
  id: string
  backend: SessionBackend
}

const pollMs = 20
const patienceMs = 60_000

/**
 * Starts the first agent and kills it with SIGKILL once the release really runs: its `tool/call` is on
 * the disk and the program has left its first trace. Returns the process id that was killed.
 */
export async function runUntilKilled(place: Place): Promise<number> {
  const child = startAgent('first', place)
  const gone = once(child, 'exit')
  const deadline = Date.now() + patienceMs
  try {
    while (!(await isReleasing(place))) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error('expected the agent to reach the release, found it ended or stuck')
      await sleep(pollMs)
    }
  } finally {
    child.kill('SIGKILL')
    await gone
    endRelease(place)
  }
  return child.pid!
}

/** A second process opens what the first one left, and goes on to the end. */
export async function runToTheEnd(place: Place): Promise<number> {
  const child = startAgent('second', place)
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`expected the second agent to end with 0, found ${code}`)
  return child.pid!
}

export interface EditReport {
  range: readonly [number, number]
  node: number
  messages: { before: number; replaced: number; restored: number }
  characters: { before: number; replaced: number }
  isSame: boolean
}

/** Replaces what led to the release by a summary, and takes the summary back. */
export async function replaceAndRestore({ backend, id }: Place): Promise<EditReport> {
  const { session, flush, close } = await openSession(backend, id)
  const before = session.deriveMessages()
  const seqs = session.surface.seqs()
  const range = seqs.slice(
    1,
    seqs.findLastIndex(seq => session.at(seq)?.type === 'user/message'),
  )
  const [start, end] = [range[0]!, range.at(-1)!]
  const text = `[Events ${start} to ${end}: the loop in basket.mjs began at 1, now at 0; the tests pass; a release began and was interrupted.]`
  const summary = session.append(
    'user/message',
    { message: { role: 'user', content: [{ type: 'text', text }] } },
    { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: range },
  )
  const replaced = session.deriveMessages()
  session.append(
    'surface/restore',
    {},
    { surfaceOp: { op: 'restore', node: summary.seq }, sourceEventSeqs: [summary.seq] },
  )
  const restored = session.deriveMessages()
  await flush()
  await close()
  return {
    range: [start, end],
    node: summary.seq,
    messages: { before: before.length, replaced: replaced.length, restored: restored.length },
    characters: { before: JSON.stringify(before).length, replaced: JSON.stringify(replaced).length },
    isSame: JSON.stringify(restored) === JSON.stringify(before),
  }
}

export async function readEvents({ backend, id }: Place): Promise<readonly SessionEvent[]> {
  return (await backend.read(id))?.events ?? []
}

// --- internal ---

/** An agent that does not outlive the demo, however that ends. */
function startAgent(phase: 'first' | 'second', place: Place) {
  const { project, directory, id } = place
  const entry = fileURLToPath(new URL('./agent-process.js', import.meta.url))
  const child = spawn(process.execPath, [entry, phase, project, directory, id], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const end = () => {
    child.kill('SIGKILL')
    if (phase === 'first') endRelease(place)
  }
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  return child
}

async function isReleasing(place: Place): Promise<boolean> {
  if (releasePid(place) === undefined) return false
  return (await readEvents(place)).some(
    ({ type, data }) => type === 'tool/call' && JSON.stringify(data).includes('release.mjs'),
  )
}

/** The command that the killed agent ran lives on for seconds; the crash that the demo shows would have taken it too. */
function endRelease(place: Place): void {
  const pid = releasePid(place)
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

/** The process that the release says it began as; `undefined` while it has not said so. */
function releasePid({ project }: Place): number | undefined {
  const file = join(project, releaseLog)
  const pid = existsSync(file) ? /process (\d+)\n/.exec(readFileSync(file, 'utf8'))?.[1] : undefined
  return pid === undefined ? undefined : Number(pid)
}
