import type { SessionEvent, SessionHeader } from '@palimpsest/session'
import { assertFormatVersion, assertHeaderId, PersistenceError, titleOf } from '@palimpsest/session-persistence'
import { packTexts } from './blocks.js'
import { assertVersion, headerOf } from './chain.js'
import type { Handle } from './handle.js'
import { isLandmark } from './landmarks.js'
import type { SqliteLease } from './lease.js'
import { closeRanks, INSERT_EVENT, insertPack, planPacks } from './packing.js'
import { bytesOfRow, crcOfRow, type EventRow, encodeRow } from './record.js'
import { LARGEST_KEY, LARGEST_LENGTH, placeOf } from './schema.js'
import { findSession, insertSession, type SessionState, setAside, updateState } from './session-row.js'
import { findTexts, type LargeText, placeTexts, textsWithin } from './texts.js'

/** A batch made ready before the lock is taken. */
export interface Batch {
  readonly header: SessionHeader
  readonly events: readonly SessionEvent[]
  readonly rows: readonly EventRow[]
  /** By index of the event. */
  readonly texts: ReadonlyMap<number, readonly LargeText[]>
}

export function planBatch(header: SessionHeader, events: readonly SessionEvent[]): Batch {
  const texts = new Map<number, readonly LargeText[]>()
  const rows = events.map((event, i) => {
    const row = encodeRow(event)
    const found = findTexts(event, row[3])
    if (found.length > 0) texts.set(i, found)
    return row
  })
  return { header, events, rows, texts }
}

/** What a lease knows of its session after an append, so that the next one need not read it again. */
export interface Appended {
  readonly key: number
  readonly state: SessionState
  /** Of the state as it is stored. */
  readonly crc: number
}

/** Writes a batch behind the log, or the session itself with its first batch. Within a transaction. */
export function appendBatch(db: Handle, lease: SqliteLease, batch: Batch): Appended | undefined {
  const { events } = batch
  const { last } = lease
  const [key, crc] = assertOwned(db, lease)
  if (last !== undefined && last.key === key && last.crc === crc) {
    assertNext(lease.id, last.state.length, events)
    return events.length === 0 ? last : writeEvents(db, key, last.state, batch)
  }
  const row = findSession(db, lease.id)
  if (row === undefined || !row.isHeaderSound) {
    assertNext(lease.id, 0, events)
    if (row !== undefined) {
      assertVersion(row)
      setAside(db, row)
    }
    return createSession(db, batch)
  }
  headerOf(row, lease.id)
  if (lease.holeAt !== undefined) throw readOnly(lease.id, lease.holeAt)
  assertNext(lease.id, row.state.length, events)
  return events.length === 0 ? undefined : writeEvents(db, row.key, row.state, batch)
}

/** Refuses a lease that was overtaken. Gives the key of its session and the checksum of its state, where it has one. */
export function assertOwned(db: Handle, lease: SqliteLease): [key: number | null, crc: number | null] {
  const row = db.rows<[epoch: number, isHeld: number, key: number | null, crc: number | null]>(OWNED).get(lease.id)
  if (row?.[0] !== lease.epoch || row[1] !== 1) throw lease.fail(lease.fenced())
  return [row[2], row[3]]
}

export function emptyState({ createdAt }: SessionHeader): SessionState {
  return { length: 0, landmarks: 0, packed: 0, bytes: 0, updatedAt: createdAt, titleSeq: null, title: null }
}

/** What every write refuses before it looks at the store. */
export function assertWritable(lease: SqliteLease, header: SessionHeader): void {
  assertFormatVersion(header)
  assertHeaderId(header, lease.id)
}

// --- internal ---

const OWNED =
  'SELECT l.epoch, l.owner IS NOT NULL, s.key, s.crc FROM leases l LEFT JOIN sessions s ON s.id = l.id WHERE l.id = ?'

function createSession(db: Handle, batch: Batch): Appended | undefined {
  const state = emptyState(batch.header)
  const key = insertSession(db, withoutCrc(batch.header), { parent: null, base: 0 }, state)
  if (key > LARGEST_KEY) throw full(`it had ${key} sessions`)
  return batch.events.length === 0 ? undefined : writeEvents(db, key, state, batch)
}

function writeEvents(db: Handle, key: number, state: SessionState, batch: Batch): Appended {
  const { events, rows, texts } = batch
  const length = state.length + events.length
  if (length > LARGEST_LENGTH) throw full(`session "${batch.header.id}" had ${length} events`)
  let { landmarks, bytes, titleSeq, title } = state
  const plan = planPacks(db, key, state.packed, batch)
  for (let i = 0; i < rows.length; i++) {
    if (plan.isPacked(i)) continue
    const row = rows[i]!
    const large = texts.get(i)
    if (large !== undefined) bytes += placeTexts(db, key, events[i]!, row, large)
    row[8] = crcOfRow(row, key)
    const landmark = isLandmark(row[2])
    if (landmark) landmarks += 1
    bytes += bytesOfRow(row)
    db.run(INSERT_EVENT, ...row, placeOf(key, row[0]), landmark ? 1 : null)
    if (title !== null) continue
    title = titleOf(events[i]!) ?? null
    if (title !== null) titleSeq = row[0]
  }
  for (const pack of plan.packs) bytes += insertPack(db, key, pack)
  if (plan.packs.some(({ storedTo, first }) => storedTo > first)) closeRanks(db, key, state.packed, plan.packed)
  if (plan.packed > state.packed) bytes += packTexts(db, textsWithin(db, key, state.packed, plan.packed))
  const updatedAt = events.at(-1)!.time
  const after = { length, landmarks, packed: plan.packed, bytes, updatedAt, titleSeq, title }
  return { key, state: after, crc: updateState(db, key, after) }
}

function assertNext(id: string, length: number, events: readonly SessionEvent[]): void {
  for (let i = 0; i < events.length; i++) {
    if (events[i]!.seq === length + i) continue
    throw new PersistenceError(
      'APPEND_CONFLICT',
      `session "${id}" has ${length} stored events: expected seq ${length + i} at this place of the batch, found ${events[i]!.seq}; open the session again`,
    )
  }
}

/** A crc in `parent` says that the prefix is shared; only a fork may say so. */
function withoutCrc(header: SessionHeader): SessionHeader {
  if (header.parent?.crc === undefined) return header
  const { id, length } = header.parent
  return { ...header, parent: { id, length } }
}

function readOnly(id: string, seq: number): PersistenceError {
  return new PersistenceError(
    'SESSION_READ_ONLY',
    `the log of "${id}" has a hole at seq ${seq}; mend it into a new session, or fork the part before it`,
  )
}

function full(found: string): PersistenceError {
  return new PersistenceError('WRITE_FAILED', `the database is full: ${found}; go on in another file`)
}
