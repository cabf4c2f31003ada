import type { Batch } from './append.js'
import type { Handle } from './handle.js'
import { crcOfPack, encodePack, LARGEST_PACK, LARGEST_PACK_TEXT, type PackedChunk } from './pack.js'
import { bytesOfRow, COLUMNS, type EventRow, isSoundRow } from './record.js'
import { placeOf } from './schema.js'

/** Chunks of consecutive seqs, from `first` on. */
export interface Run {
  readonly first: number
  readonly chunks: PackedChunk[]
  /** What their data takes, in UTF-16 units. */
  textLength: number
  /** What their rows take, of those that have rows. */
  rowBytes: number
  /** The seqs of those below this one have rows, which go. */
  storedTo: number
}

/** What is packed together with a batch. */
export interface PackPlan {
  readonly packs: readonly Run[]
  readonly packed: number
  /** Whether the batch's event of this index goes into a pack and gets no row. */
  isPacked(index: number): boolean
}

/** The chunks of all turns that the batch closes: those of the batch itself, and rows from `packed` on. */
export function planPacks(db: Handle, key: number, packed: number, { events, rows, texts }: Batch): PackPlan {
  const closing = events.findLastIndex(({ type }) => type === 'turn/end')
  if (closing === -1) return { packs: NONE, packed, isPacked: () => false }
  const start = events[0]!.seq
  const packs: Run[] = []
  const stored = packed < start ? db.rows<EventRow>(CHUNKS).all(placeOf(key, packed), placeOf(key, start)) : []
  for (const row of stored) if (isPlain(row) && isSoundRow(row, key)) addToRun(packs, row, true)
  const isPacked = (index: number) => index < closing && isPlain(rows[index]!) && !texts.has(index)
  for (let i = 0; i < closing; i++) if (isPacked(i)) addToRun(packs, rows[i]!, false)
  return { packs, packed: start + closing + 1, isPacked }
}

/** Puts a pack in the place of its rows. Gives by how much the session grows. */
export function insertPack(db: Handle, key: number, { first, chunks, rowBytes, storedTo }: Run): number {
  const place = placeOf(key, first)
  const last = first + chunks.length - 1
  const body = encodePack(chunks)
  if (storedTo > first) db.run('DELETE FROM events WHERE place >= ? AND place < ?', place, placeOf(key, storedTo))
  db.run(
    'INSERT INTO packs (place, last, body, crc) VALUES (?, ?, ?, ?)',
    place,
    last,
    body,
    crcOfPack(place, last, body),
  )
  return PACK_BYTES + body.length - rowBytes
}

/**
 * Writes the rows of a closed turn once more, now that the chunks between them are gone: so their pages are
 * as full as if they had come at once. A damaged row stays where it is, and so do the others.
 */
export function closeRanks(db: Handle, key: number, from: number, to: number): void {
  const range = [placeOf(key, from), placeOf(key, to)]
  const rows = db.rows<unknown[]>(RANKS).all(...range)
  if (rows.some(row => !isSoundRow(row, key))) return
  db.run('DELETE FROM events WHERE place >= ? AND place < ?', ...range)
  for (const row of rows) db.run(INSERT_EVENT, ...row)
}

export const INSERT_EVENT = `INSERT INTO events (${COLUMNS}, place, landmark) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// --- internal ---

const RANKS = `SELECT ${COLUMNS}, place, landmark FROM events WHERE place >= ? AND place < ? ORDER BY place`
const NONE: readonly Run[] = []
const PACK_BYTES = 20
const CHUNKS = `SELECT ${COLUMNS} FROM events WHERE place >= ? AND place < ? AND type = 'assistant/chunk' ORDER BY place`

/** Whether nothing but the data makes this chunk. */
function isPlain([, , type, , sources, op, ignorable, texts]: EventRow): boolean {
  return type === 'assistant/chunk' && sources === null && op === null && ignorable === null && texts === null
}

function addToRun(runs: Run[], row: EventRow, isStored: boolean): void {
  const [seq, time, , data] = row
  let run = runs.at(-1)
  if (run === undefined || run.first + run.chunks.length !== seq || isFull(run, data)) {
    run = { first: seq, chunks: [], textLength: 0, rowBytes: 0, storedTo: seq }
    runs.push(run)
  }
  run.chunks.push({ time, data })
  run.textLength += data.length
  if (!isStored) return
  run.rowBytes += bytesOfRow(row)
  run.storedTo = seq + 1
}

/** A chunk that is larger than a pack may be has one to itself. */
function isFull({ chunks, textLength }: Run, data: string): boolean {
  return chunks.length === LARGEST_PACK || textLength + data.length > LARGEST_PACK_TEXT
}
