/** Marks of what a text holds, gathered on the way. */
export const SEEN = {
  /** Half of a surrogate pair, or U+0000. */
  riskyEscape: 1,
  /** A number that a double may not hold. */
  riskyNumber: 2,
  /** A number or a key that a parser gives back in another form or order. */
  inexact: 4,
  deep: 8,
  /** A wanted text that is written with escapes. */
  escapedText: 16,
} as const

/**
 * Members that a walk looks for, each by a number of the caller's. `[]` is every element of a list, `''` the value
 * itself. One list at most.
 */
export interface Wanted {
  readonly [key: string]: number | Wanted
}

/**
 * Walks JSON text without making values of it: says where a value ends by the whole grammar, which is several times
 * faster than parsing, and where the members lie that `wanted` names. A walk leaves its answers in the public fields.
 */
export class JsonWalk {
  /** Of `SEEN`. */
  seen = 0
  /** One past the last byte looked at. */
  reached = 0
  /** By the numbers of `wanted`: start and end of the value, or -1. Of a key used twice, the last. */
  readonly starts: Int32Array
  readonly ends: Int32Array
  /** The members below a list, in the order of the text: number, start, end, number, … */
  readonly items: number[] = []
  readonly #root: Node | undefined
  readonly #nodes: (Node | undefined)[] = []
  readonly #isObject: boolean[] = []
  readonly #opened: number[] = []
  /** Whether the last string was written with escapes. */
  #isEscaped = false

  constructor(wanted?: Wanted) {
    let count = 0
    const build = (wanted: Wanted | number, isItem: boolean): Node => {
      const { '': own = -1, '[]': element, ...named } = typeof wanted === 'number' ? { '': wanted } : wanted
      const leaf = Number(own)
      count = Math.max(count, leaf + 1)
      const keys: Key[][] = []
      for (const [name, each] of Object.entries(named)) {
        const bytes = Buffer.from(name)
        keys[bytes.length] ??= []
        keys[bytes.length]!.push({ bytes, node: build(each!, isItem) })
      }
      const children = keys.flat().map(({ node }) => node)
      const below = children.flatMap(child => [...(child.leaf < 0 ? [] : [child.leaf]), ...child.below])
      const hasList = element !== undefined || children.some(child => child.hasList)
      return { keys, element: element === undefined ? undefined : build(element, true), leaf, isItem, below, hasList }
    }
    this.#root = wanted && build(wanted, false)
    this.starts = new Int32Array(count)
    this.ends = new Int32Array(count)
  }

  /** One past the value that begins at `at` (or at white space before it), or -1 where there is none before `end`. */
  walk(bytes: Uint8Array, at: number, end: number): number {
    this.seen = 0
    this.reached = at
    this.starts.fill(-1)
    this.items.length = 0
    const result = this.#value(bytes, at, end)
    if (result >= 0) this.reached = result
    return result
  }

  // --- internal ---

  #value(bytes: Uint8Array, from: number, end: number): number {
    const nodes = this.#nodes
    const isObject = this.#isObject
    const opened = this.#opened
    let depth = 0
    let node = this.#root
    let at = from
    for (;;) {
      at = skipSpace(bytes, at, end)
      const start = at
      const first = at < end ? bytes[at]! : 0
      let isOpen = false
      if (first === QUOTE) {
        at = this.#string(bytes, at, end)
        if (this.#isEscaped && node !== undefined && node.leaf >= 0) this.seen |= SEEN.escapedText
      } else if (first === OPEN_BRACE || first === OPEN_BRACKET) {
        isObject[depth] = first === OPEN_BRACE
        nodes[depth] = node
        opened[depth] = start
        depth += 1
        if (depth > DEEP) this.seen |= SEEN.deep
        at = skipSpace(bytes, at + 1, end)
        if (at < end && bytes[at] === first + 2) {
          depth -= 1
          at += 1
        } else isOpen = true
      } else
        at = first === 0x2d || (first >= ZERO && first <= NINE) ? this.#number(bytes, at, end) : literal(bytes, at, end)
      if (at < 0) {
        this.reached = Math.max(this.reached, start)
        return -1
      }
      if (!isOpen) {
        if (node !== undefined && node.leaf >= 0) this.#pick(node, start, at)
        // Behind a value: out of what it ends, up to the next one.
        for (;;) {
          if (depth === 0) return at
          at = skipSpace(bytes, at, end)
          const next = at < end ? bytes[at]! : 0
          if (next === COMMA) {
            at += 1
            break
          }
          if (next !== (isObject[depth - 1] ? CLOSE_BRACE : CLOSE_BRACKET)) return this.#fail(at)
          at += 1
          depth -= 1
          const closed = nodes[depth]
          if (closed !== undefined && closed.leaf >= 0) this.#pick(closed, opened[depth]!, at)
        }
      }
      const parent = nodes[depth - 1]
      if (!isObject[depth - 1]) node = parent?.element
      else {
        at = skipSpace(bytes, at, end)
        if (at >= end || bytes[at] !== QUOTE) return this.#fail(at)
        const key = at + 1
        at = this.#string(bytes, at, end)
        if (at < 0) return -1
        if (bytes[key]! >= ZERO && bytes[key]! <= NINE) this.seen |= SEEN.inexact
        node = parent === undefined ? undefined : this.#childOf(parent, bytes, key, at - 1)
        at = skipSpace(bytes, at, end)
        if (at >= end || bytes[at] !== COLON) return this.#fail(at)
        at += 1
      }
    }
  }

  /** The member that a key names. What an earlier one of that name held is forgotten: the last counts. */
  #childOf(parent: Node, bytes: Uint8Array, start: number, end: number): Node | undefined {
    const node = this.#isEscaped ? childOfEscaped(parent, bytes, start, end) : childOf(parent, bytes, start, end)
    if (node === undefined) return undefined
    for (const leaf of node.below) this.starts[leaf] = -1
    if (node.hasList) this.items.length = 0
    return node
  }

  #pick({ leaf, isItem }: Node, start: number, end: number): void {
    if (isItem) this.items.push(leaf, start, end)
    else {
      this.starts[leaf] = start
      this.ends[leaf] = end
    }
  }

  #fail(at: number): -1 {
    this.reached = at
    return -1
  }

  /** One past the closing quote of the string that opens at `start`. */
  #string(bytes: Uint8Array, start: number, end: number): number {
    this.#isEscaped = false
    for (let at = start + 1; ; ) {
      at = skipPlain(bytes, at, end)
      if (at >= end) return this.#fail(end)
      if (bytes[at] === QUOTE) return at + 1
      if (bytes[at] !== BACKSLASH) return this.#fail(at)
      this.#isEscaped = true
      const escaped = at + 1 < end ? bytes[at + 1]! : 0
      if (IS_ESCAPE[escaped] === 1) at += 2
      else {
        if (escaped !== 0x75 || !isHex4(bytes, at + 2, end)) return this.#fail(at + 1)
        if (isRiskyEscape(bytes, at + 2)) this.seen |= SEEN.riskyEscape
        at += 6
      }
    }
  }

  #number(bytes: Uint8Array, start: number, end: number): number {
    let at = start
    if (bytes[at] === 0x2d) {
      at += 1
      // A minus zero is no lossless number.
      if (bytes[at] === ZERO) this.seen |= SEEN.riskyNumber
    }
    const whole = at
    at = digits(bytes, at, end)
    if (at === whole || (bytes[whole] === ZERO && at > whole + 1)) return this.#fail(at)
    if (at < end && bytes[at] === 0x2e) {
      const fraction = at + 1
      at = digits(bytes, fraction, end)
      if (at === fraction) return this.#fail(at)
      if (bytes[at - 1] === ZERO) this.seen |= SEEN.inexact
    }
    if (at < end && (bytes[at]! | 0x20) === 0x65) {
      this.seen |= SEEN.riskyNumber
      at += 1
      if (at < end && (bytes[at] === 0x2b || bytes[at] === 0x2d)) at += 1
      const exponent = at
      at = digits(bytes, exponent, end)
      if (at === exponent) return this.#fail(at)
    }
    if (at - start > 15) this.seen |= SEEN.riskyNumber
    return at
  }
}

interface Node {
  /** By their lengths. */
  readonly keys: readonly (readonly Key[] | undefined)[]
  readonly element: Node | undefined
  readonly leaf: number
  readonly isItem: boolean
  /** The members under it, of a list none. */
  readonly below: readonly number[]
  readonly hasList: boolean
}

interface Key {
  readonly bytes: Uint8Array
  readonly node: Node
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const COLON = 0x3a
const ZERO = 0x30
const NINE = 0x39
/** Deeper than this a value is looked at again before it becomes part of an event. */
const DEEP = 200
/** 1 for each byte that may stand in a string as it is. */
const IS_PLAIN = new Uint8Array(256).fill(1, 0x20)
IS_PLAIN[QUOTE] = 0
IS_PLAIN[BACKSLASH] = 0
const IS_ESCAPE = new Uint8Array(256)
for (const char of '"\\/bfnrt') IS_ESCAPE[char.charCodeAt(0)] = 1

function skipSpace(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end) {
    const char = bytes[at]!
    if (char > 0x20 || (char !== 0x20 && char !== 0x0a && char !== 0x0d && char !== 0x09)) return at
    at += 1
  }
  return at
}

/** Four at a time, since most of a transcript is text. */
function skipPlain(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  const last = end - 3
  while (
    at < last &&
    (IS_PLAIN[bytes[at]!]! & IS_PLAIN[bytes[at + 1]!]! & IS_PLAIN[bytes[at + 2]!]! & IS_PLAIN[bytes[at + 3]!]!) === 1
  )
    at += 4
  while (at < end && IS_PLAIN[bytes[at]!] === 1) at += 1
  return at
}

function digits(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && bytes[at]! >= ZERO && bytes[at]! <= NINE) at += 1
  return at
}

function literal(bytes: Uint8Array, start: number, end: number): number {
  const word = LITERALS[bytes[start]!]
  if (word === undefined || start + word.length > end) return -1
  let i = 1
  while (i < word.length && bytes[start + i] === word[i]) i++
  return i === word.length ? start + i : -1
}

/** By their first bytes. */
const LITERALS: readonly (Uint8Array | undefined)[] = Array.from({ length: 256 }, (_, first) => {
  const word = ['null', 'true', 'false'].find(each => each.charCodeAt(0) === first)
  return word === undefined ? undefined : Buffer.from(word)
})

function isHex4(bytes: Uint8Array, at: number, end: number): boolean {
  if (at + 4 > end) return false
  for (let i = at; i < at + 4; i++) {
    const char = bytes[i]! | 0x20
    if (!((bytes[i]! >= ZERO && bytes[i]! <= NINE) || (char >= 0x61 && char <= 0x66))) return false
  }
  return true
}

/** U+0000, or half of a surrogate pair. */
function isRiskyEscape(bytes: Uint8Array, at: number): boolean {
  if (bytes[at] === ZERO) return bytes[at + 1] === ZERO && bytes[at + 2] === ZERO && bytes[at + 3] === ZERO
  return (bytes[at]! | 0x20) === 0x64 && bytes[at + 1]! > 0x37
}

function childOf(parent: Node, bytes: Uint8Array, start: number, end: number): Node | undefined {
  const length = end - start
  const keys = parent.keys[length]
  if (keys === undefined) return undefined
  for (const { bytes: name, node } of keys) {
    let i = 0
    while (i < length && name[i] === bytes[start + i]) i++
    if (i === length) return node
  }
  return undefined
}

function childOfEscaped(parent: Node, bytes: Uint8Array, start: number, end: number): Node | undefined {
  const name = Buffer.from(JSON.parse(Buffer.from(bytes.subarray(start - 1, end + 1)).toString()) as string)
  return childOf(parent, name, 0, name.length)
}
