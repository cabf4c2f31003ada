import { type CreateOptions, isSurfaceType, Session, SessionError, type SessionEvent } from '@palimpsest/session'
import type { Damage } from './port.js'

/** An event whose bytes are good, and which no session admits. */
export interface RefusedEvent {
  readonly seq: number
  readonly refusal: SessionError
}

/** The first event of a seed that the kernel refuses; it names the place in its message, and that is where it is read from. */
export function findRefused(options: CreateOptions): RefusedEvent | undefined {
  try {
    Session.create(options)
    return undefined
  } catch (error) {
    const place = error instanceof SessionError ? PLACE.exec(error.message)?.[1] : undefined
    if (place === undefined) throw error
    return { seq: Number(place), refusal: error as SessionError }
  }
}

/** What such an event is in a report: damage like a record whose bytes are bad. */
export function refusedDamage(event: SessionEvent): Damage {
  const bytes = new TextEncoder().encode(JSON.stringify(event)).length
  return { code: 'RECORD_DAMAGED', where: { seq: event.seq }, bytes, kept: null, mayHaveBeenAcknowledged: true }
}

/** A log from elsewhere, to be upgraded as a whole (`markSurface`); where others have theirs, a missing mark is not guessed. */
export function isUnmarked(events: readonly SessionEvent[]): boolean {
  const surface = events.filter(({ type }) => isSurfaceType(type))
  return surface.length > 0 && surface.every(({ surfaceOp }) => surfaceOp === undefined)
}

// --- internal ---

const PLACE = /^[A-Z_]+: seed\[(\d+)\]/
