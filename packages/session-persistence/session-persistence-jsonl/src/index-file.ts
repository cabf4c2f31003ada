import { isSurfaceType } from '@palimpsest/session'
import { closeFile, type Disk, isErrno, O_RDONLY, openFile, readFully } from './disk.js'
import { type ReadAt, readLines } from './lines.js'
import { type Crc, crcText, decodeRecord, NEWLINE, type RecordBuffer } from './record.js'
import type { Place, PlacedMarker } from './stretch.js'
import { firstBlock, Stretch } from './stretch.js'

/** Smaller logs are always scanned whole. */
export const INDEX_FROM_BYTES = 256 * 1024
/** A checkpoint is written once this many events have none. */
export const CHECKPOINT_EVENTS = 4096

export interface StoredIndex {
  readonly stretches: Stretch[]
  /** How much of the file could be used; what follows is overwritten. */
  readonly bytes: number
}

/** The log that an index has to be of: the crc of its header line, the seq and the offset of its first record. */
export interface IndexedLog {
  readonly header: Crc
  readonly base: number
  readonly offset: number
}

/** The line of one stretch. `header` is the crc of the log's header line: an index of another log is no use. */
export function addCheckpoint(buffer: RecordBuffer, stretch: Stretch, header: Crc): void {
  const { from, to, offset, end, lastOffset, lastCrc, turnEnd } = stretch
  buffer.add({
    from,
    to,
    offset,
    end,
    last: [lastOffset, crcText(lastCrc)],
    header: crcText(header),
    markers: stretch.markers.map(({ marker, offset, bytes, runs }) =>
      runs === undefined
        ? [marker.seq, marker.type, marker.surfaceOp, offset, bytes]
        : [marker.seq, marker.type, marker.surfaceOp, offset, bytes, runs],
    ),
    headers: stretch.headers.map(({ seq, offset, bytes }) => [seq, offset, bytes]),
    turns: stretch.turns,
    steps: stretch.steps,
    ...(turnEnd !== undefined && { turnEnd }),
    offsets: stretch.offsets,
    required: [...stretch.required],
  })
}

/**
 * The stretches that an index holds for a log. Reads up to the first line that does not fit; says nothing
 * about whether the log still is what the index was made from.
 */
export function readIndex(disk: Disk, path: string, log: IndexedLog): StoredIndex {
  return usingIndex(disk, path, read => parseIndex(read, log)) ?? { stretches: [], bytes: 0 }
}

/**
 * The last stretch alone, from the end of the file: enough for who wants the end of the log. `undefined`
 * where that line does not fit; whether those before it lead up to it is not looked at.
 */
export function readNewest(disk: Disk, path: string, log: IndexedLog): { stretch: Stretch; bytes: number } | undefined {
  return usingIndex(disk, path, (read, size) => {
    const line = lastLine(read, size)
    const record = line && decodeRecord(line.buffer, line.start, line.end)
    if (record === undefined) return undefined
    const point = record.value as Checkpoint
    if (!(point.from >= log.base && point.offset >= log.offset)) return undefined
    const before = new Stretch(log.base, point.from, point.offset, { lastOffset: 0, lastCrc: log.header })
    const stretch = planStretch(point, before, log.header)
    return stretch && { stretch, bytes: line!.bytes }
  })
}

// --- internal ---

/** Most checkpoints are shorter. */
const TAIL_BYTES = 16 * 1024

/** Only a cache: one that cannot be read is as good as absent. */
function usingIndex<T>(disk: Disk, path: string, use: (read: ReadAt, size: number) => T): T | undefined {
  const fd = openIndex(disk, path)
  if (fd === undefined) return undefined
  try {
    return use((into, at) => readFully(disk, fd, into, at), disk.fstatSync(fd).size)
  } catch {
    return undefined
  } finally {
    closeFile(disk, fd)
  }
}

function parseIndex(read: ReadAt, { header, base, offset }: IndexedLog): StoredIndex {
  const stretches: Stretch[] = []
  let bytes = 0
  let last = new Stretch(base, base, offset, { lastOffset: 0, lastCrc: header })
  for (const line of readLines(read, 0)) {
    const record = line.terminated ? decodeRecord(line.buffer, line.start, line.end) : undefined
    const stretch = record && planStretch(record.value as Checkpoint, last, header)
    if (stretch === undefined) break
    stretches.push(stretch)
    bytes += line.bytes
    last = stretch
  }
  return { stretches, bytes }
}

/** The last line that has its newline; `bytes` counts the file up to its end. */
function lastLine(read: ReadAt, size: number) {
  for (let tail = TAIL_BYTES; ; tail *= 8) {
    const from = Math.max(0, size - tail)
    const buffer = Buffer.allocUnsafe(size - from)
    const filled = read(buffer, from)
    const end = filled === 0 ? -1 : buffer.lastIndexOf(NEWLINE, filled - 1)
    const before = end <= 0 ? -1 : buffer.lastIndexOf(NEWLINE, end - 1)
    if (before >= 0 || (from === 0 && end >= 0)) return { buffer, start: before + 1, end, bytes: from + end + 1 }
    if (from === 0) return undefined
  }
}

interface Checkpoint {
  from: number
  to: number
  offset: number
  end: number
  last: [number, string]
  header: string
  markers: [number, string, unknown, number, number, number[]?][]
  headers: [number, number, number][]
  turns: number[]
  steps: number[]
  turnEnd?: number
  offsets: number[]
  required: [string, number][]
}

function openIndex(disk: Disk, path: string): number | undefined {
  try {
    return openFile(disk, path, O_RDONLY)
  } catch (error) {
    if (isErrno(error, 'ELOOP', 'EACCES', 'EPERM', 'EISDIR', 'ENXIO', 'EIO')) return undefined
    throw error
  }
}

/** The checkpoint's stretch, if it goes on where `last` ended. Throws, or gives none, where its shape is not ours. */
function planStretch(point: Checkpoint, last: Stretch, header: Crc): Stretch | undefined {
  if (point.header !== crcText(header) || point.from !== last.to || point.offset !== last.end) return undefined
  const markers = isShaped(point) ? placeMarkers(point) : undefined
  if (markers === undefined) return undefined
  const { base } = last
  if (point.offsets.length !== firstBlock(point.to - base) - firstBlock(point.from - base)) return undefined
  const lastOffset = point.last[0]
  const lastCrc = Number.parseInt(point.last[1], 16)
  const stretch = new Stretch(base, point.from, point.offset, { lastOffset, lastCrc })
  return Object.assign(stretch, {
    to: point.to,
    end: point.end,
    markers,
    headers: point.headers.map(([seq, offset, bytes]): Place => ({ seq, offset, bytes })),
    turns: point.turns,
    steps: point.steps,
    turnEnd: point.turnEnd,
    offsets: point.offsets,
    required: new Map(point.required),
  })
}

/** A right crc says who wrote it down whole, not that it was a build that means the same: nothing may lie outside of the stretch. */
function isShaped({ from, to, offset, end, last, headers, turns, steps, turnEnd, offsets, required }: Checkpoint) {
  const isSeq = (seq: number) => isWithin(seq, from, to)
  const isPlace = (at: number, bytes: number) => isWithin(at, offset, end) && isWithin(at + bytes - 1, at, end)
  return (
    [to, end].every(Number.isSafeInteger) &&
    isPlace(last[0], end - last[0]) &&
    [headers.map(([seq]) => seq), turns, steps].every(seqs => isRising(seqs, from, to)) &&
    isRising(offsets, offset, end) &&
    headers.every(([, at, bytes]) => isPlace(at, bytes)) &&
    (turnEnd === undefined || isSeq(turnEnd)) &&
    required.every(([type, seq]) => typeof type === 'string' && isSeq(seq))
  )
}

/**
 * The markers of a checkpoint, or `undefined` where one is not ours. There are as many as surface events,
 * and this is most of what a look at a large log costs: one plain pass.
 */
function placeMarkers({ from, to, offset, end, markers }: Checkpoint): PlacedMarker[] | undefined {
  if (!Array.isArray(markers)) return undefined
  const placed: PlacedMarker[] = []
  let next = from
  for (let i = 0; i < markers.length; i++) {
    const entry = markers[i]!
    const seq = entry[0]
    const type = entry[1]
    const at = entry[3]
    const bytes = entry[4]
    const runs = entry[5]
    if (!isWithin(seq, next, to) || !isWithin(at, offset, end) || !isWithin(at + bytes - 1, at, end)) return undefined
    if (!isMarker(type) || (runs !== undefined && !areRuns(runs, seq))) return undefined
    const marker = { seq, type, surfaceOp: entry[2] } as PlacedMarker['marker']
    placed.push(runs === undefined ? { seq, offset: at, bytes, marker } : { seq, offset: at, bytes, marker, runs })
    next = seq + 1
  }
  return placed
}

function isWithin(value: number, from: number, to: number): boolean {
  return Number.isSafeInteger(value) && value >= from && value < to
}

function isRising(list: readonly number[], from: number, to: number): boolean {
  if (!Array.isArray(list)) return false
  let next = from
  for (let i = 0; i < list.length; i++) {
    if (!isWithin(list[i]!, next, to)) return false
    next = list[i]! + 1
  }
  return true
}

function isMarker(type: string): boolean {
  return type === 'surface/restore' || isSurfaceType(type)
}

function areRuns(runs: readonly number[], before: number): boolean {
  for (let i = 0; i < runs.length; i++) {
    if (!isWithin(runs[i]!, i % 2 === 0 ? 0 : runs[i - 1]!, before)) return false
  }
  return runs.length % 2 === 0
}
