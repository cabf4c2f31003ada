import {
  foldSurface,
  isKnownType,
  isSurfaceType,
  parseFrozen,
  type SessionEvent,
  type SessionLandmarks,
  type SurfaceMarker,
} from '@palimpsest/session'
import type { Part } from './chain.js'
import type { Handle } from './handle.js'
import { COLUMNS, decodeRow, type EventRow, isSoundRow, opOf, typeOf } from './record.js'
import { readEvents } from './scan.js'
import { placeOf } from './schema.js'
import { restoreTexts } from './texts.js'

/** What opening needs of the log, as the port wants it. */
export interface FoundLandmarks {
  readonly landmarks: SessionLandmarks
  readonly unknown: { seq: number; type: string }[]
}

/** Whether opening a session needs events of this type, or needs to know of them. */
export function isLandmark(type: string): boolean {
  return !PLAIN_TYPES.has(type)
}

/** The landmarks of a log that was read whole. */
export function landmarksIn(events: readonly SessionEvent[]): FoundLandmarks {
  const found = new Landmarks()
  for (const event of events) if (isLandmark(event.type)) found.add(event, () => event)
  return found.result(from => events.slice(from))
}

/**
 * The landmarks below `length`, read through their index. `undefined` where it does not give exactly
 * `count` sound ones: then the log itself must be read.
 */
export function readLandmarks(
  db: Handle,
  parts: readonly Part[],
  length: number,
  count: number,
): FoundLandmarks | undefined {
  const found = new Landmarks()
  let seen = 0
  for (const { key, from, to } of parts) {
    let next = placeOf(key, from)
    for (const row of db.rows<EventRow>(LANDMARKS).all(next, placeOf(key, to))) {
      const place = placeOf(key, row[0])
      if (!(place >= next) || !isSoundRow(row, key) || !isLandmark(row[2])) return undefined
      next = place + 1
      seen += 1
      found.addRow(db, row)
    }
  }
  return seen === count ? found.result(from => readEvents(db, parts, from, length)) : undefined
}

/** How many landmarks lie below `length`, as the index has it. */
export function countLandmarks(db: Handle, parts: readonly Part[], length: number): number {
  let count = 0
  for (const { key, from, to } of parts) {
    if (from >= length) continue
    count += db.rows<[number]>(COUNT).get(placeOf(key, from), placeOf(key, Math.min(to, length)))![0]
  }
  return count
}

// --- internal ---

/** Known types that opening passes by; the most of any log. */
const PLAIN_TYPES: ReadonlySet<string> = new Set([
  'assistant/chunk',
  'step/end',
  'tool/call',
  'tool/settled',
  'log/lost',
  'compaction/start',
  'compaction/end',
  'prune/applied',
])

const WITHIN = 'FROM events INDEXED BY landmarks WHERE landmark IS NOT NULL AND place >= ? AND place < ?'
const LANDMARKS = `SELECT ${COLUMNS} ${WITHIN} ORDER BY place`
const COUNT = `SELECT count(*) ${WITHIN}`

class Landmarks {
  /** Still without their sources. */
  readonly #markers: SurfaceMarker[] = []
  readonly #headers: SessionLandmarks['headers'][number][] = []
  readonly #turns: number[] = []
  readonly #steps: number[] = []
  readonly #unknown: { seq: number; type: string }[] = []
  /** How to get the whole event of a marker, by seq. */
  readonly #events = new Map<number, () => SessionEvent>()
  /** How to get a marker with its sources, by seq, where it has some. */
  readonly #sources = new Map<number, () => SurfaceMarker>()
  #turnEnd = -1

  add(event: SessionEvent, whole: () => SessionEvent): void {
    this.#note(event.seq, event.type, event.ignorable === true, () => event as SurfaceMarker, whole)
  }

  addRow(db: Handle, row: EventRow): void {
    const [seq, , stored, , sources, op, ignorable] = row
    const type = typeOf(stored)
    const marker = () => ({ seq, type, surfaceOp: opOf(op) }) as SurfaceMarker
    if (sources !== null) this.#sources.set(seq, () => ({ ...marker(), sourceEventSeqs: JSON.parse(sources) }))
    this.#note(seq, type, ignorable !== null, marker, () => decodeFrozen(db, row))
  }

  result(readFrom: (seq: number) => SessionEvent[]): FoundLandmarks {
    const surface = foldSurface(this.#markers).map(seq => this.#events.get(seq)!())
    // A visible event brings its sources along; those of the others are read for themselves.
    const visible = new Map(surface.map(event => [event.seq, event as SurfaceMarker]))
    const markers = this.#markers.map(marker => visible.get(marker.seq) ?? this.#sources.get(marker.seq)?.() ?? marker)
    const lastTurn = this.#turns.at(-1) ?? -1
    const open = lastTurn > this.#turnEnd ? readFrom(lastTurn) : []
    const landmarks = {
      markers,
      surface,
      headers: this.#headers,
      turns: this.#turns,
      steps: this.#steps,
      open,
    }
    return { landmarks, unknown: this.#unknown }
  }

  #note(seq: number, type: string, ignorable: boolean, marker: () => SurfaceMarker, whole: () => SessionEvent): void {
    if (type === 'request/header') this.#headers.push(whole() as SessionLandmarks['headers'][number])
    else if (type === 'turn/start') this.#turns.push(seq)
    else if (type === 'turn/end') this.#turnEnd = seq
    else if (type === 'step/start') this.#steps.push(seq)
    else if (type === 'surface/restore' || isSurfaceType(type)) {
      this.#markers.push(marker())
      this.#events.set(seq, whole)
    } else if (!ignorable && !isKnownType(type)) this.#unknown.push({ seq, type })
  }
}

/** The event of a sound row, whole and frozen. Each column is parsed for itself: none can say what another one holds. */
function decodeFrozen(db: Handle, row: EventRow): SessionEvent {
  const event = parseFrozen('{}', empty => {
    const decoded = Object.assign(empty as SessionEvent, decodeRow(row))
    if (row[7] !== null) restoreTexts(db, decoded, row[7])
  })
  return event as SessionEvent
}
