import { crc32 } from 'node:zlib'
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
import { readLandmarkRows } from './joined-rows.js'
import { type FetchedTexts, fetchTexts, type InflatedText, inflateTexts } from './many-texts.js'
import { decodeInto, type EventRow, opOf, typeOf } from './record.js'
import { readEvents } from './scan.js'
import { placeOf } from './schema.js'
import { putTexts, type TextEntry } from './texts.js'

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
  const found = new Landmarks<SessionEvent>()
  for (const event of events)
    if (isLandmark(event.type)) found.add(event, event.seq, event.type, event.surfaceOp, event.ignorable === true)
  const lastTurn = found.openTurn()
  return found.result(found.visible(), found.headers, event => event as SurfaceMarker, {
    open: lastTurn === undefined ? [] : events.slice(lastTurn),
  })
}

/** The landmarks as a snapshot had them, still without their large texts. */
export interface FetchedLandmarks {
  /** Rejects where a text is damaged, without saying which. */
  complete(): Promise<FoundLandmarks>
}

/**
 * The landmarks below `length`, read through their index. `undefined` where it does not give exactly
 * `count` sound ones: then the log itself must be read.
 */
export function fetchLandmarks(
  db: Handle,
  parts: readonly Part[],
  length: number,
  count: number,
): FetchedLandmarks | undefined {
  const found = new Landmarks<EventRow>()
  let seen = 0
  for (const { key, from, to } of parts) {
    let next = placeOf(key, from)
    const rows = readLandmarkRows(db, key, from, to)
    if (rows === undefined) return undefined
    for (const row of rows) {
      const place = placeOf(key, row[0])
      if (!(place >= next) || !isLandmark(row[2])) return undefined
      next = place + 1
      seen += 1
      found.add(row, row[0], typeOf(row[2]), opOf(row[5]), row[6] !== null)
    }
  }
  if (seen !== count) return undefined
  const rows = [...found.visible(), ...found.headers]
  const texts = new RowTexts(db, rows)
  const lastTurn = found.openTurn()
  const open = lastTurn === undefined ? [] : readEvents(db, parts, lastTurn, length)
  const complete = async () => {
    await texts.inflate()
    const events = rows.map((row, i) => parseFrozen('{}', event => texts.putInto(decodeInto(event as object, row), i)))
    const headers = events.splice(events.length - found.headers.length)
    return found.result(events as SessionEvent[], headers as SessionEvent[], sourcedMarker, { open })
  }
  return { complete }
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

const COUNT = 'SELECT count(*) FROM events INDEXED BY landmarks WHERE landmark IS NOT NULL AND place >= ? AND place < ?'

/** Sorts landmarks by what they are for, as events or as rows. */
class Landmarks<T> {
  readonly headers: T[] = []
  /** Still without their sources. */
  readonly #markers: SurfaceMarker[] = []
  /** What the markers were made of. */
  readonly #items: T[] = []
  readonly #turns: number[] = []
  readonly #steps: number[] = []
  readonly #unknown: { seq: number; type: string }[] = []
  #turnEnd = -1
  /** As long as nothing was replaced or restored, the surface is the log's order. */
  #isEdited = false

  add(item: T, seq: number, type: string, surfaceOp: SessionEvent['surfaceOp'], ignorable: boolean): void {
    if (type === 'request/header') this.headers.push(item)
    else if (type === 'turn/start') this.#turns.push(seq)
    else if (type === 'turn/end') this.#turnEnd = seq
    else if (type === 'step/start') this.#steps.push(seq)
    else if (type === 'surface/restore' || isSurfaceType(type)) {
      this.#markers.push({ seq, type, surfaceOp } as SurfaceMarker)
      this.#items.push(item)
      if (surfaceOp !== 'append') this.#isEdited = true
    } else if (!ignorable && !isKnownType(type)) this.#unknown.push({ seq, type })
  }

  /** In surface order. */
  visible(): readonly T[] {
    if (!this.#isEdited) return this.#items
    const items = new Map(this.#markers.map(({ seq }, i) => [seq, this.#items[i]!]))
    return foldSurface(this.#markers).map(seq => items.get(seq)!)
  }

  /** Where the last turn begins, if it has no end. */
  openTurn(): number | undefined {
    const last = this.#turns.at(-1)
    return last !== undefined && last > this.#turnEnd ? last : undefined
  }

  /** A visible event brings its sources along; those of the others come from `markerOf`. */
  result(
    surface: readonly SessionEvent[],
    headers: readonly SessionEvent[],
    markerOf: (item: T) => SurfaceMarker,
    { open }: Pick<SessionLandmarks, 'open'>,
  ): FoundLandmarks {
    const landmarks = {
      markers: this.#isEdited ? this.#sourced(surface, markerOf) : (surface as readonly SurfaceMarker[]),
      surface,
      headers: headers as SessionLandmarks['headers'],
      turns: this.#turns,
      steps: this.#steps,
      open,
    }
    return { landmarks, unknown: this.#unknown }
  }

  #sourced(surface: readonly SessionEvent[], markerOf: (item: T) => SurfaceMarker): SurfaceMarker[] {
    const visible = new Map(surface.map(event => [event.seq, event as SurfaceMarker]))
    return this.#markers.map(({ seq }, i) => visible.get(seq) ?? markerOf(this.#items[i]!))
  }
}

/** The large texts of some rows: fetched when this is made, within a snapshot, there once they are inflated. */
class RowTexts {
  /** By index of the row. */
  readonly #entries: (readonly TextEntry[] | undefined)[]
  readonly #fetched: FetchedTexts
  #texts: ReadonlyMap<number, InflatedText> = new Map()

  constructor(db: Handle, rows: readonly EventRow[]) {
    const ids: number[] = []
    this.#entries = rows.map(([, , , , , , , texts]) => {
      if (texts === null) return undefined
      const entries: readonly TextEntry[] = JSON.parse(texts)
      for (const [, id] of entries) ids.push(id)
      return entries
    })
    this.#fetched = fetchTexts(db, ids)
  }

  async inflate(): Promise<void> {
    this.#texts = await inflateTexts(this.#fetched)
  }

  putInto(event: SessionEvent, index: number): void {
    const entries = this.#entries[index]
    if (entries !== undefined) putTexts(event, entries, this.#textOf)
  }

  readonly #textOf = ([, id, crc]: TextEntry): string => {
    const body = this.#fetched.plain.get(id)
    if (body !== undefined && crc32(body) === crc) return body.toString()
    const found = this.#texts.get(id)
    if (found?.crc !== crc) throw new Error(`text ${id} is gone or damaged`)
    return found.text
  }
}

function sourcedMarker([seq, , type, , sources, op]: EventRow): SurfaceMarker {
  const marker = { seq, type: typeOf(type), surfaceOp: opOf(op) }
  return (sources === null ? marker : { ...marker, sourceEventSeqs: JSON.parse(sources) }) as SurfaceMarker
}
