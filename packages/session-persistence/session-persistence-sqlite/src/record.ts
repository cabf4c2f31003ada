import { crc32 } from 'node:zlib'
import type { SessionEvent } from '@palimpsest/session'

/** The columns of `events` in the order in which they are read and written, without `place` and `landmark`. */
export const COLUMNS = 'seq, time, type, data, source_event_seqs, surface_op, ignorable, texts, crc'

/** What these columns hold in a sound row. From a damaged one anything may come: `isSoundRow` tells. */
export type EventRow = [
  seq: number,
  time: number,
  /** As JSON text where the type is empty, begins with a quotation mark, or holds a control character or half of a surrogate pair; `typeOf` tells. */
  type: string,
  data: string,
  sourceEventSeqs: string | null,
  surfaceOp: string | null,
  ignorable: number | null,
  /** Which strings of `data` lie in `texts`; `null` where none does. */
  texts: string | null,
  crc: number,
]

/** Half of a surrogate pair, which has no UTF-8 form. */
export const LONE_SURROGATE = /\p{Surrogate}/u

/** The checksum as a line of the JSONL store has it: eight lower-case hex digits. */
export function crcText(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}

/** The row of an event that keeps all of its strings, still without its checksum. */
export function encodeRow(event: SessionEvent): EventRow {
  const { seq, time, type, sourceEventSeqs, surfaceOp, ignorable } = event
  return [
    seq,
    time,
    storedType(type),
    JSON.stringify(event.data),
    sourceEventSeqs === undefined ? null : JSON.stringify(sourceEventSeqs),
    surfaceOp === undefined ? null : surfaceOp === 'append' ? APPEND : JSON.stringify(surfaceOp),
    ignorable === undefined ? null : 1,
    null,
    0,
  ]
}

/** Of a row as it stands, under the key of its session: a row that strays into another one is not taken for its own. */
export function crcOfRow(row: EventRow, key: number): number {
  return crc32(linesOf(row), key)
}

/** Of the event's line in the JSONL store, without `,"crc":…`. */
export function crcOfEvent(event: SessionEvent): number {
  return crc32(JSON.stringify(event).slice(0, -1))
}

/** Whether every column is what was written. */
export function isSoundRow(row: unknown[], key: number): row is EventRow {
  const [seq, time, type, data, sources, op, ignorable, texts, crc] = row
  return (
    Number.isSafeInteger(seq) &&
    typeof time === 'number' &&
    typeof type === 'string' &&
    typeof data === 'string' &&
    (sources === null || typeof sources === 'string') &&
    (op === null || typeof op === 'string') &&
    (ignorable === null || ignorable === 1) &&
    (texts === null || typeof texts === 'string') &&
    crcOfRow(row as EventRow, key) === crc
  )
}

/** The event of a sound row; `data` as it is stored, without the strings that lie elsewhere. Throws on what is no JSON. */
export function decodeRow(row: EventRow): SessionEvent {
  return decodeInto({}, row)
}

/** Makes an empty object the event of a sound row. Each column is parsed for itself: none can say what another one holds. */
export function decodeInto(empty: object, [seq, time, type, data, sources, op, ignorable]: EventRow): SessionEvent {
  const event = empty as Record<string, unknown>
  event.seq = seq
  event.time = time
  event.type = typeOf(type)
  event.data = JSON.parse(data)
  if (sources !== null) event.sourceEventSeqs = JSON.parse(sources)
  if (op !== null) event.surfaceOp = opOf(op)
  if (ignorable !== null) event.ignorable = true
  return event as unknown as SessionEvent
}

/** What a sound row's column stands for. */
export function opOf(stored: string | null): SessionEvent['surfaceOp'] {
  return stored === null ? undefined : stored === APPEND ? 'append' : JSON.parse(stored)
}

/** The type that a sound row's column stands for. */
export function typeOf(stored: string): string {
  return stored.startsWith('"') ? JSON.parse(stored) : stored
}

/** About what a row takes. */
export function bytesOfRow(row: EventRow): number {
  const [, , type, data, sources, op, , texts] = row
  return FIXED_BYTES + type.length + data.length + (sources?.length ?? 0) + (op?.length ?? 0) + (texts?.length ?? 0)
}

// --- internal ---

const APPEND = '"append"'
/** Place, seq, time, crc, and what SQLite adds to a row. */
const FIXED_BYTES = 32

/** What no column may hold as it is. */
const UNFIT = /[\p{Surrogate}\p{Cc}]/u

/** As it is; as JSON text where the column could not hold it, or where it looks like JSON text itself. */
function storedType(type: string): string {
  return type === '' || type.startsWith('"') || UNFIT.test(type) ? JSON.stringify(type) : type
}

/** What the checksum is taken of: the columns as they are, a line each. No column holds a newline. */
function linesOf([seq, time, type, data, sources, op, ignorable, texts]: EventRow): string {
  return `${seq}\n${time}\n${type}\n${data}\n${sources ?? ''}\n${op ?? ''}\n${ignorable ?? ''}\n${texts ?? ''}`
}
