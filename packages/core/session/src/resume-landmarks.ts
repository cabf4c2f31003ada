import { SessionError } from './errors.js'
import type { SessionEvent } from './events.js'
import { LandmarkIndex, type LandmarkType } from './landmark-index.js'
import type { SessionLandmarks, SurfaceMarker } from './landmarks.js'
import { isParsedFrozen } from './parse-frozen.js'

/** The index of a stored log, from what its store says of it. Every refusal here is `SEED_INVALID`. */
export function indexLandmarks(landmarks: SessionLandmarks, length: number): LandmarkIndex {
  const index = new LandmarkIndex()
  const lists: Record<LandmarkType, readonly number[]> = {
    'turn/start': landmarks.turns,
    'step/start': landmarks.steps,
    'request/header': landmarks.headers.map(({ seq }) => seq),
  }
  let last = -1
  for (const marker of landmarks.markers) {
    checkRising(last, marker.seq, length)
    last = marker.seq
    index.markers.push(copyMarker(marker))
  }
  for (const [type, seqs] of Object.entries(lists)) {
    last = -1
    for (const seq of seqs) {
      checkRising(last, seq, length)
      last = seq
      if (index.markerAt(seq) !== undefined)
        failLandmarks(`one thing of event ${seq}`, 'a marker and a start or header')
      index.seqs.get(type)!.push(seq)
    }
  }
  return index
}

/** Hands on the events that came with the landmarks, in no order; one may come twice. */
export function eachGiven(
  { surface, headers, open }: SessionLandmarks,
  length: number,
  onEvent: (event: SessionEvent) => void,
): void {
  for (const events of [surface, headers, open]) {
    for (const event of events) {
      if (!isSeqBelow(length, event.seq)) failLandmarks(`events below the length ${length}`, String(event.seq))
      onEvent(event)
    }
  }
}

/** What came as visible is what the markers fold to. */
export function checkVisible(seqs: readonly number[], surface: readonly SessionEvent[]): void {
  if (seqs.length !== surface.length) failLandmarks(`${seqs.length} visible events`, String(surface.length))
  for (let i = 0; i < seqs.length; i++) {
    if (surface[i]!.seq !== seqs[i])
      failLandmarks(`event ${seqs[i]} at place ${i} of the surface`, String(surface[i]!.seq))
  }
}

/** An event that is read must be what the index said of its place when the log was opened. */
export function checkAgainst(index: LandmarkIndex, event: SessionEvent): SessionEvent {
  if (!index.agreesWith(event)) failLandmarks(`event ${event.seq} to be what its landmark says`, 'another one')
  return event
}

// --- internal ---

function checkRising(previous: number, seq: number, length: number): void {
  if (isSeqBelow(length, seq) && seq > previous) return
  failLandmarks(`rising seqs below ${length}`, `${seq} after ${previous}`)
}

/** What the surface needs of a marker; the caller keeps no hold on it. A frozen event is nobody's to change. */
function copyMarker(marker: SurfaceMarker): SurfaceMarker {
  const { seq, type, surfaceOp: op } = marker
  if (op === 'append') return isParsedFrozen(marker) ? marker : { seq, type, surfaceOp: op }
  if (op?.op !== 'replace' && op?.op !== 'restore') failLandmarks(`a surfaceOp for event ${seq}`, 'none')
  return { seq, type, surfaceOp: { ...op } }
}

function isSeqBelow(length: number, seq: number): boolean {
  return Number.isInteger(seq) && seq >= 0 && seq < length
}

function failLandmarks(expected: string, found: string): never {
  throw new SessionError('SEED_INVALID', `landmarks: expected ${expected}, found ${found}; rebuild the store's index`)
}
