import { type Chain, openChain, openOwnLog } from './chain.js'
import type { Directory } from './directory.js'
import { O_RDONLY } from './disk.js'
import type { LogFile } from './log-file.js'
import { type Crc, crcText, TAIL_BYTES } from './record.js'
import { Scan, type ScannedRecord } from './scan.js'

/** The next records of a log, read but not yet passed. */
export interface Page {
  readonly records: readonly ScannedRecord[]
  /** Where the cursor goes on if the page is taken. */
  readonly next: Position
  /** The log goes on behind the page, but not with the next seq. */
  readonly isHoled: boolean
  /** The file ends behind the page, in the middle of a record. */
  readonly isTorn: boolean
}

interface Position {
  /** The file, root first. */
  readonly part: number
  readonly offset: number
  /** Of the record expected there. */
  readonly seq: number
  /** The record in front, if it was read from this file. */
  readonly last?: ScannedRecord
}

/** Goes through the records of a session's files, root first. Says nothing of whether they stay. */
export class Cursor {
  /** Of the session's own file; while it is open its number is not given away. */
  readonly inode: number
  readonly headerCrc: Crc
  readonly #parts: readonly Part[]
  #at: Position

  private constructor(chain: Chain, seq: number) {
    const { file, line } = chain.own
    this.inode = file.disk.fstatSync(file.fd).ino
    this.headerCrc = line.crc
    this.#parts = partsOf(chain)
    this.#at = placeOf(chain, this.#parts, seq)
  }

  /** At a block that begins at or before `seq`, found through the index unless `isWhole`. `undefined`: no such session. */
  static async open(
    { disk, paths }: Directory,
    id: string,
    seq: number,
    isWhole: boolean,
  ): Promise<Cursor | undefined> {
    const own = openOwnLog(disk, paths, id, O_RDONLY)
    return own && new Cursor(await openChain(paths, own, { isWhole }), seq)
  }

  /** The next seq in the file. */
  get seq(): number {
    return this.#at.seq
  }

  /** Whether the record passed last still stands where it was read. */
  isAnchored(): boolean {
    const { part, last } = this.#at
    if (last === undefined) return true
    const end = Buffer.alloc(TAIL_BYTES + 1)
    const bytes = this.#parts[part]!.file.read(end, last.offset + last.bytes - end.length)
    return end
      .toString('latin1', 0, bytes)
      .trimEnd()
      .endsWith(`,"crc":"${crcText(last.crc)}"}`)
  }

  /**
   * At most a page; of the session's own file only what ends at or before the byte `limit`. Holes below
   * the seq `from` do not matter.
   */
  read(limit: number, from: number): Page {
    const records: ScannedRecord[] = []
    let next = this.#at
    let bytes = 0
    for (;;) {
      const { file, stop } = this.#parts[next.part]!
      const isOwn = stop === Number.POSITIVE_INFINITY
      const scan = new Scan(file.read, { offset: next.offset, seq: next.seq, line: 1, stopSeq: stop })
      for (const record of scan.records()) {
        const end = record.offset + record.bytes
        const { seq } = record.event
        if (isOwn && end > limit) return { records, next, isHoled: false, isTorn: false }
        if (seq !== next.seq && seq > from) return { records, next, isHoled: true, isTorn: false }
        records.push(record)
        bytes += record.bytes
        next = { part: next.part, offset: end, seq: seq + 1, last: record }
        if (records.length >= PAGE_EVENTS || bytes >= PAGE_BYTES) break
      }
      if (next.seq < stop) return { records, next, isHoled: !isOwn && records.length === 0, isTorn: isTorn(scan) }
      next = { part: next.part + 1, offset: this.#parts[next.part + 1]!.start, seq: next.seq }
    }
  }

  /** Passes a page. Files that are done with are closed. */
  pass({ next }: Page): void {
    for (const { file } of this.#parts.slice(this.#at.part, next.part)) file.close()
    this.#at = next
  }

  close(): void {
    for (const { file } of this.#parts) file.close()
  }
}

// --- internal ---

/** What one page may bring into memory; a record larger than this is a page of its own. */
const PAGE_EVENTS = 2000
const PAGE_BYTES = 1024 * 1024

interface Part {
  readonly file: LogFile
  /** Of the first record. */
  readonly start: number
  /** The first seq that this file does not give any more; a fork shares only a prefix of its base. */
  readonly stop: number
}

function partsOf({ segments }: Chain): Part[] {
  return segments.map(({ file, line }, i) => {
    const stop = Math.min(...segments.slice(i + 1).map(({ base }) => base))
    return { file, start: line.end, stop }
  })
}

/** The block with the record in front of `seq`; where the log is shorter, its last one. */
function placeOf({ segments }: Chain, parts: readonly Part[], seq: number): Position {
  const wanted = Math.max(0, seq - 1)
  const part = parts.findIndex(({ stop }) => wanted < stop)
  return { part, ...segments[part]!.blockOf(wanted) }
}

function isTorn({ damage }: Scan): boolean {
  return damage.at(-1)?.code === 'RECORD_TORN'
}
