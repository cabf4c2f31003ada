import type { SessionEvent } from '@palimpsest/session'
import { type Damage, titleOf } from '@palimpsest/session-persistence'
import { type Glance, glance } from './glance.js'
import { type Line, type ReadAt, readLines } from './lines.js'
import { type HeaderLine, headerOf, readHeaderLine } from './log-file.js'
import { decodeRecord, NEWLINE } from './record.js'
import { Scan, type ScanStart } from './scan.js'

/** The beginning of a log, from one read: most are no longer. Valid until the next one is read. */
export interface LogHead {
  readonly bytes: Buffer
  /** Of the whole file, when it was opened. */
  readonly size: number
  /** The file up to `size`. */
  readonly read: ReadAt
}

export interface LogEnd extends Glance {
  readonly damage: Damage[]
  /** Whether the whole file was looked at; then `title` is the session's own. */
  readonly isWhole: boolean
}

export function readHead(readFile: ReadAt, size: number): LogHead {
  const filled = readFile(ahead.subarray(0, Math.min(size, ahead.length)), 0)
  const read: ReadAt = (bytes, position) => {
    if (position >= size) return 0
    const isAhead = filled >= size || position + bytes.length <= filled
    return isAhead && position <= filled ? ahead.copy(bytes, 0, position, filled) : readFile(bytes, position)
  }
  return { bytes: ahead.subarray(0, filled), size, read }
}

/** The header of a log, or what is wrong with its first line. */
export function headerIn({ bytes, read }: LogHead): HeaderLine | Damage {
  const end = bytes.indexOf(NEWLINE)
  if (end === -1) return readHeaderLine(read)
  return headerOf({ buffer: bytes, start: 0, end, offset: 0, bytes: end + 1, terminated: true } satisfies Line)
}

/** From the last few records; further back where no good one is found there. */
export function readEnd(head: LogHead, start: { offset: number; seq: number; line: number }): LogEnd {
  const { bytes, size, read } = head
  const isWhole = size <= bytes.length
  const seen = isWhole ? glance(bytes, start.offset, size, start.seq) : glanceAtTail(read, size, start.offset)
  if (seen !== undefined) return { ...seen, damage: [], isWhole }
  for (let bytes = TAIL_BYTES; start.offset + bytes < size; bytes *= 8) {
    const from = firstRecordFrom(read, size - bytes)
    if (from !== undefined) return scanEnd(read, { ...from, stopOffset: size }, false)
  }
  return scanEnd(read, { ...start, stopOffset: size }, true)
}

// --- internal ---

/** A log up to this size is looked at whole; of a larger one, this much of its end. */
const TAIL_BYTES = 16 * 1024

const ahead = Buffer.allocUnsafeSlow(TAIL_BYTES)
const tail = Buffer.allocUnsafeSlow(TAIL_BYTES)

/** Of the records that begin in the tail of a log that is longer. */
function glanceAtTail(read: ReadAt, size: number, firstRecord: number): Glance | undefined {
  const from = size - TAIL_BYTES
  if (from <= firstRecord) return undefined
  const filled = read(tail, from)
  const newline = tail.indexOf(NEWLINE)
  return newline === -1 ? undefined : glance(tail, newline + 1, filled)
}

function scanEnd(read: ReadAt, start: ScanStart, isWhole: boolean): LogEnd {
  const scan = new Scan(read, start)
  let updatedAt: number | undefined
  let title: string | undefined
  let lastTurn: Glance['lastTurn']
  for (const { event } of scan.records()) {
    updatedAt = event.time
    title ??= titleOf(event)
    if (event.type === 'turn/start' || event.type === 'turn/end') lastTurn = turnAt(event)
  }
  return { length: scan.seq, updatedAt, title, lastTurn, damage: scan.damage, isWhole }
}

function turnAt({ type, data }: SessionEvent<'turn/start' | 'turn/end'>): Glance['lastTurn'] {
  const { turn } = (data ?? {}) as { turn?: unknown }
  return { turn: typeof turn === 'number' ? turn : 0, isOpen: type === 'turn/start' }
}

/** The first good record that begins behind `offset`. */
function firstRecordFrom(read: ReadAt, offset: number) {
  let isFirst = true
  for (const { buffer, start, end, offset: at } of readLines(read, offset)) {
    const event = isFirst ? undefined : (decodeRecord(buffer, start, end)?.value as SessionEvent | undefined)
    isFirst = false
    if (Number.isSafeInteger(event?.seq)) return { offset: at, seq: event!.seq, line: event!.seq + 2 }
  }
  return undefined
}
