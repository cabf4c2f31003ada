import type { SessionEvent } from '@palimpsest/session'
import type { Damage } from '@palimpsest/session-persistence'
import type { Part } from './chain.js'
import type { Handle } from './handle.js'
import { crcOfPack, decodePack, LARGEST_PACK } from './pack.js'
import { COLUMNS, decodeRow, type EventRow, isSoundRow } from './record.js'
import { LARGEST_LENGTH, placeOf } from './schema.js'
import { isCorrupt } from './sqlite-error.js'
import { restoreTexts } from './texts.js'

/** What a range of a log holds, and what is wrong with it. Goes on where the one before ended, given that. */
export interface Scan {
  readonly events: SessionEvent[]
  readonly damage: Damage[]
  /** One more than the seq of the last good event. */
  end: number
  /** The first lost seq that good events follow. */
  lostFrom: number | undefined
  /** Entries of `damage` from here on lie behind the last good event. */
  tailFrom: number
}

/** Walks the events of `[from, to)`. What is lost at the range's end is for the caller to judge: `end` is below `to`. */
export function scanLog(db: Handle, parts: readonly Part[], from: number, to: number, before?: Scan): Scan {
  const scan = before ?? { events: [], damage: [], end: from, lostFrom: undefined, tailFrom: 0 }
  for (const part of parts) {
    const start = Math.max(from, part.from)
    const end = Math.min(to, part.to)
    if (start < end) scanPart(db, scan, part.key, start, end)
  }
  return scan
}

/** The events of a half-open range. Exact, or it throws. */
export function readEvents(db: Handle, parts: readonly Part[], from: number, to: number): SessionEvent[] {
  const { events, end, lostFrom } = scanLog(db, parts, from, to)
  if (from >= to || (end === to && lostFrom === undefined)) return events
  throw new Error(`event ${lostFrom ?? end} cannot be read from where it stood; check the session with doctor`)
}

/** Notes that everything from the last good event up to `to` is lost, though more follows. */
export function reportLost(scan: Scan, to: number): void {
  if (scan.end >= to) return
  reportHole(scan)
}

/** Notes that the end of the log, up to `to`, is lost. */
export function reportLostTail(scan: Scan, to: number): void {
  if (scan.end >= to) return
  // Rows may be gone without a trace in front of one that is bad, and that one may tell a wrong place.
  const first = scan.damage.slice(scan.tailFrom).find(({ code }) => code === 'RECORD_DAMAGED')
  if (first === undefined) scan.damage.push(damaged(scan.end, 0))
  else first.where = { seq: scan.end }
}

export function damaged(seq: number, bytes: number): Damage {
  return { code: 'RECORD_DAMAGED', where: { seq }, bytes, kept: null, mayHaveBeenAcknowledged: true }
}

// --- internal ---

type PlacedRow = [...EventRow, place: number]
/** In place of a seq, where it cannot be told whether there is a row at all. */
const UNREADABLE = -1
type PackRow = [place: number, last: number, body: Buffer, crc: number]

function scanPart(db: Handle, scan: Scan, key: number, from: number, to: number): void {
  const rows = readRows(db, key, from, to)
  const packs = readPacks(db, key, from, to)
  let at = 0
  for (const pack of packs) {
    for (; at < rows.length && rows[at]![9] < pack[0]; at++) takeRow(db, scan, key, rows[at]!)
    takePack(scan, key, pack, from, to)
  }
  for (; at < rows.length; at++) takeRow(db, scan, key, rows[at]!)
}

function takeRow(db: Handle, scan: Scan, key: number, row: PlacedRow): void {
  const seq = row[9] - placeOf(key, 0)
  const event = row[0] === seq ? decodeSound(db, row, key) : undefined
  if (event !== undefined) accept(scan, event)
  // What lies in a pack has no row, so none is missing there.
  else if (row[0] !== UNREADABLE || seq >= scan.end) report(scan, seq, typeof row[3] === 'string' ? row[3].length : 0)
}

function decodeSound(db: Handle, row: PlacedRow, key: number): SessionEvent | undefined {
  try {
    if (!isSoundRow(row, key)) return undefined
    const event = decodeRow(row as unknown as EventRow)
    return row[7] === null ? event : restoreTexts(db, event, row[7])
  } catch {
    return undefined
  }
}

function takePack(scan: Scan, key: number, [place, last, body, crc]: PackRow, from: number, to: number): void {
  const first = place - placeOf(key, 0)
  const events = decodeSoundPack(place, last, body, crc, first)
  if (events === undefined) report(scan, Math.max(first, from), Buffer.isBuffer(body) ? body.length : 0)
  else for (const event of events) if (event.seq >= from && event.seq < to) accept(scan, event)
}

function decodeSoundPack(place: number, last: number, body: Buffer, crc: number, first: number) {
  try {
    if (crcOfPack(place, last, body) !== crc) return undefined
    const events = decodePack(body, first)
    return events.length === last - first + 1 ? events : undefined
  } catch {
    return undefined
  }
}

function accept(scan: Scan, event: SessionEvent): void {
  const { seq } = event
  if (seq < scan.end) {
    scan.damage.push({ code: 'SEQ_REPEATED', where: { seq }, bytes: 0, kept: null })
    return
  }
  if (seq > scan.end) reportHole(scan)
  scan.events.push(event)
  scan.end = seq + 1
  scan.tailFrom = scan.damage.length
}

function reportHole(scan: Scan): void {
  const bytes = scan.damage.slice(scan.tailFrom).reduce((sum, entry) => sum + entry.bytes, 0)
  scan.damage.push({ code: 'LOG_HOLE', where: { seq: scan.end }, bytes, kept: null })
  scan.lostFrom ??= scan.end
}

/** Neighbours make one entry, so that a long bad stretch stays one line of a report. */
function report(scan: Scan, seq: number, bytes: number): void {
  const last = scan.damage.length > scan.tailFrom ? scan.damage.at(-1) : undefined
  if (last?.code === 'RECORD_DAMAGED') last.bytes += bytes
  else scan.damage.push(damaged(seq, bytes))
}

const ROWS = `SELECT ${COLUMNS}, place FROM events WHERE place >= ? AND place < ? ORDER BY place`
const ROW = `SELECT ${COLUMNS}, place FROM events WHERE place = ?`
const PACKS = 'SELECT place, last, body, crc FROM packs WHERE place >= ? AND place < ? ORDER BY place'
const PACK = 'SELECT place, last, body, crc FROM packs WHERE place = ?'

function readRows(db: Handle, key: number, from: number, to: number): PlacedRow[] {
  try {
    return db.rows<PlacedRow>(ROWS).all(placeOf(key, from), placeOf(key, to))
  } catch (error) {
    if (!isCorrupt(error)) throw error
    const bad = (place: number): PlacedRow => [UNREADABLE, 0, '', '', null, null, null, null, 0, place]
    return readOneByOne(db.rows<PlacedRow>(ROW), placeOf(key, from), placeOf(key, to), bad)
  }
}

function readPacks(db: Handle, key: number, from: number, to: number): PackRow[] {
  const start = Math.max(0, from - LARGEST_PACK + 1)
  try {
    const packs = db.rows<PackRow>(PACKS).all(placeOf(key, start), placeOf(key, to))
    return packs.filter(([place, last]) => last >= from || !(last >= place % LARGEST_LENGTH))
  } catch (error) {
    if (!isCorrupt(error)) throw error
    return readOneByOne(db.rows<PackRow>(PACK), placeOf(key, start), placeOf(key, to), () => undefined)
  }
}

/** Behind a page that cannot be read there may be others that can. */
function readOneByOne<Row extends unknown[]>(
  statement: { get(place: number): Row | undefined },
  from: number,
  to: number,
  bad: (place: number) => Row | undefined,
): Row[] {
  const rows: Row[] = []
  for (let place = from; place < to; place++) {
    let row: Row | undefined
    try {
      row = statement.get(place)
    } catch (error) {
      if (!isCorrupt(error)) throw error
      row = bad(place)
    }
    if (row !== undefined) rows.push(row)
  }
  return rows
}
