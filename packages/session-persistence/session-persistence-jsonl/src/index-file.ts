import { isSurfaceType } from '@palimpsest/session'
import { closeFile, type Disk, isErrno, O_RDONLY, openFile, readFully } from './disk.js'
import { readLines } from './lines.js'
import { type Crc, crcText, decodeRecord, type RecordBuffer } from './record.js'
import type { Place, PlacedMarker } from './stretch.js'
import { OFFSET_EVERY, Stretch } from './stretch.js'

/** Smaller logs are always scanned whole. */
export const INDEX_FROM_BYTES = 256 * 1024
/** A checkpoint is written once this many events have none. */
export const CHECKPOINT_EVENTS = 4096

export interface StoredIndex {
  readonly stretches: Stretch[]
  /** How much of the file could be used; what follows is overwritten. */
  readonly bytes: number
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
 * The stretches that an index holds for the log whose header line has the crc `header` and whose first
 * record has the seq `base` and the offset `offset`. Reads up to the first line that does not fit;
 * says nothing about whether the log still is what the index was made from.
 */
export function readIndex(disk: Disk, path: string, header: Crc, base: number, offset: number): StoredIndex {
  const fd = openIndex(disk, path)
  if (fd === undefined) return { stretches: [], bytes: 0 }
  try {
    const { ino, size, mtimeMs } = disk.fstatSync(fd)
    const key = [path, ino, size, mtimeMs, header, base, offset].join()
    if (lastRead?.key !== key) lastRead = { key, index: parseIndex(disk, fd, header, base, offset) }
    return { ...lastRead.index, stretches: [...lastRead.index.stretches] }
  } catch {
    // Only a cache: what cannot be read is as good as absent.
    return { stretches: [], bytes: 0 }
  } finally {
    closeFile(disk, fd)
  }
}

// --- internal ---

/** Who opens a session has just looked at it: the same index would be parsed twice. Finished stretches never change. */
let lastRead: { key: string; index: StoredIndex } | undefined

function parseIndex(disk: Disk, fd: number, header: Crc, base: number, offset: number): StoredIndex {
  const stretches: Stretch[] = []
  let bytes = 0
  let last = new Stretch(base, base, offset, { lastOffset: 0, lastCrc: header })
  for (const line of readLines((into, at) => readFully(disk, fd, into, at), 0)) {
    const record = line.terminated ? decodeRecord(line.buffer, line.start, line.end) : undefined
    const stretch = record && planStretch(record.value as Checkpoint, last, header)
    if (stretch === undefined) break
    stretches.push(stretch)
    bytes += line.bytes
    last = stretch
  }
  return { stretches, bytes }
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
  if (point.offsets.length !== offsetsBelow(point.to - base) - offsetsBelow(point.from - base)) return undefined
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

function offsetsBelow(events: number): number {
  return Math.ceil(events / OFFSET_EVERY)
}
