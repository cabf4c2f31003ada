import { isKnownType, Session, SessionError, type SessionEvent } from '@palimpsest/session'
import {
  assertFormatVersion,
  type Damage,
  findRefused,
  isUnmarked,
  refusedDamage,
  type SessionBackend,
} from '@palimpsest/session-persistence'
import type { Context } from './context.js'
import { notFound, resolveId } from './session-id.js'
import { damageLine } from './view/damage.js'

/** A stored session as it is now, read without a lease. */
export interface StoredSession {
  readonly id: string
  readonly backend: SessionBackend
  /** The events before the first hole, or before the first event that no session can hold. */
  readonly session: Session
  readonly damage: readonly Damage[]
  /** There are events behind the session's end, which these part from it. */
  readonly isHoled: boolean
}

/**
 * Opens a session for a look: writes nothing, takes no lease, repairs nothing. Where the store can, only the
 * landmarks are read, and other events when they are asked for. Damage is told on stderr.
 */
export async function readStored(context: Context, given: string | undefined): Promise<StoredSession> {
  const backend = await context.existingStore()
  const id = await resolveId(backend, given)
  const stored = await openForLook(backend!, id)
  for (const damage of stored.damage) context.out.note(`${id}: ${damageLine(damage)}`)
  return { id, backend: backend!, ...stored }
}

/** The same without a word of what is found. */
export async function openForLook(backend: SessionBackend, id: string): Promise<Opened> {
  try {
    return (await look(backend, id)) ?? (await readWhole(backend, id))
  } catch (error) {
    if (!(error instanceof SessionError)) throw error
    return readBeforeRefused(backend, id, error)
  }
}

/** What is wrong beyond a tail that nobody had been promised. */
export function isIncomplete({ isHoled, damage }: Pick<StoredSession, 'isHoled' | 'damage'>): boolean {
  return isHoled || damage.some(({ code }) => code !== 'RECORD_TORN')
}

// --- internal ---

type Opened = Pick<StoredSession, 'session' | 'damage' | 'isHoled'>

async function look(backend: SessionBackend, id: string): Promise<Opened | undefined> {
  const log = await backend.look?.(id)
  if (log === undefined) return undefined
  const { header, length, landmarks, damage } = log
  assertFormatVersion(header)
  const acceptUnknown = (log.unknown ?? []).map(({ type }) => type)
  const load = (from: number, to: number) => log.load(from, to)
  const session = Session.resume({ header, length, landmarks, load, acceptUnknown })
  return { session, damage, isHoled: damage.some(({ code }) => code === 'LOG_HOLE') }
}

async function readWhole(backend: SessionBackend, id: string): Promise<Opened> {
  const { header, seed, length, damage, acceptUnknown } = await readSeed(backend, id)
  return { session: Session.create({ header, seed, acceptUnknown }), damage, isHoled: seed.length < length }
}

/** What `error` says counts where no event is to blame. */
async function readBeforeRefused(backend: SessionBackend, id: string, error: SessionError): Promise<Opened> {
  const { header, seed, damage, acceptUnknown } = await readSeed(backend, id)
  const refused = findRefused({ header, seed, acceptUnknown })
  if (refused === undefined || isUnmarked(seed)) throw error
  const session = Session.create({ header, seed: seed.slice(0, refused.seq), acceptUnknown })
  return { session, damage: [...damage, refusedDamage(seed[refused.seq]!)], isHoled: true }
}

async function readSeed(backend: SessionBackend, id: string) {
  const log = await backend.read(id)
  if (log === undefined) throw notFound(id)
  assertFormatVersion(log.header)
  const jump = log.events.findIndex((event, index) => event.seq !== index)
  const seed = jump === -1 ? log.events : log.events.slice(0, jump)
  return { ...log, seed, acceptUnknown: unknownTypes(seed) }
}

function unknownTypes(events: readonly SessionEvent[]): string[] {
  const unknown = events.filter(event => event.ignorable !== true && !isKnownType(event.type))
  return [...new Set(unknown.map(event => event.type as string))]
}
