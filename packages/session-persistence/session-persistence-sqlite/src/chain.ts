import type { SessionHeader } from '@palimpsest/session'
import { assertFormatVersion, PersistenceError } from '@palimpsest/session-persistence'
import type { Handle } from './handle.js'
import { crcOfEvent, crcText } from './record.js'
import { scanLog } from './scan.js'
import { type SessionRow, sessionAt } from './session-row.js'

/** The events of a half-open range that lie under one key. */
export interface Part {
  readonly key: number
  readonly from: number
  readonly to: number
}

/** A session's log: its own events, below them those that it shares. */
export interface Chain {
  readonly row: SessionRow
  readonly header: SessionHeader
  /** Root first; the last one is the session's own. */
  readonly parts: readonly Part[]
}

/** The header of a row, if it is a sound one of session `id` in a format that this build knows. */
export function headerOf(row: SessionRow, id: string): SessionHeader {
  if (!row.isHeaderSound) {
    assertVersion(row)
    throw headerDamaged(id, 'a row that fails its checksum')
  }
  const header = JSON.parse(row.header) as SessionHeader
  if (row.id !== id || header.id !== id) throw headerDamaged(id, `the header of ${JSON.stringify(header.id)}`)
  assertFormatVersion(header)
  return header
}

/** Refuses a header of another format whatever its checksum says: that is for its own build to know. Any other one may be damaged. */
export function assertVersion({ id, header }: SessionRow): void {
  const value = parsed(header)
  if (value?.id === id && Number.isInteger(value.version)) assertFormatVersion(value)
}

/** Follows a fork down to its root. `PARENT_MISMATCH` where what it shares is gone or another's. `length` is its own end. */
export function openChain(db: Handle, row: SessionRow, id: string, length: number): Chain {
  const header = headerOf(row, id)
  const parts: Part[] = [{ key: row.key, from: row.base, to: Math.max(row.base, length) }]
  for (let child = row, limit = row.base; limit > 0; ) {
    const parent = child.parent === null ? undefined : sessionAt(db, child.parent)
    if (parent === undefined) throw mismatch(header, 'nothing of it')
    if (!parent.isHeaderSound) throw mismatch(header, 'a damaged header')
    const from = Math.min(parent.base, limit)
    parts.unshift({ key: parent.key, from, to: limit })
    child = parent
    limit = from
  }
  assertParent(db, { row, header, parts })
  return { row, header, parts }
}

export function notFound(id: string): PersistenceError {
  return new PersistenceError(
    'SESSION_NOT_FOUND',
    `there is no session "${id}" in this store; list() names what there is`,
  )
}

export function mismatch({ id, parent }: SessionHeader, found: string): PersistenceError {
  return new PersistenceError(
    'PARENT_MISMATCH',
    `session "${id}" shares the first ${parent?.length} events of "${parent?.id}", the last with crc ${parent?.crc}; found ${found}; bring back a backup of the database`,
  )
}

// --- internal ---

function parsed(header: string): SessionHeader | undefined {
  try {
    return JSON.parse(header) ?? undefined
  } catch {
    return undefined
  }
}

/** The last shared event must be the one that was last when the fork was made. A damaged one is damage, no other parent. */
function assertParent(db: Handle, { row, header, parts }: Chain): void {
  const { parent } = header
  if (row.base === 0 || parent === undefined) return
  const [last] = scanLog(db, parts.slice(0, -1), row.base - 1, row.base).events
  if (last === undefined) return
  const crc = crcText(crcOfEvent(last))
  if (crc !== parent.crc) throw mismatch(header, `crc ${crc} on event ${row.base - 1}`)
}

function headerDamaged(id: string, found: string): PersistenceError {
  return new PersistenceError(
    'HEADER_DAMAGED',
    `session "${id}": expected its header, found ${found}; its events are still there: keep a copy of the database`,
  )
}
