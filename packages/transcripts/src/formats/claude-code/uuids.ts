import { Names } from './names.js'

/**
 * Numbers for row ids, from 0. An id in the usual form takes sixteen bytes and is never made a string; any other one is
 * a name like others.
 */
export class Uuids {
  size = 0
  /** Four words of each id, by number. */
  #words = new Int32Array(4 * START)
  /** Numbers plus one, by hash; 0 where free. Never more than half full. */
  #slots = new Int32Array(4 * START)
  readonly #others = new Names()
  readonly #otherNumbers: number[] = []
  readonly #read = new Int32Array(4)

  /** The number of the id that stands between quotes at `start`…`end`. */
  at(
    bytes: Uint8Array,
    start: number,
    end: number,
    textOf: (start: number, end: number) => string | undefined,
  ): number {
    if (readUuid(bytes, start + 1, end - 1, this.#read)) return this.#numberOf(true)
    const text = textOf(start, end)
    if (text === undefined) return -1
    // Written with escapes it is the same id.
    if (text.length !== end - start - 2 && readUuid(Buffer.from(text), 0, text.length, this.#read))
      return this.#numberOf(true)
    const other = this.#others.of(text)
    if (other === this.#otherNumbers.length) this.#otherNumbers.push(this.#take())
    return this.#otherNumbers[other]!
  }

  /** -1 for an id that was never met. */
  find(text: string): number {
    const bytes = Buffer.from(text)
    if (readUuid(bytes, 0, bytes.length, this.#read)) return this.#numberOf(false)
    return this.#otherNumbers[this.#others.find(text)] ?? -1
  }

  // --- internal ---

  #numberOf(isNew: boolean): number {
    const [a, b, c, d] = this.#read as unknown as [number, number, number, number]
    const mask = this.#slots.length - 1
    const words = this.#words
    for (let slot = hash(a, b, c, d) & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot]! - 1
      if (number < 0) {
        if (!isNew) return -1
        const taken = this.#take()
        this.#words.set(this.#read, 4 * taken)
        this.#slots[slot] = taken + 1
        if (2 * taken > mask) this.#grow()
        return taken
      }
      const at = 4 * number
      if (words[at] === a && words[at + 1] === b && words[at + 2] === c && words[at + 3] === d) return number
    }
  }

  #take(): number {
    if (4 * this.size === this.#words.length) {
      const words = new Int32Array(2 * this.#words.length)
      words.set(this.#words)
      this.#words = words
    }
    return this.size++
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = new Int32Array(2 * old.length)
    const mask = this.#slots.length - 1
    const words = this.#words
    for (const kept of old) {
      if (kept === 0) continue
      const at = 4 * (kept - 1)
      let slot = hash(words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!) & mask
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask
      this.#slots[slot] = kept
    }
  }
}

// --- internal ---

const START = 1024
const LENGTH = 36
const DASH = 0x2d
/** Of hexadecimal digits as agents write them; -1 for any other byte. */
const DIGITS = new Int8Array(256).fill(-1)
for (const [value, digit] of [...'0123456789abcdef'].entries()) DIGITS[digit.charCodeAt(0)] = value

/** Whether the bytes are an id in the usual form, whose four words are then in `into`. */
function readUuid(bytes: Uint8Array, start: number, end: number, into: Int32Array): boolean {
  if (end - start !== LENGTH) return false
  let word = 0
  let count = 0
  for (let i = 0; i < LENGTH; i++) {
    const byte = bytes[start + i]!
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (byte !== DASH) return false
      continue
    }
    const digit = DIGITS[byte]!
    if (digit < 0) return false
    word = (word << 4) | digit
    count += 1
    if ((count & 7) === 0) into[(count >> 3) - 1] = word
  }
  return true
}

function hash(a: number, b: number, c: number, d: number): number {
  let mixed = Math.imul(a ^ Math.imul(b, 0x85ebca6b), 0xc2b2ae35)
  mixed = Math.imul(mixed ^ c ^ (mixed >>> 15), 0x27d4eb2f)
  mixed = Math.imul(mixed ^ d ^ (mixed >>> 13), 0x165667b1)
  return mixed ^ (mixed >>> 16)
}
