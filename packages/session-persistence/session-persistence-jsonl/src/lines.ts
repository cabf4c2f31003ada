import { NEWLINE } from './record.js'

/** Fills `bytes` from a position in the file; gives how many there were. */
export type ReadAt = (bytes: Buffer, position: number) => number

/** One line in a buffer that the next step may overwrite. `end` leaves the newline out. */
export interface Line {
  readonly buffer: Buffer
  readonly start: number
  readonly end: number
  /** Of the line's first byte in the file. */
  readonly offset: number
  /** With its newline. */
  readonly bytes: number
  readonly terminated: boolean
}

/** About the longest string there can be. */
const LONGEST_LINE_BYTES = 512 * 1024 * 1024

/**
 * The lines of `[from, to)` of a file, split at 0x0A and nowhere else. Memory is bounded: of a line that
 * does not end within `longest` bytes only the length may come (`start === end`).
 */
export function* readLines(
  read: ReadAt,
  from: number,
  to = Number.POSITIVE_INFINITY,
  longest = LONGEST_LINE_BYTES,
): Generator<Line, void> {
  let buffer: Buffer = Buffer.allocUnsafe(Math.min(FIRST_BYTES, Math.max(1, to - from)))
  let [start, filled, offset] = [0, 0, from]
  let searched = 0
  for (;;) {
    const at = buffer.indexOf(NEWLINE, searched)
    if (at !== -1 && at < filled) {
      yield { buffer, start, end: at, offset, bytes: at + 1 - start, terminated: true }
      offset += at + 1 - start
      start = searched = at + 1
      continue
    }
    if (filled - start > longest) {
      const line = skipLine(read, offset, to)
      yield line
      offset += line.bytes
      start = searched = filled = 0
      if (!line.terminated) return
      continue
    }
    if (offset + filled - start >= to) break
    ;[buffer, start, filled] = makeRoom(buffer, start, filled)
    searched = filled
    const position = offset + filled
    const wanted = buffer.subarray(filled, Math.min(buffer.length, filled + to - position))
    const got = read(wanted, position)
    if (got === 0) break
    filled += got
  }
  if (filled > start) yield { buffer, start, end: filled, offset, bytes: filled - start, terminated: false }
}

// --- internal ---

/** Most files, and most questions to one, are small. */
const FIRST_BYTES = 8 * 1024
const CHUNK_BYTES = 128 * 1024

/** Moves what is left of the buffer to its front, or into a larger one. */
function makeRoom(buffer: Buffer, start: number, filled: number): [Buffer, number, number] {
  const rest = filled - start
  const isFull = rest === buffer.length || (filled === buffer.length && filled < CHUNK_BYTES)
  const target = isFull ? Buffer.allocUnsafe(Math.max(CHUNK_BYTES, 2 * buffer.length)) : buffer
  buffer.copy(target, 0, start, filled)
  return [target, 0, rest]
}

function skipLine(read: ReadAt, offset: number, to: number): Line {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  let bytes = 0
  for (;;) {
    const wanted = buffer.subarray(0, Math.min(CHUNK_BYTES, to - offset - bytes))
    const got = wanted.length === 0 ? 0 : read(wanted, offset + bytes)
    const at = buffer.subarray(0, got).indexOf(NEWLINE)
    if (at !== -1) return { buffer, start: 0, end: 0, offset, bytes: bytes + at + 1, terminated: true }
    if (got === 0) return { buffer, start: 0, end: 0, offset, bytes, terminated: false }
    bytes += got
  }
}
