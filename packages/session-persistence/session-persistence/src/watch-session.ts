import type { SessionEvent } from '@palimpsest/session'
import { readHead } from './open-session.js'
import type { Damage, Follower, SessionBackend, StoredLog } from './port.js'
import { followThroughRead } from './read-follower.js'
import { eventUnreadable, sessionRemoved } from './watch-errors.js'

/** What a watch gives. `damage` comes between the history and the marker, for bytes that hide no event. */
export type WatchItem =
  | { readonly kind: 'event'; readonly event: SessionEvent }
  | { readonly kind: 'damage'; readonly damage: Damage }
  /** Once: the history is over, and had `length` events from seq 0 on. What follows comes as it is written. */
  | { readonly kind: 'live'; readonly length: number }

export interface WatchOptions {
  /** The first seq; one that is not written yet is waited for. Default 0. */
  from?: number
  /** Ends the watch, without an error. */
  signal?: AbortSignal
  /** How many milliseconds to wait between two looks at most, in stores that tell what is new too. Default 250. */
  pollMs?: number
}

/**
 * A stored session from `from` on, and then what is written to it, by whoever holds it, without a lease:
 * every event once and in order, across releases, takeovers and recoveries. Events come a page at a time
 * and only as fast as they are taken.
 *
 * A live event may not be acknowledged yet: it is in the log, but its writer may still be syncing it, so
 * a loss of power can take what was shown here. An unterminated tail under a live lease is not written yet.
 *
 * Ends when `signal` aborts. Otherwise it throws, once everything in front was given: `SESSION_NOT_FOUND`
 * where there is no such session, or it was removed (and perhaps made anew); `HISTORY_UNREADABLE` with the
 * seq where a hole or damage stands in front, or where an event that was given was taken back, as by a
 * write that failed half-way.
 */
export async function* watchSession(
  backend: SessionBackend,
  id: string,
  { from = 0, signal, pollMs = 250 }: WatchOptions = {},
): AsyncGenerator<WatchItem, void, void> {
  if (!Number.isSafeInteger(from) || from < 0) throw new RangeError(`from: expected a seq from 0 on, found ${from}`)
  if (!(pollMs > 0)) throw new RangeError(`pollMs: expected milliseconds above 0, found ${pollMs}`)
  if (signal?.aborted) return
  let head: StoredLog | undefined = await readHead(backend, id)
  const follower = await follow(backend, id, head, from)
  let seq = from
  for await (const event of arrivals(follower, pollMs, signal)) {
    // What a read has shown may have been taken off again since, so the end of the history is looked for anew.
    if (head !== undefined && event === NOTHING_NEW && seq < head.length) head = await readHead(backend, id)
    if (head !== undefined && seq >= head.length) {
      yield* endOfHistory(head)
      head = undefined
    }
    if (signal?.aborted) return
    if (event === NOTHING_NEW) continue
    if (event.seq !== seq) throw eventUnreadable(id, seq, `the store gave event ${event.seq} in its place`)
    yield { kind: 'event', event }
    seq += 1
  }
}

// --- internal ---

const NOTHING_NEW = undefined

async function follow(backend: SessionBackend, id: string, head: StoredLog, from: number): Promise<Follower> {
  if (backend.follow === undefined) return followThroughRead(backend, id, head, from)
  const follower = await backend.follow(id, from)
  if (follower === undefined) throw sessionRemoved(id)
  return follower
}

/** What the follower gives, event by event, and a word whenever there is no more for now. */
async function* arrivals(
  follower: Follower,
  pollMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<SessionEvent | typeof NOTHING_NEW, void, void> {
  try {
    while (!signal?.aborted) {
      const events = await nextOf(follower, signal)
      yield* events
      if (events.length > 0) continue
      yield NOTHING_NEW
      await change(follower, pollMs, signal)
    }
  } finally {
    follower.close()
  }
}

/** Who has stopped listening is told of no failure. */
async function nextOf(follower: Follower, signal: AbortSignal | undefined): Promise<SessionEvent[]> {
  try {
    return await follower.next()
  } catch (error) {
    if (signal?.aborted) return []
    throw error
  }
}

function* endOfHistory({ damage, length }: StoredLog): Generator<WatchItem> {
  for (const each of damage) if (each.code !== 'LOG_HOLE') yield { kind: 'damage', damage: each }
  yield { kind: 'live', length }
}

/** Resolves when something may be new, after `pollMs`, and on an abort. The timer keeps a process alive that only watches. */
async function change(follower: Follower, pollMs: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return
  const waiting = new AbortController()
  const stop = () => waiting.abort()
  const timer = setTimeout(stop, pollMs)
  signal?.addEventListener('abort', stop, { once: true })
  try {
    await follower.changed(waiting.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}
