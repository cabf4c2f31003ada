import { setImmediate as pause } from 'node:timers/promises'
import { parseFrozen, type SessionEvent, type SessionHeader } from '@palimpsest/session'
import type { Damage } from '@palimpsest/session-persistence'
import { INDEX_FROM_BYTES, type IndexedLog, readIndex, readNewest } from './index-file.js'
import { readLines } from './lines.js'
import { firstSeqOf, type HeaderLine, isHeaderDamage, type LogFile, readHeaderLine } from './log-file.js'
import { type Crc, crcText, decodeRecord } from './record.js'
import { Scan, type ScannedRecord } from './scan.js'
import { firstBlock, OFFSET_EVERY, type Place, Stretch } from './stretch.js'

export type OnRecord = (record: ScannedRecord) => Promise<void> | void

export interface SegmentOptions {
  /** The events from this seq on belong to somebody else: a fork shares only a prefix of its base. */
  readonly stopSeq?: number
  /** Look at every byte, whatever the index says. */
  readonly isWhole?: boolean
  /** Told of every record that is scanned, in order; the scan waits for what it returns. */
  readonly onRecord?: OnRecord
}

/** The records of one log file: where they stand, and what is wrong with the rest. */
export class Segment {
  readonly damage: Damage[]
  /** The next seq of the file, behind any hole. */
  readonly length: number
  /** The first seq lost in a hole. */
  readonly lostFrom: number | undefined
  readonly tailFrom: number
  /** The landmarks that have no checkpoint yet, up to the first hole. */
  current: Stretch
  /** How much of the index file is good. */
  indexBytes: number
  readonly #past: Stretch[]
  /** Reads what lies before `#past`; gone once that was done. */
  #readEarlier: (() => Stretch[]) | undefined
  /** Offsets found by a scan, once the others turned out wrong. */
  #found: number[] | undefined

  /** The byte behind the last good record; equal to `current.end` unless there is a hole. */
  readonly scannedEnd: number
  isTerminated: boolean

  private constructor(
    readonly file: LogFile,
    readonly line: HeaderLine,
    readonly base: number,
    known: Checkpoints & { current: Stretch },
    scan: Pick<Scan, 'damage' | 'seq' | 'lostFrom' | 'tailFrom' | 'end' | 'isTerminated'>,
  ) {
    this.#past = [...known.past]
    this.#readEarlier = known.readEarlier
    this.current = known.current
    this.indexBytes = known.indexBytes
    this.damage = scan.damage
    this.length = scan.seq
    this.lostFrom = scan.lostFrom
    this.tailFrom = scan.tailFrom
    this.scannedEnd = scan.end
    this.isTerminated = scan.isTerminated
  }

  /** Of a file that was just made and holds these records. */
  static made(file: LogFile, line: HeaderLine, records: readonly ScannedRecord[]): Segment {
    const base = firstSeqOf(line.header)
    const current = new Stretch(base, base, line.end, { lastOffset: 0, lastCrc: line.crc })
    for (const record of records) current.add(record)
    const { to: seq, end } = current
    const scan = { damage: [], seq, lostFrom: undefined, tailFrom: 0, end, isTerminated: true }
    return new Segment(file, line, base, { ...NO_CHECKPOINTS, current }, scan)
  }

  /** Reads what the index says, checks that it speaks of this log, and scans the rest. */
  static async open(file: LogFile, line: HeaderLine, options: SegmentOptions = {}): Promise<Segment> {
    const base = firstSeqOf(line.header)
    const known = (options.isWhole ? undefined : boundIndex(file, line, base, options.stopSeq)) ?? NO_CHECKPOINTS
    const first = new Stretch(base, base, line.end, { lastOffset: 0, lastCrc: line.crc })
    const current = known.past.at(-1)?.next() ?? first
    const scan = scanFrom(file, current, options.stopSeq)
    if (current.from === base) scan.isTerminated = line.isTerminated
    await drain(scan, record => {
      if (scan.lostFrom === undefined) current.add(record)
      return options.onRecord?.(record)
    })
    return new Segment(file, line, base, { ...known, current }, scan)
  }

  get header(): SessionHeader {
    return this.line.header
  }

  /** How many events can be read without a gap, counted from the root of the fork chain. */
  get soundLength(): number {
    return this.current.to
  }

  /** The landmarks that have checkpoints. Throws where the index turns out not to lead up to its newest one. */
  get past(): readonly Stretch[] {
    if (this.#readEarlier !== undefined) this.#past.unshift(...this.#readEarlier())
    this.#readEarlier = undefined
    return this.#past
  }

  /** Whether there is an index to speak of; what it is worth shows when it is read. */
  get isIndexed(): boolean {
    return this.#past.length > 0
  }

  get stretches(): readonly Stretch[] {
    return [...this.past, this.current]
  }

  /** The current stretch has its checkpoint: a new one begins. */
  turnPage(): void {
    this.#past.push(this.current)
    this.current = this.current.next()
  }

  /** The events of a half-open range that lies before any hole. Exact, or it throws. */
  readEvents(from: number, to: number): SessionEvent[] {
    return from >= to ? [] : this.#surely(to, () => this.#readEvents(from, to))
  }

  /** A record from which the one of `seq` is reached by going on: of its block, of the last block, or the first of the file where the index does not lead there. */
  blockOf(seq: number): { seq: number; offset: number } {
    const blocks = firstBlock(this.current.to - this.base)
    const block = Math.min(Math.floor((seq - this.base) / OFFSET_EVERY), blocks - 1)
    const offset = blocks === 0 ? undefined : this.#indexedOffsetAt(block)
    return offset === undefined
      ? { seq: this.base, offset: this.line.end }
      : { seq: this.base + block * OFFSET_EVERY, offset }
  }

  /** The events at known places, which must be in the order of the file. */
  readPlaces(places: readonly Place[]): SessionEvent[] {
    const events: SessionEvent[] = []
    let window: Buffer = Buffer.alloc(0)
    for (let i = 0; i < places.length; ) {
      const start = places[i]!.offset
      let next = i
      let end = start
      for (; next < places.length; next++) {
        const { offset, bytes } = places[next]!
        if (next > i && (offset - end > LARGEST_GAP_BYTES || offset + bytes - start > WINDOW_BYTES)) break
        end = offset + bytes
      }
      if (window.length < end - start) window = Buffer.allocUnsafe(Math.max(end - start, FIRST_WINDOW_BYTES))
      const bytes = window.subarray(0, this.file.read(window.subarray(0, end - start), start))
      for (; i < next; i++) events.push(eventIn(bytes, places[i]!, start))
    }
    return events
  }

  /** Opens a closed file again; a takeover may have put a copy there, a removal and a creation another log. */
  reopen(): void {
    this.file.reopen()
    const line = readHeaderLine(this.file.read)
    if (isHeaderDamage(line) || line.crc !== this.line.crc) throw unreadable(this.file.path, this.base)
  }

  /** The checksum of a record, as it stands on its line. */
  crcOf(seq: number): string {
    return this.#surely(seq + 1, () => {
      let crc: Crc | undefined
      this.#walk(seq, seq + 1, record => (crc = record.crc))
      if (crc === undefined) throw unreadable(this.file.path, seq)
      return crcText(crc)
    })
  }

  // --- internal ---

  /** Looks for events below `to` where the index has them, and where that was wrong once more: the log itself decides. */
  #surely<T>(to: number, look: () => T): T {
    try {
      return look()
    } catch {
      this.#findOffsets(to)
      return look()
    }
  }

  #readEvents(from: number, to: number): SessionEvent[] {
    const events: SessionEvent[] = []
    this.#walk(from, to, record => {
      if (record.event.seq !== from + events.length) throw unreadable(this.file.path, from + events.length)
      events.push(record.event)
    })
    if (events.length !== to - from) throw unreadable(this.file.path, from + events.length)
    return events
  }

  /** Goes from the last known offset at or before `from` line by line, and looks at what they hold from there on. */
  #walk(from: number, to: number, onRecord: (record: ScannedRecord) => void): void {
    const block = Math.floor((from - this.base) / OFFSET_EVERY)
    const offset = this.#offsetAt(block)
    if (offset === undefined) throw unreadable(this.file.path, from)
    const stopOffset = this.#offsetAt(Math.ceil((to - this.base) / OFFSET_EVERY)) ?? this.current.end
    const first = this.base + block * OFFSET_EVERY
    // Where lines and records turned out not to agree they are all looked at.
    const seq = this.#found === undefined ? from : first
    const scan = new Scan(this.file.read, {
      offset: skipLines(this.file, offset, stopOffset, seq - first),
      stopOffset,
      seq,
      stopSeq: to,
      line: lineOf(this.base, seq),
    })
    for (const record of scan.records()) if (record.event.seq >= from) onRecord(record)
  }

  #offsetAt(block: number): number | undefined {
    if (this.#found !== undefined) return this.#found[block]
    const isAt = ({ from }: Stretch) => firstBlock(from - this.base) <= block
    const stretch = isAt(this.current) ? this.current : (this.#past.findLast(isAt) ?? this.past.findLast(isAt))
    return stretch?.offsets[block - firstBlock(stretch.from - this.base)]
  }

  #indexedOffsetAt(block: number): number | undefined {
    try {
      return this.#offsetAt(block)
    } catch {
      return undefined
    }
  }

  #findOffsets(to: number): void {
    const found = new Stretch(this.base, this.base, this.line.end, { lastOffset: 0, lastCrc: this.line.crc })
    for (const record of scanFrom(this.file, found, to).records()) found.add(record)
    this.#found = found.offsets
  }
}

// --- internal ---

const FIRST_WINDOW_BYTES = 64 * 1024
const WINDOW_BYTES = 1024 * 1024
/** Reading over a small gap costs less than another call. */
const LARGEST_GAP_BYTES = 4096
/** How much is scanned before others get their turn. */
const PAUSE_EVERY_BYTES = 4 * 1024 * 1024

function scanFrom(file: LogFile, { to, end, base }: Stretch, stopSeq?: number): Scan {
  const start = { offset: end, seq: to, line: lineOf(base, to) }
  return new Scan(file.read, stopSeq === undefined ? start : { ...start, stopSeq })
}

/** In a sound file: the header, then one record a line. */
function lineOf(base: number, seq: number): number {
  return seq - base + 2
}

/** Where the line begins that is `count` lines behind the one at `offset`. */
function skipLines(file: LogFile, offset: number, end: number, count: number): number {
  if (count === 0) return offset
  let skipped = 0
  for (const line of readLines(file.read, offset, end)) {
    skipped += 1
    if (skipped === count) return line.offset + line.bytes
  }
  return offset
}

async function drain(scan: Scan, onRecord: OnRecord): Promise<void> {
  let paused = scan.end
  for (const record of scan.records()) {
    const held = onRecord(record)
    if (held !== undefined) await held
    if (scan.end - paused < PAUSE_EVERY_BYTES) continue
    paused = scan.end
    await pause()
  }
}

/** What an index knows of a log: its newest stretches, and how to get those before them. */
interface Checkpoints {
  readonly past: readonly Stretch[]
  readonly readEarlier?: () => Stretch[]
  readonly indexBytes: number
}

const NO_CHECKPOINTS: Checkpoints = { past: [], indexBytes: 0 }

/** The index, if its last checkpoint names a record that is still there, letter by letter and with its newline. */
function boundIndex(file: LogFile, line: HeaderLine, base: number, stopSeq?: number): Checkpoints | undefined {
  const { size } = file.disk.fstatSync(file.fd)
  if (size < INDEX_FROM_BYTES) return undefined
  const known = readCheckpoints(file, { header: line.crc, base, offset: line.end }, stopSeq)
  const last = known.past.at(-1)
  return last === undefined || last.end > size || !isBound(file, last) ? undefined : known
}

/** Of most logs the newest checkpoint alone is read; those that end with it are asked for when they are needed. */
function readCheckpoints({ disk, indexPath }: LogFile, log: IndexedLog, stopSeq = Number.POSITIVE_INFINITY) {
  const newest = readNewest(disk, indexPath, log)
  if (newest === undefined || newest.stretch.to > stopSeq) {
    const { stretches, bytes } = readIndex(disk, indexPath, log)
    while (stretches.length > 0 && stretches.at(-1)!.to > stopSeq) stretches.pop()
    return { past: stretches, indexBytes: bytes }
  }
  const { stretch, bytes } = newest
  const readEarlier = () => {
    const { stretches } = readIndex(disk, indexPath, log)
    const at = stretches.findIndex(
      ({ from, to, lastCrc }) => from === stretch.from && to === stretch.to && lastCrc === stretch.lastCrc,
    )
    if (at < 0) throw new Error(`${indexPath}: its checkpoints do not lead up to event ${stretch.to - 1}`)
    return stretches.slice(0, at)
  }
  return { past: [stretch], readEarlier, indexBytes: bytes }
}

function isBound(file: LogFile, { lastOffset, lastCrc, end, to }: Stretch): boolean {
  const bytes = Buffer.allocUnsafe(end - lastOffset)
  if (file.read(bytes, lastOffset) !== bytes.length) return false
  const record = decodeRecord(bytes, 0, bytes.length - 1)
  return record?.crc === lastCrc && (record.value as SessionEvent).seq === to - 1
}

function eventIn(bytes: Buffer, { seq, offset, bytes: length }: Place, start: number): SessionEvent {
  const end = offset - start + length
  const record = decodeRecord(bytes, offset - start, bytes[end - 1] === 0x0a ? end - 1 : end, parseFrozen)
  const event = record?.value as SessionEvent | undefined
  if (event?.seq !== seq) throw new Error(`event ${seq} does not stand at byte ${offset}, where the index has it`)
  return event
}

function unreadable(path: string, seq: number): Error {
  return new Error(`${path}: event ${seq} cannot be read from where it stood; check the session with doctor`)
}
