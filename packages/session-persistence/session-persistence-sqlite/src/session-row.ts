import { crc32 } from 'node:zlib'
import type { SessionHeader } from '@palimpsest/session'
import type { Handle } from './handle.js'
import { isCorrupt } from './sqlite-error.js'

/** A session as its row in `sessions` describes it. */
export interface SessionRow {
  readonly key: number
  /** `null` once it was removed, while forks share its events. */
  readonly id: string | null
  /** JSON text. */
  readonly header: string
  /** The key of the session whose events below `base` this one shares. */
  readonly parent: number | null
  /** The first seq of its own. */
  readonly base: number
  readonly state: SessionState
  readonly isHeaderSound: boolean
  /** Otherwise `state` may say anything, and the events themselves must be asked. */
  readonly isStateSound: boolean
}

/** What an append changes. */
export interface SessionState {
  readonly length: number
  /** How many of the events below `length`, shared ones too, are landmarks. */
  readonly landmarks: number
  /** All chunks of closed turns below this seq lie in packs, as far as they can. */
  readonly packed: number
  /** About what its own events take. */
  readonly bytes: number
  readonly updatedAt: number
  readonly titleSeq: number | null
  readonly title: string | null
}

/**
 * By id. Where the index has none although the id once had a lease, the rows themselves are looked
 * through: a bad page of the index must not make a session disappear.
 */
export function findSession(db: Handle, id: string): SessionRow | undefined {
  const found = db.rows<Columns>(`SELECT ${COLUMNS} FROM sessions WHERE id = ?`).get(id)
  if (found !== undefined) return sessionRow(found)
  if (db.rows('SELECT 1 FROM leases WHERE id = ?').get(id) === undefined) return undefined
  if (isIndexSound(db)) return undefined
  const missed = db.rows<Columns>(`SELECT ${COLUMNS} FROM sessions NOT INDEXED WHERE id = ?`).get(id)
  return missed && sessionRow(missed)
}

export function sessionAt(db: Handle, key: number): SessionRow | undefined {
  const found = db.rows<Columns>(`SELECT ${COLUMNS} FROM sessions WHERE key = ?`).get(key)
  return found && sessionRow(found)
}

/** Every session that was not removed, by id; also those whose rows say nothing. Instead of a row that cannot be read its id. */
export function allSessions(db: Handle): (SessionRow | string)[] {
  try {
    const listed = db.rows<Columns>(`SELECT ${COLUMNS} FROM sessions WHERE id IS NOT NULL ORDER BY id`).all()
    return (isIndexSound(db) ? listed : withMissed(db, listed)).map(sessionRow)
  } catch (error) {
    if (!isCorrupt(error)) throw error
    return allIds(db).map(id => readable(() => findSession(db, id)) ?? id)
  }
}

/** Gives the key. `header.id` becomes the row's id. */
export function insertSession(
  db: Handle,
  header: SessionHeader,
  { parent, base }: { parent: number | null; base: number },
  state: SessionState,
): number {
  const text = JSON.stringify(header)
  const { length, landmarks, packed, bytes, updatedAt, titleSeq, title } = state
  const titleText = title === null ? null : JSON.stringify(title)
  return Number(
    db.run(
      'INSERT INTO sessions (id, header, parent, base, header_crc, length, landmarks, packed, bytes, updated_at, title_seq, title, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      header.id,
      text,
      parent,
      base,
      crcOfHeader(text, parent, base),
      length,
      landmarks,
      packed,
      bytes,
      updatedAt,
      titleSeq,
      titleText,
      crcOfState(length, landmarks, packed, bytes, updatedAt, titleSeq, titleText),
    ).lastInsertRowid,
  )
}

/** Gives the checksum of the state, by which it is known again. */
export function updateState(db: Handle, key: number, state: SessionState): number {
  const { length, landmarks, packed, bytes, updatedAt, titleSeq, title } = state
  const titleText = title === null ? null : JSON.stringify(title)
  const crc = crcOfState(length, landmarks, packed, bytes, updatedAt, titleSeq, titleText)
  db.run(UPDATE, length, landmarks, packed, bytes, updatedAt, titleSeq, titleText, crc, key)
  return crc
}

/** Takes the id from a row that says nothing, so that another may have it; the row and its events stay. */
export function setAside(db: Handle, { key, id }: SessionRow): string {
  const kept = keepRow(db, String(id), 'sessions', null, db.rows('SELECT * FROM sessions WHERE key = ?').get(key) ?? [])
  db.run('UPDATE sessions SET id = NULL WHERE key = ?', key)
  return kept
}

/** Keeps the values of a bad row, bytes as hex. Gives where, as reports of damage name it. */
export function keepRow(db: Handle, id: string, source: string, seq: number | null, row: unknown[]): string {
  const text = JSON.stringify(row.map(value => (Buffer.isBuffer(value) ? { hex: value.toString('hex') } : value)))
  const sql = 'INSERT INTO kept (id, source, seq, row) VALUES (?, ?, ?, ?)'
  return `kept ${db.run(sql, id, source, seq, text).lastInsertRowid}`
}

// --- internal ---

const UPDATE =
  'UPDATE sessions SET length = ?, landmarks = ?, packed = ?, bytes = ?, updated_at = ?, title_seq = ?, title = ?, crc = ? WHERE key = ?'

const NOT_IN_INDEX = `SELECT 1 FROM sessions s NOT INDEXED WHERE id IS NOT NULL AND NOT EXISTS
  (SELECT 1 FROM sessions i INDEXED BY sqlite_autoindex_sessions_1 WHERE i.id = s.id AND i.key = s.key) LIMIT 1`

const COLUMNS =
  'key, id, header, parent, base, header_crc, length, landmarks, packed, bytes, updated_at, title_seq, title, crc'

type Columns = [
  key: number,
  id: string | null,
  header: string,
  parent: number | null,
  base: number,
  headerCrc: number,
  length: number,
  landmarks: number,
  packed: number,
  bytes: number,
  updatedAt: number,
  titleSeq: number | null,
  title: string | null,
  crc: number,
]

function isIndexSound(db: Handle): boolean {
  db.isIndexSound ??= readable(() => db.rows(NOT_IN_INDEX).get() === undefined) ?? false
  return db.isIndexSound
}

/** A listing goes by the index, and here with the rows that it does not name behind the others. */
function withMissed(db: Handle, listed: Columns[]): Columns[] {
  const keys = new Set(listed.map(([key]) => key))
  const rows = db.rows<Columns>(`SELECT ${COLUMNS} FROM sessions NOT INDEXED WHERE id IS NOT NULL`).all()
  return [...listed, ...rows.filter(([key]) => !keys.has(key))]
}

/** From the index alone, or else from the leases: whoever was ever stored had one. */
function allIds(db: Handle): string[] {
  const ids = (sql: string) =>
    readable(() =>
      db
        .rows<[string]>(sql)
        .all()
        .map(([id]) => id),
    )
  return (
    ids('SELECT id FROM sessions INDEXED BY sqlite_autoindex_sessions_1 WHERE id IS NOT NULL ORDER BY id') ??
    ids('SELECT id FROM leases ORDER BY id') ??
    []
  )
}

/** What is on a bad page is `undefined`. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (isCorrupt(error)) return undefined
    throw error
  }
}

function sessionRow(columns: Columns): SessionRow {
  const [key, id, header, parent, base, headerCrc, length, landmarks, packed, bytes, updatedAt, titleSeq, title, crc] =
    columns
  const isStateSound = crcOfState(length, landmarks, packed, bytes, updatedAt, titleSeq, title) === crc
  return {
    key,
    id,
    header,
    parent,
    base,
    state: {
      length,
      landmarks,
      packed,
      bytes,
      updatedAt,
      titleSeq,
      title: isStateSound && title !== null ? JSON.parse(title) : null,
    },
    isHeaderSound: typeof header === 'string' && crcOfHeader(header, parent, base) === headerCrc,
    isStateSound,
  }
}

function crcOfHeader(header: string, parent: number | null, base: number): number {
  return crc32(`${parent} ${base} ${header}`)
}

function crcOfState(...values: (number | string | null)[]): number {
  return crc32(values.join(' '))
}
