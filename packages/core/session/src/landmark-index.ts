import { isSurfaceType } from './event-types.js'
import type { SessionEvent } from './events.js'
import type { SurfaceMarker } from './landmarks.js'

export type LandmarkType = 'turn/start' | 'step/start' | 'request/header'

/** Where the events stand that later questions start from; each list is in log order. */
export class LandmarkIndex {
  readonly markers: SurfaceMarker[] = []
  readonly seqs: ReadonlyMap<string, number[]> = new Map<LandmarkType, number[]>([
    ['turn/start', []],
    ['step/start', []],
    ['request/header', []],
  ])
  /** Where a marker was found last. */
  #found = -1

  note(event: SessionEvent): void {
    if (event.type === 'surface/restore' || isSurfaceType(event.type)) this.markers.push(event as SurfaceMarker)
    else this.seqs.get(event.type)?.push(event.seq)
  }

  /** The last one below `before`. */
  lastSeqOf(type: LandmarkType, before: number): number | undefined {
    const seqs = this.seqs.get(type)!
    return seqs[countBelow(seqs, before, seq => seq) - 1]
  }

  /** A new list. */
  markersBelow(length: number): SurfaceMarker[] {
    return this.markers.slice(
      0,
      countBelow(this.markers, length, marker => marker.seq),
    )
  }

  markerAt(seq: number): SurfaceMarker | undefined {
    // Events are mostly asked for in order: the next marker is a good guess.
    const guess = this.#found + 1
    this.#found = this.markers[guess]?.seq === seq ? guess : countBelow(this.markers, seq, other => other.seq)
    const marker = this.markers[this.#found]
    return marker?.seq === seq ? marker : undefined
  }

  /**
   * Whether an event is what the index says of its place. A turn or step that it does not list is found
   * by nobody, which is no lie; a request header that it does not list would give a wrong request.
   */
  agreesWith(event: SessionEvent): boolean {
    const { seq, type, surfaceOp } = event
    const marker = this.markerAt(seq)
    if (marker === event) return true
    if (marker !== undefined) return marker.type === type && isSameOp(marker.surfaceOp, surfaceOp)
    const listed = [...this.seqs.keys()].find(key => holds(this.seqs.get(key)!, seq))
    if (listed !== undefined) return listed === type
    return surfaceOp === undefined && type !== 'request/header'
  }

  /** A copy that knows only the first `length` events. */
  upTo(length: number): LandmarkIndex {
    const copy = new LandmarkIndex()
    for (const marker of this.markersBelow(length)) copy.markers.push(marker)
    for (const [type, seqs] of this.seqs) {
      const below = countBelow(seqs, length, seq => seq)
      for (let i = 0; i < below; i++) copy.seqs.get(type)!.push(seqs[i]!)
    }
    return copy
  }
}

// --- internal ---

function isSameOp(a: SessionEvent['surfaceOp'], b: SessionEvent['surfaceOp']): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

function holds(seqs: readonly number[], seq: number): boolean {
  return seqs[countBelow(seqs, seq, other => other)] === seq
}

/** How many entries of a rising list have a seq below `limit`. */
function countBelow<T>(list: readonly T[], limit: number, seqOf: (entry: T) => number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (seqOf(list[middle]!) < limit) low = middle + 1
    else high = middle
  }
  return low
}
