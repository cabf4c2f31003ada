import { crc32 } from 'node:zlib'
import type { Handle } from './handle.js'
import { COLUMNS, crcOfRow, type EventRow } from './record.js'
import { placeOf } from './schema.js'

/**
 * The landmarks of a half-open range by their index, in order, each one sound. SQLite hands them over as one
 * text, a line a column, which costs a fraction of as many arrays of values. `undefined` where a row is bad, or
 * does not fit into such lines: nothing here says which.
 */
export function readLandmarkRows(db: Handle, key: number, from: number, to: number): EventRow[] | undefined {
  const rows: EventRow[] = []
  const types: Types = new Map()
  for (let place = placeOf(key, from), end = placeOf(key, to); place < end; ) {
    const [count, text, last] = db.rows<[number, string | null, number]>(JOINED).get(place, end, WINDOW)!
    if (count === 0) break
    const lines = text?.split('\n') ?? []
    if (text === null || lines.length !== count * COLUMN_COUNT) return undefined
    if (!takeRows(rows, text, lines, key, types)) return undefined
    place = last + 1
  }
  return rows
}

// --- internal ---

const COLUMN_COUNT = 9
/** So many rows come at once. */
const WINDOW = 1024

/** Numbers come before all texts, and blobs, even with the same bytes, behind them. A text of ours is never empty. */
const isNumber = (column: string) => `${column} < ''`
const isText = (column: string) => `${column} > '' AND ${column} < x''`
const isSound = [
  ...['seq', 'time', 'crc'].map(isNumber),
  ...['type', 'data'].map(isText),
  ...['source_event_seqs', 'surface_op', 'texts'].map(column => `coalesce(${isText(column)}, 1)`),
  'coalesce(ignorable = 1, 1)',
].join(' AND ')

/** A row with another kind of value gives no text at all, so that there are fewer lines than expected. */
const JOINED = `SELECT count(*), group_concat(line, char(10)), max(place) FROM (SELECT place,
  iif(${isSound}, format('${Array(COLUMN_COUNT).fill('%s').join('\n')}', ${COLUMNS}), NULL) AS line
  FROM events INDEXED BY landmarks WHERE landmark IS NOT NULL AND place >= ? AND place < ? ORDER BY place LIMIT ?)`

/** What the checksum is taken of stands in the text as it is: all of a row's lines but the last. */
function takeRows(rows: EventRow[], text: string, lines: readonly string[], key: number, types: Types): boolean {
  let at = 0
  for (let i = 0; i < lines.length; i += COLUMN_COUNT) {
    const crc = lines[i + 8]!
    let end = at - 1
    for (let column = i; column < i + 8; column++) end += lines[column]!.length + 1
    const row: EventRow = [
      Number(lines[i]),
      Number(lines[i + 1]),
      typeIn(types, lines[i + 2]!),
      lines[i + 3]!,
      lines[i + 4] || null,
      lines[i + 5] || null,
      lines[i + 6] === '' ? null : 1,
      lines[i + 7] || null,
      Number(crc),
    ]
    // A time that is no whole number may be written otherwise than here.
    if (crc32(text.slice(at, end), key) !== row[8] && crcOfRow(row, key) !== row[8]) return false
    rows.push(row)
    at = end + crc.length + 2
  }
  return true
}

type Types = Map<string, string>

/** A copy of its own: a slice would keep the whole text as long as an event lives. */
function typeIn(types: Types, slice: string): string {
  let type = types.get(slice)
  if (type === undefined) {
    type = Buffer.from(slice).toString()
    types.set(type, type)
  }
  return type
}
