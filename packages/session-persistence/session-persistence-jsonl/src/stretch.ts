import { isSurfaceType, type SessionEvent, type SurfaceMarker } from '@palimpsest/session'
import type { Crc } from './record.js'
import type { ScannedRecord } from './scan.js'

/** Every how many events an offset is kept, so that any event is found within one small read. */
export const OFFSET_EVERY = 128

/** Of the offsets that a file's index keeps, the first one that is not of an event before its `count`-th. */
export function firstBlock(count: number): number {
  return Math.ceil(count / OFFSET_EVERY)
}

/** Where an event stands in its file. */
export interface Place {
  readonly seq: number
  readonly offset: number
  readonly bytes: number
}

export interface PlacedMarker extends Place {
  readonly marker: Omit<SurfaceMarker, 'sourceEventSeqs'>
  /** The sources as runs: `[first, last, first, last, …]`. */
  readonly runs?: readonly number[]
}

/**
 * The landmarks of neighbouring records of one file, and where they stand. Grows at its end; the index
 * keeps one checkpoint a stretch.
 */
export class Stretch {
  to: number
  end: number
  /** Of the last record; that of the stretch before while this one is empty. */
  lastOffset: number
  lastCrc: Crc
  readonly markers: PlacedMarker[] = []
  readonly headers: Place[] = []
  readonly turns: number[] = []
  readonly steps: number[] = []
  /** The last `turn/end`. */
  turnEnd: number | undefined
  /** Of every `OFFSET_EVERY`-th event, counted from the first one of the file. */
  readonly offsets: number[] = []
  /** The first seq of each type among the events that are not `ignorable`. */
  readonly required = new Map<string, number>()

  /** `base` is the seq of the file's first record. */
  constructor(
    readonly base: number,
    readonly from: number,
    readonly offset: number,
    last: { lastOffset: number; lastCrc: Crc },
  ) {
    this.to = from
    this.end = offset
    this.lastOffset = last.lastOffset
    this.lastCrc = last.lastCrc
  }

  /** The empty stretch behind this one. */
  next(): Stretch {
    return new Stretch(this.base, this.to, this.end, this)
  }

  add({ event, offset, bytes, crc }: ScannedRecord): void {
    const { seq, type } = event
    if ((seq - this.base) % OFFSET_EVERY === 0) this.offsets.push(offset)
    if (!event.ignorable && !this.required.has(type)) this.required.set(type, seq)
    this.to = seq + 1
    this.end = offset + bytes
    this.lastOffset = offset
    this.lastCrc = crc
    if (type === 'assistant/chunk') return
    if (type === 'request/header') this.headers.push({ seq, offset, bytes })
    else if (type === 'turn/start') this.turns.push(seq)
    else if (type === 'turn/end') this.turnEnd = seq
    else if (type === 'step/start') this.steps.push(seq)
    else if (type === 'surface/restore' || isSurfaceType(type)) this.markers.push(placeMarker(event, offset, bytes))
  }
}

export function markerOf({ marker, runs }: PlacedMarker): SurfaceMarker {
  return runs === undefined ? marker : { ...marker, sourceEventSeqs: expandRuns(runs) }
}

// --- internal ---

function placeMarker(event: SessionEvent, offset: number, bytes: number): PlacedMarker {
  const { seq, type, surfaceOp, sourceEventSeqs } = event
  const marker = { seq, type, surfaceOp } as PlacedMarker['marker']
  const place = { seq, offset, bytes, marker }
  return sourceEventSeqs === undefined ? place : { ...place, runs: foldRuns(sourceEventSeqs) }
}

/** Keeps the order, so that what comes back is what was there. */
function foldRuns(seqs: readonly number[]): number[] {
  const runs: number[] = []
  for (const seq of seqs) {
    if (runs.length > 0 && runs.at(-1) === seq - 1) runs[runs.length - 1] = seq
    else runs.push(seq, seq)
  }
  return runs
}

function expandRuns(runs: readonly number[]): number[] {
  const seqs: number[] = []
  for (let i = 0; i < runs.length; i += 2) for (let seq = runs[i]!; seq <= runs[i + 1]!; seq++) seqs.push(seq)
  return seqs
}
