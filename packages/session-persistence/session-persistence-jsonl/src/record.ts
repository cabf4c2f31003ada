import { crc32 } from 'node:zlib'

/** `,"crc":"xxxxxxxx"}`, the end of every line before its newline. */
export const TAIL_BYTES = 18
export const NEWLINE = 0x0a

/** CRC-32 of a line's bytes before its tail. */
export type Crc = number

/** The checksum as it stands on a line: eight lower-case hex digits. */
export function crcText(crc: Crc): string {
  return crc.toString(16).padStart(8, '0')
}

export interface DecodedRecord {
  /** The text ends in a brace: no other JSON does. */
  readonly value: object
  readonly crc: Crc
}

/** Lines in the making, one buffer for a whole batch. What `bytes` gives is valid until the next `reset`. */
export class RecordBuffer {
  #bytes = Buffer.allocUnsafe(SCRATCH_BYTES)
  #length = 0

  get length(): number {
    return this.#length
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  reset(): void {
    this.#length = 0
    if (this.#bytes.length > LARGEST_KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(SCRATCH_BYTES)
  }

  newline(): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = NEWLINE
  }

  /** Adds the line of a JSON object that has at least one member. */
  add(value: object): Crc {
    const text = JSON.stringify(value)
    this.#reserve(text.length * 3 <= this.#room ? 0 : Buffer.byteLength(text) + TAIL_BYTES + 1)
    const start = this.#length
    // The closing brace is written and then overwritten by the tail.
    const end = start + this.#bytes.write(text, start) - 1
    const crc = crc32(this.#bytes.subarray(start, end))
    this.#length = end + this.#bytes.write(`,"crc":"${crcText(crc)}"}\n`, end, 'latin1')
    return crc
  }

  get #room(): number {
    return this.#bytes.length - this.#length - TAIL_BYTES - 1
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}

/** The checksum of a line without its newline, `undefined` unless the line ends in it, byte for byte. */
export function checkedCrc(bytes: Buffer, start: number, end: number): Crc | undefined {
  const tail = end - TAIL_BYTES
  if (tail <= start) return undefined
  const crc = crc32(bytes.subarray(start, tail))
  return hasTail(bytes, tail, crc) ? crc : undefined
}

/**
 * The record in `bytes[start, end)`, a line without its newline; `undefined` unless its tail is the
 * right one byte for byte and the rest is JSON to `parse`. Changes one byte of `bytes` and puts it back.
 */
export function decodeRecord(
  bytes: Buffer,
  start: number,
  end: number,
  parse: (text: string) => unknown = JSON.parse,
): DecodedRecord | undefined {
  const crc = checkedCrc(bytes, start, end)
  if (crc === undefined) return undefined
  const tail = end - TAIL_BYTES
  const comma = bytes[tail]!
  bytes[tail] = CLOSING_BRACE
  try {
    return { value: parse(bytes.toString('utf8', start, tail + 1)) as object, crc }
  } catch {
    return undefined
  } finally {
    bytes[tail] = comma
  }
}

// --- internal ---

const CLOSING_BRACE = 0x7d
const SCRATCH_BYTES = 8 * 1024
const LARGEST_KEPT_BYTES = 1024 * 1024

const TAIL_START = Buffer.from(',"crc":"')
const TAIL_END = Buffer.from('"}')
const DIGITS = Buffer.from('0123456789abcdef')

/** Compares bytes, as this is done for every record that is read. */
function hasTail(bytes: Buffer, tail: number, crc: Crc): boolean {
  for (let i = 0; i < 8; i++) {
    if (bytes[tail + i] !== TAIL_START[i]) return false
    if (bytes[tail + 8 + i] !== DIGITS[(crc >>> (28 - 4 * i)) & 15]) return false
  }
  return bytes[tail + 16] === TAIL_END[0] && bytes[tail + 17] === TAIL_END[1]
}
