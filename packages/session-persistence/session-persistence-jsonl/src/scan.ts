import type { SessionEvent } from '@palimpsest/session'
import type { Damage, DamageCode } from '@palimpsest/session-persistence'
import { splitGlued } from './glued.js'
import { type Line, type ReadAt, readLines } from './lines.js'
import { type Crc, decodeRecord } from './record.js'

/** A trusted record: right tail, right form, the next seq or a later one. */
export interface ScannedRecord {
  readonly event: SessionEvent
  readonly offset: number
  /** With its newline where it has one. */
  readonly bytes: number
  readonly crc: Crc
}

export interface ScanStart {
  readonly offset: number
  /** Of the record expected there. */
  readonly seq: number
  /** Counted from 1; the header is line 1. */
  readonly line: number
  /** The scan ends before the record of this seq. */
  readonly stopSeq?: number
  /** The scan ends at this byte. */
  readonly stopOffset?: number
  /** Makes the event of a record's text; throws on what is no JSON. Default `JSON.parse`. */
  readonly parse?: (text: string) => unknown
}

/**
 * Walks the records of a log file and says what is wrong with it. While `records()` runs, the fields
 * describe everything up to the record that was given last; at its end, the whole file.
 */
export class Scan {
  readonly damage: Damage[] = []
  /** The next seq: one more than the last good record's. */
  seq: number
  /** The byte behind the last good record and its newline. */
  end: number
  /** Whether that newline is there. */
  isTerminated = true
  /** The first seq that good records follow although it is lost. */
  lostFrom: number | undefined
  /** Entries of `damage` from here on lie behind the last good record: the tail. */
  tailFrom = 0
  readonly #read: ReadAt
  readonly #start: ScanStart
  #line: number
  /** Where `end` is. */
  #endLine: number

  constructor(read: ReadAt, start: ScanStart) {
    this.#read = read
    this.#start = start
    this.seq = start.seq
    this.end = start.offset
    this.#line = start.line
    this.#endLine = start.line
  }

  *records(): Generator<ScannedRecord, void> {
    const { offset, stopOffset, stopSeq = Number.POSITIVE_INFINITY } = this.#start
    if (this.seq >= stopSeq) return
    for (const line of readLines(this.#read, offset, stopOffset)) {
      let end = line.offset + line.bytes
      for (const record of this.#recordsOf(line)) {
        end = record.offset + record.bytes
        if (record.event.seq >= stopSeq) return this.#reportLost()
        if (this.#accept(record, line)) yield record
        if (this.seq >= stopSeq) return
      }
      this.#reportRest(line, end)
      this.#line += 1
    }
    if (stopSeq < Number.POSITIVE_INFINITY) this.#reportLost()
  }

  // --- internal ---

  #recordsOf(line: Line): readonly ScannedRecord[] {
    const record = decodeRecord(line.buffer, line.start, line.end, this.#start.parse)
    if (record !== undefined) {
      if (isEvent(record.value))
        return [{ event: record.value, offset: line.offset, bytes: line.bytes, crc: record.crc }]
      this.#report(line.terminated ? 'RECORD_DAMAGED' : 'RECORD_TORN', line.offset, line.bytes)
      return NONE
    }
    const pieces = splitGlued(line).filter(piece => isEvent(piece.value))
    const last = pieces.at(-1)
    if (last === undefined) {
      this.#report(line.terminated ? 'RECORD_DAMAGED' : 'RECORD_TORN', line.offset, line.bytes)
      return NONE
    }
    const lost = last.offset + last.bytes - line.offset - pieces.reduce((sum, { bytes }) => sum + bytes, 0)
    if (lost > 0 || pieces.length > 1) this.#report('RECORD_GLUED', line.offset, lost)
    return pieces.map(({ value, ...piece }) => ({ ...piece, event: value as SessionEvent }))
  }

  /** Whether the record counts; one whose seq the log already had does not. */
  #accept(record: ScannedRecord, line: Line): boolean {
    const { seq } = record.event
    if (seq < this.seq) {
      this.#report('SEQ_REPEATED', record.offset, record.bytes)
      return false
    }
    if (seq > this.seq) {
      const where = { line: this.#endLine, offset: this.end, seq: this.seq }
      this.damage.push({ code: 'LOG_HOLE', where, bytes: record.offset - this.end, kept: null })
      this.lostFrom ??= this.seq
    }
    this.seq = seq + 1
    this.end = record.offset + record.bytes
    this.isTerminated = line.terminated && this.end === line.offset + line.bytes
    this.#endLine = this.isTerminated ? this.#line + 1 : this.#line
    this.tailFrom = this.damage.length
    return true
  }

  /** What a line holds behind its last record is no part of that one: at the end of a log it is tail. */
  #reportRest({ offset, bytes, terminated }: Line, from: number): void {
    const rest = offset + bytes - from
    if (rest > 0) this.#report(terminated ? 'RECORD_DAMAGED' : 'RECORD_TORN', from, rest)
  }

  /** Bad bytes in front of where the scan had to get to are a hole too. */
  #reportLost(): void {
    const bad = this.damage.slice(this.tailFrom)
    if (bad.length === 0) return
    const where = { line: this.#endLine, offset: this.end, seq: this.seq }
    this.damage.push({ code: 'LOG_HOLE', where, bytes: bad.reduce((sum, { bytes }) => sum + bytes, 0), kept: null })
    this.lostFrom ??= this.seq
  }

  /** Neighbours of one kind make one entry, so that a long bad stretch stays one line of a report. */
  #report(code: DamageCode, offset: number, bytes: number): void {
    const last = this.damage.at(-1)
    if (last?.code === code && last.where.offset! + last.bytes === offset) {
      last.bytes += bytes
      return
    }
    const where = { line: this.#line, offset, seq: this.seq }
    this.damage.push({
      code,
      where,
      bytes,
      kept: null,
      ...(code === 'RECORD_DAMAGED' && { mayHaveBeenAcknowledged: true }),
    })
  }
}

// --- internal ---

const NONE: readonly ScannedRecord[] = []

/** Of the right form, whatever it means: that is the kernel's to judge. */
function isEvent(value: object): value is SessionEvent {
  const { seq, type, time, sourceEventSeqs } = value as Partial<SessionEvent>
  if (!Number.isSafeInteger(seq) || seq! < 0 || typeof type !== 'string' || !Number.isFinite(time)) return false
  if (sourceEventSeqs !== undefined && !Array.isArray(sourceEventSeqs)) return false
  return !Object.is(seq, -0) && !Object.is(time, -0)
}
