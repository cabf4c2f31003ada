import { isAscii } from 'node:buffer'
import { JsonWalk, SEEN } from '../../json/walk-json.js'
import { asBuffer, LONGEST } from '../../lines.js'
import { FLAG, KIND } from './row-kinds.js'
import type { Uuids } from './uuids.js'

/** What of one row its place in the session depends on, read by a walk over its bytes. */
export class RowScan {
  kind: number = KIND.other
  sessionId: string | undefined
  /** Only of an assistant's message: its parts are spread over rows. */
  messageId: string | undefined
  /** Calls of an assistant's row, answered calls of a user's. */
  callIds: string[] = []
  readonly #walk = new JsonWalk(WANTED)
  readonly #textAt = (start: number, end: number) => this.#textOf(start, end)
  #bytes: Buffer = Buffer.alloc(0)

  /** Whether the bytes are one JSON object. The members then tell of it until the next call. */
  read(bytes: Uint8Array): boolean {
    this.#bytes = asBuffer(bytes)
    let at = this.#walk.walk(bytes, 0, bytes.length)
    if (at < 0 || bytes.length > LONGEST) return false
    while (bytes[at] === 0x20 || bytes[at] === 0x0d || bytes[at] === 0x09) at++
    if (at !== bytes.length || !startsObject(bytes)) return false
    this.kind = this.#kindOf()
    // Mostly the same.
    this.sessionId = this.#sameOr(LEAF.sessionId, this.sessionId)
    this.messageId = this.kind === KIND.assistant ? this.#sameOr(LEAF.messageId, this.messageId) : undefined
    this.callIds = this.#walk.items.length > 0 ? this.#callIds() : []
    return true
  }

  /** Numbers of the row's own id, its parent's, and of the one before a compaction; -1 for none. */
  uuid(uuids: Uuids): number {
    return this.#idAt(LEAF.uuid, uuids)
  }

  parentUuid(uuids: Uuids): number {
    return this.#idAt(LEAF.parentUuid, uuids)
  }

  logicalParentUuid(uuids: Uuids): number {
    return this.#idAt(LEAF.logicalParentUuid, uuids)
  }

  /** Epoch ms, or NaN. */
  get time(): number {
    const start = this.#walk.starts[LEAF.timestamp]!
    const end = this.#walk.ends[LEAF.timestamp]!
    return readTime(this.#bytes, start + 1, end - 1) ?? Date.parse(this.#text(LEAF.timestamp) ?? '')
  }

  /** Where its message lies among its bytes. */
  get messageStart(): number {
    return this.#walk.starts[LEAF.message]!
  }

  get messageLength(): number {
    return this.#walk.ends[LEAF.message]! - this.messageStart
  }

  get flags(): number {
    const { kind } = this
    const hasMessage = this.#has(LEAF.message) && this.#bytes[this.messageStart] === OPEN_BRACE
    const isMessage = hasMessage && (kind === KIND.user || kind === KIND.assistant)
    const isFailed = this.#isTrue(LEAF.isApiErrorMessage) || this.#isText(LEAF.model, SYNTHETIC)
    const isPrompt = isMessage && kind === KIND.user && this.callIds.length === 0
    const isBoundary = kind === KIND.system && this.#isText(LEAF.subtype, BOUNDARY)
    return (
      (this.#walk.seen & RISKY ? FLAG.risky : 0) |
      (this.#walk.seen & SEEN.inexact ? FLAG.inexact : 0) |
      (isAscii(this.#bytes) ? 0 : FLAG.wide) |
      (isMessage ? FLAG.message : 0) |
      (isPrompt ? FLAG.prompt : 0) |
      (isFailed ? FLAG.failed : 0) |
      (isBoundary ? FLAG.boundary : 0) |
      (this.#isTrue(LEAF.isMeta) ? FLAG.meta : 0) |
      (this.#isTrue(LEAF.isSidechain) ? FLAG.sidechain : 0) |
      (isMessage && this.#isTrue(LEAF.isCompactSummary) ? FLAG.summary : 0)
    )
  }

  // --- internal ---

  #kindOf(): number {
    for (const [name, kind] of KINDS) if (this.#isText(LEAF.type, name)) return kind
    return KIND.other
  }

  #callIds(): string[] {
    const leaf = this.kind === KIND.assistant ? LEAF.blockId : LEAF.resultId
    const { items } = this.#walk
    const ids: string[] = []
    for (let i = 0; i < items.length; i += 3) {
      const id = items[i] === leaf ? this.#textOf(items[i + 1]!, items[i + 2]!) : undefined
      if (id !== undefined) ids.push(id)
    }
    return ids
  }

  /** Whether a member is that text, with its quotes. */
  #isText(leaf: number, text: string): boolean {
    const start = this.#walk.starts[leaf]!
    if (this.#walk.seen & SEEN.escapedText) return start >= 0 && `"${this.#text(leaf)}"` === text
    if (start < 0 || this.#walk.ends[leaf]! - start !== text.length) return false
    for (let i = 0; i < text.length; i++) if (this.#bytes[start + i] !== text.charCodeAt(i)) return false
    return true
  }

  #idAt(leaf: number, uuids: Uuids): number {
    const start = this.#walk.starts[leaf]!
    if (start < 0 || this.#bytes[start] !== QUOTE) return -1
    return uuids.at(this.#bytes, start, this.#walk.ends[leaf]!, this.#textAt)
  }

  /** The text of a member without making it anew where it is the same one. */
  #sameOr(leaf: number, known: string | undefined): string | undefined {
    const start = this.#walk.starts[leaf]! + 1
    const length = this.#walk.ends[leaf]! - start - 1
    if (known !== undefined && start > 0 && length === known.length && this.#bytes[start - 1] === QUOTE) {
      let i = 0
      while (i < length && this.#isChar(start + i, known.charCodeAt(i))) i++
      if (i === length) return known
    }
    return this.#text(leaf)
  }

  /** Whether a byte of a text stands for itself, and is that character. */
  #isChar(at: number, char: number): boolean {
    return char < 0x80 && char !== BACKSLASH && this.#bytes[at] === char
  }

  #has(leaf: number): boolean {
    return this.#walk.starts[leaf]! >= 0
  }

  #isTrue(leaf: number): boolean {
    return this.#has(leaf) && this.#bytes[this.#walk.starts[leaf]!] === TRUE
  }

  #text(leaf: number): string | undefined {
    return this.#has(leaf) ? this.#textOf(this.#walk.starts[leaf]!, this.#walk.ends[leaf]!) : undefined
  }

  /** `undefined` for what is no text. */
  #textOf(start: number, end: number): string | undefined {
    if (this.#bytes[start] !== QUOTE) return undefined
    const text = this.#bytes.toString('latin1', start + 1, end - 1)
    return UNLIKE.test(text) ? JSON.parse(this.#bytes.toString('utf8', start, end)) : text
  }
}

// --- internal ---

const RISKY = SEEN.riskyEscape | SEEN.riskyNumber | SEEN.deep
/** What is not the same in JSON, or in another encoding. */
const UNLIKE = /[\\\x80-\xff]/
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const TRUE = 0x74

const LEAF = {
  type: 0,
  subtype: 1,
  uuid: 2,
  parentUuid: 3,
  logicalParentUuid: 4,
  sessionId: 5,
  timestamp: 6,
  isSidechain: 7,
  isCompactSummary: 8,
  isApiErrorMessage: 9,
  messageId: 10,
  model: 11,
  blockId: 12,
  resultId: 13,
  message: 14,
  isMeta: 15,
} as const

const WANTED = {
  type: LEAF.type,
  subtype: LEAF.subtype,
  uuid: LEAF.uuid,
  parentUuid: LEAF.parentUuid,
  logicalParentUuid: LEAF.logicalParentUuid,
  sessionId: LEAF.sessionId,
  timestamp: LEAF.timestamp,
  isSidechain: LEAF.isSidechain,
  isCompactSummary: LEAF.isCompactSummary,
  isApiErrorMessage: LEAF.isApiErrorMessage,
  isMeta: LEAF.isMeta,
  message: {
    '': LEAF.message,
    id: LEAF.messageId,
    model: LEAF.model,
    content: { '[]': { id: LEAF.blockId, tool_use_id: LEAF.resultId } },
  },
}

const KINDS = Object.entries(KIND).map(([name, kind]) => [`"${name}"`, kind] as const)
const SYNTHETIC = '"<synthetic>"'
const BOUNDARY = '"compact_boundary"'

function startsObject(bytes: Uint8Array): boolean {
  let at = 0
  while (bytes[at]! <= 0x20) at++
  return bytes[at] === OPEN_BRACE
}

/** Of `2026-01-05T09:00:01.000Z`, as agents write it. `undefined` for any other form. */
function readTime(bytes: Uint8Array, start: number, end: number): number | undefined {
  if (end - start !== 24 || !hasMarks(bytes, start)) return undefined
  const year = number(bytes, start, 4)
  const month = number(bytes, start + 5, 2)
  const day = number(bytes, start + 8, 2)
  const hour = number(bytes, start + 11, 2)
  const minute = number(bytes, start + 14, 2)
  const second = number(bytes, start + 17, 2)
  // What no calendar has is left to the parser that knows.
  const isUsual = year >= 100 && month >= 1 && month <= 12 && day >= 1 && day <= 28 && hour <= 23 && minute <= 59
  const time = Date.UTC(year, month - 1, day, hour, minute, second, number(bytes, start + 20, 3))
  return isUsual && second <= 59 && !Number.isNaN(time) ? time : undefined
}

function hasMarks(bytes: Uint8Array, at: number): boolean {
  const isDate = bytes[at + 4] === 0x2d && bytes[at + 7] === 0x2d && bytes[at + 10] === 0x54
  return (
    isDate && bytes[at + 13] === 0x3a && bytes[at + 16] === 0x3a && bytes[at + 19] === 0x2e && bytes[at + 23] === 0x5a
  )
}

/** NaN where one of the digits is none. */
function number(bytes: Uint8Array, from: number, length: number): number {
  let value = 0
  for (let at = from; at < from + length; at++) {
    const digit = bytes[at]! - 0x30
    value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN
  }
  return value
}
