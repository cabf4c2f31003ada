/**
 * Keeps the head and the tail of a stream of bytes in bounded memory and counts what lies between. Owns copies: the
 * chunks pushed may be reused by their owner.
 */
export class OutputWindow {
  readonly #half: number
  readonly #head: Buffer[] = []
  #tail: Buffer[] = []
  #headBytes = 0
  #tailBytes = 0
  #total = 0

  constructor(maxBytes: number) {
    this.#half = Math.floor(maxBytes / 2)
  }

  get total(): number {
    return this.#total
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length
    const room = Math.min(chunk.length, this.#half - this.#headBytes)
    if (room > 0) this.#head.push(Buffer.from(chunk.subarray(0, room)))
    this.#headBytes += room
    if (room < chunk.length) this.#pushTail(Buffer.from(chunk.subarray(room)))
  }

  /** The text, bytes that are not UTF-8 replaced by U+FFFD, with a line that says how much was left out. */
  text(): string {
    const head = Buffer.concat(this.#head)
    const tail = Buffer.concat(this.#tail)
    const left = this.#total - head.length - Math.min(tail.length, this.#half)
    if (left === 0) return Buffer.concat([head, tail]).toString('utf8')
    const shownHead = head.subarray(0, wholeEnd(head))
    const shownTail = tail.subarray(wholeStart(tail, tail.length - this.#half))
    const out = this.#total - shownHead.length - shownTail.length
    return `${shownHead.toString('utf8')}\n[… ${out} bytes left out …]\n${shownTail.toString('utf8')}`
  }

  #pushTail(chunk: Buffer): void {
    this.#tail.push(chunk)
    this.#tailBytes += chunk.length
    while (this.#tailBytes - this.#tail[0]!.length >= this.#half) this.#tailBytes -= this.#tail.shift()!.length
  }
}

// --- internal ---

/** Where `bytes` ends without a UTF-8 sequence that the cut broke. */
function wholeEnd(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!
    if ((byte & 0xc0) === 0x80) continue
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needs > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** The first place from `at` on that is not inside a UTF-8 sequence. */
function wholeStart(bytes: Buffer, at: number): number {
  let start = Math.max(0, at)
  while (start < bytes.length && start < at + 3 && (bytes[start]! & 0xc0) === 0x80) start += 1
  return start
}
