import type { SessionEvent } from '@palimpsest/session'
import { type SessionSummary, titleOf } from '@palimpsest/session-persistence'
import { checkedCrc, decodeRecord, NEWLINE } from './record.js'

/** What a listing shows of a stretch of a log. */
export interface Glance {
  /** The next seq. */
  readonly length: number
  /** Of the last record; `undefined` where there is none. */
  readonly updatedAt: number | undefined
  /** The first one in the stretch. */
  readonly title: string | undefined
  /** The last one that begins or ends in the stretch. */
  readonly lastTurn: SessionSummary['lastTurn']
}

/**
 * Looks through `bytes[start, end)`, in which every line must be a record as the writer writes it: whole,
 * with the right checksum and the next seq, `seq` or whatever the first one has. Where one is not it
 * gives `undefined`, and a `Scan` says what is wrong. A right checksum vouches for all that a listing has
 * no use for: only a user's message is parsed.
 */
export function glance(bytes: Buffer, start: number, end: number, seq?: number): Glance | undefined {
  const line = new LineStart(bytes)
  let length = seq
  let updatedAt: number | undefined
  let title: string | undefined
  let lastTurn: Glance['lastTurn']
  for (let at = start; at < end; ) {
    const newline = bytes.indexOf(NEWLINE, at)
    if (newline === -1 || newline >= end || checkedCrc(bytes, at, newline) === undefined) return undefined
    if (!line.read(at) || line.seq !== (length ?? line.seq)) return undefined
    length = line.seq + 1
    updatedAt = line.time
    if (title === undefined && line.skip(USER_MESSAGE)) {
      const event = decodeRecord(bytes, at, newline)?.value as SessionEvent | undefined
      if (event === undefined) return undefined
      title = titleOf(event)
    } else if (line.skip(TURN)) {
      lastTurn = line.readTurn()
      if (lastTurn === undefined) return undefined
    }
    at = newline + 1
  }
  return length === undefined ? undefined : { length, updatedAt, title, lastTurn }
}

// --- internal ---

const SEQ = Buffer.from('{"seq":')
const TIME = Buffer.from(',"time":')
const TYPE = Buffer.from(',"type":"')
const USER_MESSAGE = Buffer.from('user/message"')
const TURN = Buffer.from('turn/')
const TURN_START = Buffer.from('start","data":{"turn":')
const TURN_END = Buffer.from('end","data":{"turn":')

const COMMA = 0x2c
const CLOSING_BRACE = 0x7d
const ZERO = 0x30
const NINE = 0x39
/** More may be no safe integer. */
const MOST_DIGITS = 15

/** The beginning of a line, read byte by byte: a listing looks at hundreds of thousands. */
class LineStart {
  seq = 0
  time = 0
  #at = 0

  constructor(private readonly bytes: Buffer) {}

  /** Whether the line at `at` begins as a record does; then its type is next. */
  read(at: number): boolean {
    this.#at = at
    if (!this.skip(SEQ)) return false
    this.seq = this.#number()
    if (!this.skip(TIME)) return false
    this.time = this.#number()
    return this.skip(TYPE)
  }

  /** `undefined` where what comes next is no whole number. */
  readTurn(): Glance['lastTurn'] {
    const isOpen = this.skip(TURN_START)
    if (!isOpen && !this.skip(TURN_END)) return undefined
    const turn = this.#number()
    const next = this.bytes[this.#at]
    return next === COMMA || next === CLOSING_BRACE ? { turn, isOpen } : undefined
  }

  skip(text: Buffer): boolean {
    for (let i = 0; i < text.length; i++) if (this.bytes[this.#at + i] !== text[i]) return false
    this.#at += text.length
    return true
  }

  // --- internal ---

  /** Stops at what is no digit, or one too many: then what has to follow is not there. */
  #number(): number {
    let value = 0
    for (let digits = 0; digits < MOST_DIGITS; digits++) {
      const byte = this.bytes[this.#at]!
      if (byte < ZERO || byte > NINE) break
      value = value * 10 + byte - ZERO
      this.#at += 1
    }
    return value
  }
}
