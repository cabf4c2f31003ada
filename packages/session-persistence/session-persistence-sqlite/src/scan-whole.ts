import { setImmediate as pause } from 'node:timers/promises'
import type { SessionEvent } from '@palimpsest/session'
import { PersistenceError, type ScannedLog } from '@palimpsest/session-persistence'
import { headerOf, type Part } from './chain.js'
import type { Connection } from './connection.js'
import type { Handle } from './handle.js'
import { countOwn, findLog } from './read.js'
import { crcOfEvent, crcText } from './record.js'
import { damaged, reportLostTail, type Scan, scanLog } from './scan.js'
import { LARGEST_LENGTH, placeOf } from './schema.js'
import { findSession, type SessionRow, sessionAt } from './session-row.js'

/** Looks at every event of a log, beside whoever writes, and hands the trusted ones on in pieces. */
export async function scanWhole(
  connection: Connection,
  id: string,
  onEvents: (events: SessionEvent[]) => void | Promise<void>,
): Promise<ScannedLog | undefined> {
  const found = await connection.read(db => findTrusted(db, id))
  if (found === undefined) return undefined
  const { key, parts, length, ...rest } = found
  let scan: Scan = { events: [], damage: [], end: 0, lostFrom: undefined, tailFrom: 0 }
  for (let from = 0; from < length; from += WINDOW) {
    const before = scan
    scan = await connection.read(db => scanLog(db, parts, from, Math.min(length, from + WINDOW), before))
    const events = scan.events.splice(0)
    if (events.length > 0) await onEvents(events)
    await pause()
  }
  if ((await connection.read(db => findSession(db, id)?.key)) !== key) return undefined
  reportLostTail(scan, length)
  return { ...rest, length: scan.end, damage: [...rest.damage, ...scan.damage] }
}

// --- internal ---

/** So many events are read before others get their turn. */
const WINDOW = 4096

interface Trusted extends ScannedLog {
  readonly key: number
  readonly parts: readonly Part[]
}

function findTrusted(db: Handle, id: string): Trusted | undefined {
  const row = findSession(db, id)
  if (row === undefined) return undefined
  if (!row.isHeaderSound) return inferLog(db, row)
  try {
    const { chain, length, damage } = findLog(db, id)!
    return { header: chain.header, key: row.key, parts: chain.parts, length, damage }
  } catch (error) {
    if (!(error instanceof PersistenceError) || error.code !== 'PARENT_MISMATCH') throw error
    return orphanLog(db, row, id)
  }
}

/** A fork that has lost what it shared: its own events. */
function orphanLog(db: Handle, row: SessionRow, id: string): Trusted {
  const { key, base, isStateSound, state } = row
  const length = isStateSound ? state.length : countOwn(db, row)
  const lost = { code: 'PARENT_MISMATCH', where: { seq: 0 }, bytes: 0, kept: null }
  const damage = isStateSound ? [lost] : [lost, damaged(length, 0)]
  return { header: headerOf(row, id), key, parts: [{ key, from: base, to: Math.max(base, length) }], length, damage }
}

/** Behind a header that cannot be trusted: what the events themselves say. */
function inferLog(db: Handle, row: SessionRow): Trusted {
  const { key, header, isStateSound, state } = row
  const base = firstOwn(db, row)
  const length = isStateSound ? state.length : countOwn(db, row)
  const own = { key, from: base, to: Math.max(base, length) }
  const bytes = typeof header === 'string' ? Buffer.byteLength(header) : 0
  const lost = { code: 'HEADER_DAMAGED', where: {}, bytes, kept: null }
  const damage = isStateSound ? [lost] : [lost, damaged(length, 0)]
  return { key, parts: [...sharedParts(db, row, base), own], length, damage }
}

function firstOwn(db: Handle, { key }: SessionRow): number {
  const first = (table: string) =>
    db
      .rows<[number | null]>(`SELECT min(place) FROM ${table} WHERE place >= ? AND place < ?`)
      .get(placeOf(key, 0), placeOf(key, LARGEST_LENGTH))?.[0] ?? placeOf(key, LARGEST_LENGTH)
  const place = Math.min(first('events'), first('packs'))
  return place === placeOf(key, LARGEST_LENGTH) ? 0 : place - placeOf(key, 0)
}

/**
 * The prefix that the session shared with its parent, where the event below its own first one is the one that
 * the header, whatever else is wrong with it, names as the last shared. Else nobody can say whose it was.
 */
function sharedParts(db: Handle, row: SessionRow, base: number): Part[] {
  const crc = PARENT_CRC.exec(String(row.header))?.[1]
  const parts: Part[] = []
  let child = row
  for (let limit = base; limit > 0; ) {
    const parent = child.parent === null ? undefined : sessionAt(db, child.parent)
    if (parent === undefined || !parent.isHeaderSound) return []
    const from = Math.min(parent.base, limit)
    parts.unshift({ key: parent.key, from, to: limit })
    child = parent
    limit = from
  }
  const last = scanLog(db, parts, base - 1, base).events[0]
  return last !== undefined && crcText(crcOfEvent(last)) === crc ? parts : []
}

const PARENT_CRC = /"parent":\{[^{}]*"crc":"([0-9a-f]{8})"/
