import { isAscii } from 'node:buffer'
import { JsonWalk, SEEN } from '../../json/walk-json.js'
import { asBuffer } from '../../lines.js'
import { FLAG, KIND } from './row-kinds.js'

/** What of one row its place in the session depends on, read by a walk over its bytes. */
export class RowScan {
  kind: number = KIND.other
  readonly #walk = new JsonWalk(WANTED)
  #bytes: Buffer = Buffer.alloc(0)

  /** Whether the bytes are one JSON object. The getters then tell of it until the next call. */
  read(bytes: Uint8Array): boolean {
    this.#bytes = asBuffer(bytes)
    let at = this.#walk.walk(bytes, 0, bytes.length)
    if (at < 0) return false
    this.kind = KINDS.get(this.#text(LEAF.type) ?? '') ?? KIND.other
    while (bytes[at] === 0x20 || bytes[at] === 0x0d || bytes[at] === 0x09) at++
    return at === bytes.length && firstOf(bytes) === OPEN_BRACE
  }

  get hasUuid(): boolean {
    return this.uuid !== undefined
  }

  get uuid(): string | undefined {
    return this.#text(LEAF.uuid)
  }

  get parentUuid(): string | undefined {
    return this.#text(LEAF.parentUuid)
  }

  get logicalParentUuid(): string | undefined {
    return this.#text(LEAF.logicalParentUuid)
  }

  get sessionId(): string | undefined {
    return this.#text(LEAF.sessionId)
  }

  /** Epoch ms, or NaN. */
  get time(): number {
    return Date.parse(this.#text(LEAF.timestamp) ?? '')
  }

  /** Only of an assistant's message: its parts are spread over rows. */
  get messageId(): string | undefined {
    return this.kind === KIND.assistant ? this.#text(LEAF.messageId) : undefined
  }

  /** Calls of an assistant's row, answered calls of a user's. */
  get callIds(): string[] {
    const leaf = this.kind === KIND.assistant ? LEAF.blockId : LEAF.resultId
    const { items } = this.#walk
    const ids: string[] = []
    for (let i = 0; i < items.length; i += 3) {
      const id = items[i] === leaf ? this.#textOf(items[i + 1]!, items[i + 2]!) : undefined
      if (id !== undefined) ids.push(id)
    }
    return ids
  }

  get flags(): number {
    const { kind } = this
    const hasMessage = this.#has(LEAF.role) || this.#has(LEAF.content) || this.#walk.items.length > 0
    const isMessage = hasMessage && (kind === KIND.user || kind === KIND.assistant)
    const isFailed = this.#isTrue(LEAF.isApiErrorMessage) || this.#text(LEAF.model) === '<synthetic>'
    const isPrompt = isMessage && kind === KIND.user && this.callIds.length === 0
    const isBoundary = kind === KIND.system && this.#text(LEAF.subtype) === 'compact_boundary'
    return (
      (this.#walk.seen & RISKY ? FLAG.risky : 0) |
      (this.#walk.seen & SEEN.inexact ? FLAG.inexact : 0) |
      (isAscii(this.#bytes) ? 0 : FLAG.wide) |
      (isMessage ? FLAG.message : 0) |
      (isPrompt ? FLAG.prompt : 0) |
      (isFailed ? FLAG.failed : 0) |
      (isBoundary ? FLAG.boundary : 0) |
      (this.#isTrue(LEAF.isSidechain) ? FLAG.sidechain : 0) |
      (isMessage && this.#isTrue(LEAF.isCompactSummary) ? FLAG.summary : 0)
    )
  }

  // --- internal ---

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
    return /[\\\x80-\xff]/.test(text) ? JSON.parse(this.#bytes.toString('utf8', start, end)) : text
  }
}

// --- internal ---

const RISKY = SEEN.riskyEscape | SEEN.riskyNumber | SEEN.deep
const QUOTE = 0x22
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
  role: 10,
  messageId: 11,
  model: 12,
  content: 13,
  blockId: 14,
  resultId: 15,
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
  message: {
    role: LEAF.role,
    id: LEAF.messageId,
    model: LEAF.model,
    content: { '': LEAF.content, '[]': { id: LEAF.blockId, tool_use_id: LEAF.resultId } },
  },
}

const KINDS = new Map<string, number>(Object.entries(KIND))

function firstOf(bytes: Uint8Array): number | undefined {
  return bytes.find(byte => byte > 0x20)
}
