import { isKnownType, Session, type SessionEvent } from '@palimpsest/session'
import { assertFormatVersion, type Damage, type SessionBackend, type StoredLog } from '@palimpsest/session-persistence'
import type { Context } from './context.js'
import { notFound, resolveId } from './session-id.js'
import { damageLine } from './view/damage.js'

/** A stored session as it is now, read without a lease. */
export interface StoredSession {
  readonly id: string
  readonly log: StoredLog
  /** The events before the first hole. */
  readonly session: Session
  /** The first seq that cannot be read, where the log has a hole. */
  readonly hole: number | undefined
}

/** Reads a session for a look: writes nothing, takes no lease, repairs nothing. Damage is told on stderr. */
export async function readStored(context: Context, given: string | undefined): Promise<StoredSession> {
  const backend = context.existingStore()
  const id = await resolveId(backend, given)
  const log = await readLog(backend!, id)
  const stored = foldStored(id, log)
  for (const damage of log.damage) context.out.note(`${id}: ${damageLine(damage)}`)
  return stored
}

export async function readLog(backend: SessionBackend, id: string): Promise<StoredLog> {
  const log = await backend.read(id)
  if (log === undefined) throw notFound(id)
  assertFormatVersion(log.header)
  return log
}

/** Throws the kernel's code where the events do not fit together. */
export function foldStored(id: string, log: StoredLog): StoredSession {
  const hole = findHole(log.events, log.length)
  const seed = hole === undefined ? log.events : log.events.slice(0, hole)
  const session = Session.create({ header: log.header, seed, acceptUnknown: unknownTypes(seed) })
  return { id, log, session, hole }
}

export function unknownTypes(events: readonly SessionEvent[]): string[] {
  const unknown = events.filter(event => event.ignorable !== true && !isKnownType(event.type))
  return [...new Set(unknown.map(event => event.type as string))]
}

/** What is wrong beyond a tail that nobody had been promised. */
export function isIncomplete({ hole, log }: StoredSession): boolean {
  return hole !== undefined || log.damage.some(isSerious)
}

// --- internal ---

function isSerious(damage: Damage): boolean {
  return damage.code !== 'RECORD_TORN'
}

function findHole(events: readonly SessionEvent[], length: number): number | undefined {
  const jump = events.findIndex((event, index) => event.seq !== index)
  const end = jump === -1 ? events.length : jump
  return end < length ? end : undefined
}
