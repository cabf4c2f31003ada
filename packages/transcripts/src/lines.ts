import { constants } from 'node:buffer'
import type { Source } from './source.js'

export interface Line {
  /** From 1. */
  readonly line: number
  /** Without the newline; valid until the next line is asked for. */
  readonly bytes: Uint8Array
  /** In the file, in bytes. */
  readonly offset: number
  readonly hasNewline: boolean
}

/** The lines of a source. An empty rest behind the last newline is none. A byte order mark belongs to no line. */
export function* readLines(source: Source): Generator<Line> {
  let rest: Uint8Array[] = []
  let offset = hasByteOrderMark(source) ? BYTE_ORDER_MARK.length : 0
  let line = 1
  for (let from = offset; from < source.size; from += CHUNK) {
    const chunk = asBuffer(source.read(from, Math.min(from + CHUNK, source.size)))
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const bytes = join(rest, chunk.subarray(start, end))
      rest = []
      yield { line, bytes, offset, hasNewline: true }
      offset += bytes.length + 1
      line += 1
      start = end + 1
    }
    // A source may use its buffer again.
    if (start < chunk.length) rest.push(Uint8Array.prototype.slice.call(chunk, start))
  }
  const bytes = join(rest, new Uint8Array())
  if (bytes.length > 0) yield { line, bytes, offset, hasNewline: false }
}

/** More bytes than this are no text that a program could hold. */
export const LONGEST = constants.MAX_STRING_LENGTH

/** Bytes that are no UTF-8 become U+FFFD. Of what is too long for a text nothing. */
export function decode(bytes: Uint8Array): string {
  return bytes.length > LONGEST ? '' : asBuffer(bytes).toString('utf8')
}

/** The same memory, with a buffer's faster ways to look into it. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

// --- internal ---

const NEWLINE = 0x0a
const CHUNK = 1 << 20
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

function hasByteOrderMark(source: Source): boolean {
  const start = source.read(0, Math.min(BYTE_ORDER_MARK.length, source.size))
  return BYTE_ORDER_MARK.every((byte, i) => start[i] === byte)
}

function join(parts: readonly Uint8Array[], last: Uint8Array): Uint8Array {
  return parts.length === 0 ? last : Buffer.concat([...parts, last])
}
