import { closeInterruptedTurn, isKnownType, Session, type SessionEvent, type SessionHeader } from '@palimpsest/session'
import { Attachment, assertWriteBehind, type WriteBehindOptions } from './attachment.js'
import { PersistenceError } from './errors.js'
import { assertFormatVersion, assertHeaderId } from './header.js'
import { assertSessionId } from './id.js'
import type { Damage, LazyLog, Lease, SessionBackend, StoredLog } from './port.js'
import { findRefused, isUnmarked, refusedDamage } from './refused-event.js'

/** A session and its store. `flush` and `close` need no `this`. */
export interface OpenSession {
  readonly session: Session
  readonly report: OpenReport
  /** Resolves when everything appended so far is durable; after a failed write it rejects with that failure. */
  flush(): Promise<void>
  /** Flushes, frees the lease and makes the session read-only. Safe to call twice. */
  close(): Promise<void>
}

export interface OpenReport {
  /** What the store found wrong in the log. */
  damage: Damage[]
  /** The events that closed an interrupted turn, already durable. */
  repaired: SessionEvent[]
  /** A hole, or an event that this build may not ignore or cannot admit, stands behind the session's end: nothing can be appended. */
  readOnly: boolean
}

export interface ResumeOptions extends WriteBehindOptions {
  /** Types to take as they are although this build does not know them; without this they make the session read-only. */
  acceptUnknown?: readonly string[]
  now?: () => number
  onListenerError?: (error: unknown, event: SessionEvent) => void
}

export interface OpenOptions extends ResumeOptions {
  /** Take the lease from an owner that is, or may be, alive. */
  takeover?: boolean
}

/**
 * Opens a stored session for work: takes its lease, reads it, closes a turn that was interrupted
 * (durably, before this resolves) and attaches the write-behind.
 *
 * A log with a hole, with an event of an unknown type that is not `ignorable`, or with one that is no
 * event of a session although its bytes are good, opens read-only up to there, unrepaired and without a
 * lease. Refusals: `SESSION_NOT_FOUND`, `SESSION_LOCKED`, `HEADER_DAMAGED`, `FORMAT_VERSION_UNSUPPORTED`,
 * `SESSION_ID_INVALID`, and `SURFACE_INTENT_REQUIRED` of an unmarked log; none of them keeps the lease.
 */
export async function openSession(
  backend: SessionBackend,
  id: string,
  options: OpenOptions = {},
): Promise<OpenSession> {
  assertWriteBehind(options)
  // Looking first keeps a mistyped id from leaving a lock behind.
  await readHead(backend, id)
  const lease = await backend.acquire(id, options.takeover ? { takeover: true } : {})
  return releaseOnFailure(lease, () => resume(backend, lease, options))
}

/** A stored session without its events, or `SESSION_NOT_FOUND`. */
export async function readHead(backend: SessionBackend, id: string): Promise<StoredLog> {
  assertSessionId(id)
  const head = await backend.read(id, { from: 0, to: 0 })
  if (head === undefined) throw notFound(id)
  assertHeader(head.header, id)
  return head
}

/** The events before the first hole, of a log that was read from its beginning. */
export function soundPart(events: SessionEvent[]): SessionEvent[] {
  const jump = events.findIndex((event, index) => event.seq !== index)
  return jump === -1 ? events : events.slice(0, jump)
}

/** Reads, repairs and attaches the session of a lease, which the result owns from then on. */
export async function resume(backend: SessionBackend, lease: Lease, options: ResumeOptions): Promise<OpenSession> {
  const resumeSound = backend.supports.lazyEvents ? resumeLazily : resumeWhole
  try {
    return await resumeSound(backend, lease, options)
  } catch (error) {
    if (isOfStore(error)) throw error
    return resumeBeforeRefused(backend, lease, error, options)
  }
}

/** Attaches a session whose events so far are all durable. */
export function attach(
  backend: SessionBackend,
  lease: Lease,
  session: Session,
  report: OpenReport,
  options: WriteBehindOptions,
): OpenSession {
  const attachment = new Attachment(session, backend, lease, options)
  return { session, report, flush: () => attachment.flush(), close: () => attachment.close() }
}

/** Frees the lease if `work` fails; its failure is the one that counts. */
export async function releaseOnFailure<T>(lease: Lease, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await lease.release().catch(() => {})
    throw error
  }
}

// --- internal ---

async function resumeWhole(backend: SessionBackend, lease: Lease, options: ResumeOptions): Promise<OpenSession> {
  const log = await backend.read(lease.id)
  if (log === undefined) throw notFound(lease.id)
  assertHeader(log.header, lease.id)
  const { header, events } = log
  const damage = damageOf(lease, log)
  const sound = soundPart(events)
  const hole = sound.length < log.length ? { seq: sound.length } : undefined
  const stop = findUnknown(sound, options.acceptUnknown) ?? hole
  if (stop !== undefined) return resumeReadOnly(backend, lease, stop, damage, options)

  const closing = closeInterruptedTurn(events)
  const session = Session.create({ header, seed: events.concat(closing), ...kernelOptions(options) })
  const repaired = session.slice(events.length)
  if (repaired.length > 0) await backend.append(lease, header, repaired)
  return attach(backend, lease, session, { damage, repaired: [...repaired], readOnly: false }, options)
}

/** `closed`: how many closing events were just written. They are landmarks themselves, so the log is looked at once more. */
async function resumeLazily(
  backend: SessionBackend,
  lease: Lease,
  options: ResumeOptions,
  closed = 0,
): Promise<OpenSession> {
  const log = await readLandmarks(backend, lease)
  const damage = damageOf(lease, log)
  const isHole = log.damage.some(({ code }) => code === 'LOG_HOLE')
  const unknown = log.unknown?.find(({ type }) => !options.acceptUnknown?.includes(type))
  const stop = unknown ?? (isHole ? { seq: log.length } : undefined)
  if (stop !== undefined) return resumeReadOnly(backend, lease, stop, damage, options)

  const { header, length, landmarks } = log
  const load = (from: number, to: number) => log.load(from, to)
  const session = Session.resume({ header, length, landmarks, load, ...kernelOptions(options) })
  const closing = closed > 0 ? [] : closeInterruptedTurn(landmarks.open)
  if (closing.length > 0) {
    await backend.append(lease, header, closing)
    return resumeLazily(backend, lease, options, closing.length)
  }
  const repaired = closed > 0 ? [...session.slice(length - closed)] : []
  return attach(backend, lease, session, { damage, repaired, readOnly: false }, options)
}

async function readLandmarks(backend: SessionBackend, lease: Lease): Promise<LazyLog> {
  const log = await backend.open?.(lease)
  if (log === undefined) throw notFound(lease.id)
  assertHeader(log.header, lease.id)
  return log
}

/** A refusal of the store, or trouble from outside: not what a store stumbles over when an event is of no good. */
function isOfStore(error: unknown): boolean {
  if (!(error instanceof PersistenceError)) return false
  return error.code !== 'WRITE_FAILED' || (error.cause as { code?: unknown } | undefined)?.code !== undefined
}

/** What stands in the way of reading on: a hole, or (with its `type`) an event that may not be ignored, or (with its `refusal`) one that cannot be. */
interface Stop {
  readonly seq: number
  readonly type?: string
  readonly refusal?: Error
}

/**
 * An event may be what was written and yet be none: then the part before it is opened. An unmarked log is
 * refused, as nobody may guess its marks. What `error` says counts where no event is to blame.
 */
async function resumeBeforeRefused(
  backend: SessionBackend,
  lease: Lease,
  error: unknown,
  options: ResumeOptions,
): Promise<OpenSession> {
  const log = await backend.read(lease.id)
  if (log === undefined) throw notFound(lease.id)
  const sound = soundPart(log.events)
  const refused = findRefused({ header: log.header, seed: sound, ...kernelOptions(options) })
  if (refused === undefined) throw error
  const { seq, refusal } = refused
  if (isUnmarked(sound)) throw refusal
  const event = sound[seq]!
  const damage = damageOf(lease, log)
  if (refusal.code === 'UNKNOWN_EVENT_TYPE') return resumeReadOnly(backend, lease, event, damage, options)
  return resumeReadOnly(backend, lease, { seq, refusal }, [...damage, refusedDamage(event)], options)
}

/** The part before `stop`, read whole, as nobody holds the lease that a lazy loader needs. */
async function resumeReadOnly(
  backend: SessionBackend,
  lease: Lease,
  stop: Stop,
  damage: Damage[],
  options: ResumeOptions,
): Promise<OpenSession> {
  const log = await backend.read(lease.id, { from: 0, to: stop.seq })
  if (log === undefined) throw notFound(lease.id)
  // Reading all of it may show a hole that its landmarks did not.
  const seed = soundPart(log.events)
  const isWhole = seed.length >= stop.seq
  const session = Session.create({ header: log.header, seed, ...kernelOptions(options) })
  session.makeReadOnly(reasonOf(lease.id, isWhole ? stop : { seq: seed.length }))
  await lease.release()
  const report = { damage: isWhole ? damage : damageOf(lease, log), repaired: [], readOnly: true }
  return { session, report, flush: nothing, close: nothing }
}

function reasonOf(id: string, { seq, type, refusal }: Stop): string {
  if (refusal !== undefined)
    return `event ${seq} of "${id}" is none that a session can hold (${refusal.message}); mend it into a new session, or fork the part before it`
  if (type !== undefined)
    return `event ${seq} of "${id}" is of type "${type}", which this build does not know; update it, or open with acceptUnknown: ["${type}"]`
  return `the log of "${id}" has a hole at seq ${seq}; mend it into a new session, or fork the part before it`
}

function findUnknown(events: readonly SessionEvent[], accepted: readonly string[] = []): Stop | undefined {
  return events.find(({ type, ignorable }) => !ignorable && !isKnownType(type) && !accepted.includes(type))
}

function damageOf(lease: Lease, log: { damage: Damage[] }): Damage[] {
  return [...(lease.damage ?? []), ...log.damage]
}

function assertHeader(header: SessionHeader, id: string): void {
  assertHeaderId(header, id)
  assertFormatVersion(header)
}

function kernelOptions({ acceptUnknown, now, onListenerError }: ResumeOptions) {
  return {
    ...(acceptUnknown !== undefined && { acceptUnknown }),
    ...(now !== undefined && { now }),
    ...(onListenerError !== undefined && { onListenerError }),
  }
}

function notFound(id: string): PersistenceError {
  return new PersistenceError(
    'SESSION_NOT_FOUND',
    `there is no session "${id}" in this store; list() names what there is`,
  )
}

async function nothing(): Promise<void> {}
