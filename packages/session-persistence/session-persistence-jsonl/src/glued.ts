import type { Line } from './lines.js'
import { type Crc, decodeRecord, TAIL_BYTES } from './record.js'

export interface GluedPiece {
  readonly value: object
  readonly crc: Crc
  readonly offset: number
  readonly bytes: number
}

/**
 * The records on a line that is not one record: several that lost the newline between them, or a torn stub
 * with whole records behind it. Only what passes its checksum, and never a record that is part of another's
 * data: what such a one is followed by is the rest of that data.
 */
export function splitGlued(line: Line): GluedPiece[] {
  const pieces: GluedPiece[] = []
  let free = line.start
  const tails = placesOf(TAIL_START, line).map(at => at + TAIL_BYTES)
  for (const start of new Set([line.start, ...placesOf(RECORD_START, line)])) {
    if (start < free) continue
    const piece = pieceAt(line, start, tails)
    if (piece === undefined || (start > free && !isAtEnd(line, start + piece.bytes))) continue
    free = start + piece.bytes
    const newline = free === line.end ? line.start + line.bytes - line.end : 0
    pieces.push({ ...piece, bytes: piece.bytes + newline })
  }
  return pieces
}

// --- internal ---

/** A hostile line must not cost its square. */
const MOST_PLACES = 16
const TAIL_START = Buffer.from(',"crc":"')
const RECORD_START = Buffer.from('{"seq":')

function placesOf(pattern: Buffer, { buffer, start, end }: Line): number[] {
  const places: number[] = []
  for (let from = start; places.length < MOST_PLACES; ) {
    const at = buffer.indexOf(pattern, from)
    if (at === -1 || at >= end) break
    places.push(at)
    from = at + 1
  }
  return places
}

function pieceAt(line: Line, start: number, tails: readonly number[]): GluedPiece | undefined {
  for (const end of tails) {
    if (end > line.end) break
    const record = decodeRecord(line.buffer, start, end)
    if (record === undefined) continue
    return { value: record.value, crc: record.crc, offset: line.offset + start - line.start, bytes: end - start }
  }
  return undefined
}

/** Whether the line ends here, or a record begins, as far as it goes. */
function isAtEnd({ buffer, end }: Line, at: number): boolean {
  const next = buffer.subarray(at, Math.min(end, at + RECORD_START.length))
  return next.equals(RECORD_START.subarray(0, next.length))
}
