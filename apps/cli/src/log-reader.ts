import type { SessionEvent } from '@palimpsest/session'
import type { Damage, ScannedLog, SessionBackend } from '@palimpsest/session-persistence'
import { notFound } from './session-id.js'

export type OnEvents = (events: SessionEvent[]) => void | Promise<void>

/** Looks at every byte of a log and hands its events on in pieces, so that a log of any size takes little memory. */
export async function scanLog(backend: SessionBackend, id: string, onEvents: OnEvents): Promise<ScannedLog> {
  if (backend.scan === undefined) return readByRanges(backend, id, 0, Number.POSITIVE_INFINITY, onEvents)
  const log = await backend.scan(id, onEvents)
  if (log === undefined) throw notFound(id)
  return log
}

/** The events of a half-open range, in pieces. Damage is what was met on the way. */
export async function readRange(
  backend: SessionBackend,
  id: string,
  range: { from: number; to: number },
  onEvents: OnEvents,
): Promise<Pick<ScannedLog, 'damage'>> {
  const { from, to } = range
  if (backend.scan === undefined || to - from <= FEW_EVENTS) return readByRanges(backend, id, from, to, onEvents)
  try {
    return await scanLog(backend, id, async events => {
      const within = events.filter(({ seq }) => seq >= from && seq < to)
      if (within.length > 0) await onEvents(within)
      if (events.at(-1)!.seq >= to - 1) throw DONE
    })
  } catch (error) {
    if (error !== DONE) throw error
    return { damage: [] }
  }
}

/** How many events the log has, and what its header says. */
export async function readHead(backend: SessionBackend, id: string): Promise<ScannedLog> {
  const log = await backend.read(id, { from: 0, to: 0 })
  if (log === undefined) throw notFound(id)
  return log
}

// --- internal ---

const STEP_EVENTS = 4096
/** Up to here a range is asked for as it is; where a store scans, more than that may cost a look at the log for each step. */
const FEW_EVENTS = 2 * STEP_EVENTS
const DONE = Symbol('the range has been read')

async function readByRanges(backend: SessionBackend, id: string, from: number, to: number, onEvents: OnEvents) {
  const damage = new Map<string, Damage>()
  for (let next = from; ; next += STEP_EVENTS) {
    const log = await backend.read(id, { from: next, to: Math.min(next + STEP_EVENTS, to) })
    if (log === undefined) throw notFound(id)
    for (const each of log.damage) damage.set(JSON.stringify(each), each)
    if (log.events.length > 0) await onEvents(log.events)
    if (next + STEP_EVENTS >= Math.min(to, log.length)) return { ...log, damage: [...damage.values()] }
  }
}
