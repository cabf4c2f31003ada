import {
  foldSurface,
  isKnownType,
  type SessionEvent,
  type SessionHeader,
  type SessionLandmarks,
  type SurfaceMarker,
} from '@palimpsest/session'
import { type Damage, PersistenceError } from '@palimpsest/session-persistence'
import type { Disk } from './disk.js'
import { O_RDONLY } from './disk.js'
import {
  assertHeaderLine,
  firstSeqOf,
  type HeaderLine,
  isHeaderDamage,
  type LogFile,
  openLogFile,
  readHeaderLine,
} from './log-file.js'
import type { Paths } from './paths.js'
import { type OnRecord, Segment, type SegmentOptions } from './segment.js'
import { markerOf, type Place, type PlacedMarker, type Stretch } from './stretch.js'

export interface ChainOptions {
  /** Look at every byte, whatever the indexes say. */
  readonly isWhole?: boolean
  readonly onRecord?: OnRecord
}

/** A session's log: its own file, below it the files whose prefixes it shares. Root first. */
export class Chain {
  /** Where the events of each segment end for this session; a fork of a prefix of a base skips what is between. */
  readonly #ends: readonly number[]

  constructor(readonly segments: readonly Segment[]) {
    this.#ends = segments.map((_, i) => Math.min(...segments.slice(i + 1).map(({ base }) => base)))
  }

  get own(): Segment {
    return this.segments.at(-1)!
  }

  get header(): SessionHeader {
    return this.own.header
  }

  /** Of the whole log, behind any hole. */
  get length(): number {
    return this.own.length
  }

  /** The seq of the first lost event; without a hole the length. */
  get soundLength(): number {
    return this.#firstHoled()?.soundLength ?? this.own.soundLength
  }

  get damage(): Damage[] {
    return this.segments.flatMap(({ damage }) => damage)
  }

  get isHoled(): boolean {
    return this.#firstHoled() !== undefined
  }

  /** The events of a half-open range before any hole. Exact, or it throws. */
  readEvents(from: number, to: number): SessionEvent[] {
    const [only] = this.segments
    if (this.segments.length === 1) return only!.readEvents(from, to)
    return this.segments.flatMap((segment, i) =>
      segment.readEvents(Math.max(from, segment.base), Math.min(to, this.#ends[i]!)),
    )
  }

  /** The checksum of a record before any hole, as it stands on its line. */
  crcOf(seq: number): string {
    return this.segments.find((_, i) => seq < this.#ends[i]!)!.crcOf(seq)
  }

  /** Runs `read` with the files open, and leaves them as they were. */
  withFiles<T>(read: () => T): T {
    const closed = this.segments.filter(({ file }) => !file.isOpen)
    try {
      for (const segment of closed) segment.reopen()
      return read()
    } finally {
      for (const { file } of closed) file.close()
    }
  }

  close(): void {
    for (const { file } of this.segments) file.close()
  }

  /** What a session needs of the part before any hole; reads the visible events and the open turn. */
  readLandmarks(): { landmarks: SessionLandmarks; unknown: { seq: number; type: string }[] } {
    const stretches = this.#soundSegments().flatMap(segment => segment.stretches)
    const placed = stretches.flatMap(({ markers }) => markers)
    const turns = stretches.flatMap(({ turns }) => turns)
    const turnEnd = stretches.findLast(({ turnEnd }) => turnEnd !== undefined)?.turnEnd ?? -1
    const lastTurn = turns.at(-1) ?? -1
    return {
      landmarks: {
        ...this.#readSurface(placed),
        headers: this.#readPlaced(({ headers }) => headers) as SessionLandmarks['headers'],
        turns,
        steps: stretches.flatMap(({ steps }) => steps),
        open: lastTurn > turnEnd ? this.readEvents(lastTurn, this.soundLength) : [],
      },
      unknown: stretches.flatMap(({ required }) =>
        [...required].filter(([type]) => !isKnownType(type)).map(([type, seq]) => ({ seq, type })),
      ),
    }
  }

  // --- internal ---

  #firstHoled(): Segment | undefined {
    return this.segments.find(
      ({ lostFrom, soundLength }, i) =>
        lostFrom !== undefined || (this.#ends[i]! < Number.POSITIVE_INFINITY && soundLength < this.#ends[i]!),
    )
  }

  #soundSegments(): readonly Segment[] {
    const holed = this.#firstHoled()
    return holed === undefined ? this.segments : this.segments.slice(0, this.segments.indexOf(holed) + 1)
  }

  /** The visible events, and all markers: a visible event is its own, with its sources; those of the others are read out of the runs. */
  #readSurface(placed: readonly PlacedMarker[]): Pick<SessionLandmarks, 'markers' | 'surface'> {
    if (placed.every(({ marker }) => marker.surfaceOp === 'append')) {
      const surface = this.#readPlaced(({ markers }) => markers)
      return { surface, markers: surface as readonly SessionEvent[] as readonly SurfaceMarker[] }
    }
    const visible = foldSurface(placed.map(({ marker }) => marker))
    const wanted = new Set(visible)
    const read = this.#readPlaced(({ markers }) => markers.filter(({ seq }) => wanted.has(seq)))
    const events = new Map(read.map(event => [event.seq, event]))
    return {
      surface: visible.map(seq => events.get(seq)!),
      markers: placed.map(place => (events.get(place.seq) as SurfaceMarker | undefined) ?? markerOf(place)),
    }
  }

  /** The events at these places of each stretch, in the order of the log. */
  #readPlaced(placesOf: (stretch: Stretch) => readonly Place[]): SessionEvent[] {
    return this.#soundSegments().flatMap(segment => segment.readPlaces(segment.stretches.flatMap(placesOf)))
  }
}

/** The session's own log file and its header line, or `undefined` where there is none. */
export function openOwnFile(disk: Disk, paths: Paths, id: string, flags: number) {
  const file = openLogFile(disk, paths.log(id), paths.index(id), flags)
  if (file === undefined) return undefined
  return closingOnFailure(file, () => ({ file, line: readHeaderLine(file.read) }))
}

/** The same, but only a log of this session in this format: `HEADER_DAMAGED`, `FORMAT_VERSION_UNSUPPORTED`. */
export function openOwnLog(disk: Disk, paths: Paths, id: string, flags: number) {
  const own = openOwnFile(disk, paths, id, flags)
  return own && closingOnFailure(own.file, () => ({ file: own.file, line: assertHeaderLine(own.line, id) }))
}

/**
 * Opens the bases of a fork and reads the whole chain. `PARENT_MISMATCH` where a base is missing, is
 * another session's, or ends its shared prefix with another record. Closes all files if it throws.
 */
export async function openChain(
  paths: Paths,
  own: { file: LogFile; line: HeaderLine },
  options: ChainOptions = {},
): Promise<Chain> {
  const files = [own]
  try {
    const { id } = own.line.header
    for (let depth = 1; firstSeqOf(files[0]!.line.header) > 0; depth++) {
      files.unshift(openBase(own.file.disk, paths, id, depth, files[0]!.line.header))
    }
    const segments: Segment[] = []
    for (const [i, { file, line }] of files.entries()) {
      segments.push(await Segment.open(file, line, segmentOptions(files, i, options)))
    }
    for (const [i, { line }] of files.entries()) {
      // Of a base that was forked further down, what lies above that place is nobody's business.
      const isNeeded = files.slice(i + 1).every(above => firstSeqOf(above.line.header) >= firstSeqOf(line.header))
      if (isNeeded) assertParent(segments.slice(0, i), line.header)
    }
    return new Chain(segments)
  } catch (error) {
    for (const { file } of files) file.close()
    throw error
  }
}

/** What a fork says when its base is not what it was forked from. */
export function mismatch({ id, parent }: SessionHeader, found: string): PersistenceError {
  return new PersistenceError(
    'PARENT_MISMATCH',
    `session "${id}" shares the first ${parent!.length} events of "${parent!.id}", the last with crc ${parent!.crc}; found ${found}; put the right .base file back`,
  )
}

// --- internal ---

function openBase(disk: Disk, paths: Paths, id: string, depth: number, child: SessionHeader) {
  const parent = child.parent!
  const path = paths.base(id, depth)
  const file = openLogFile(disk, path, paths.baseIndex(id, depth), O_RDONLY)
  if (file === undefined) throw mismatch(child, `no file ${path}`)
  return closingOnFailure(file, () => {
    const line = readHeaderLine(file.read)
    if (isHeaderDamage(line)) throw mismatch(child, `a damaged header in ${path}`)
    if (line.header.id !== parent.id) throw mismatch(child, `the log of ${JSON.stringify(line.header.id)} in ${path}`)
    return { file, line: assertHeaderLine(line, parent.id) }
  })
}

function segmentOptions(files: readonly { line: HeaderLine }[], i: number, options: ChainOptions): SegmentOptions {
  const limits = files.slice(i + 1).map(({ line }) => firstSeqOf(line.header))
  return limits.length === 0 ? options : { ...options, stopSeq: Math.min(...limits) }
}

/** `below` are the segments under the file with this header. A damaged record there is a hole, not another parent. */
function assertParent(below: readonly Segment[], header: SessionHeader): void {
  const { parent } = header
  if (parent === undefined || firstSeqOf(header) === 0 || below.some(({ damage }) => damage.length > 0)) return
  const last = below.findLast(({ base }) => base < parent.length)
  if (last === undefined || last.soundLength < parent.length) {
    throw mismatch(header, `${last?.soundLength ?? 0} events`)
  }
  const crc = last.crcOf(parent.length - 1)
  if (crc !== parent.crc) throw mismatch(header, `crc ${crc} on event ${parent.length - 1}`)
}

function closingOnFailure<T>(file: LogFile, work: () => T): T {
  try {
    return work()
  } catch (error) {
    file.close()
    throw error
  }
}
