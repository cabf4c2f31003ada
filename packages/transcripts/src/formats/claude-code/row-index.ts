import type { Finding } from '../../finding.js'
import { scanRecords } from '../../records.js'
import type { Source } from '../../source.js'
import { Names } from './names.js'
import { isClaudeRecord } from './record.js'
import { FLAG, KIND } from './row-kinds.js'
import { RowScan } from './row-scan.js'
import { Uuids } from './uuids.js'

const NONE = -1

/**
 * The rows of a file without their contents: about a hundred bytes each, names included. Rows are numbered in the
 * order of the file; -1 stands for none.
 */
export class RowIndex {
  length = 0
  kinds = new Uint8Array(START)
  flags = new Uint16Array(START)
  lines = new Int32Array(START)
  offsets = new Float64Array(START)
  lengths = new Int32Array(START)
  /** Where its message lies in the row, if it has one. */
  messageStarts = new Int32Array(START)
  messageLengths = new Int32Array(START)
  /** Epoch ms, or NaN. */
  times = new Float64Array(START)
  /** Names in `uuids`. */
  parents = new Int32Array(START)
  /** Names in `sessions`. */
  sessionOf = new Int32Array(START)
  /** Names in `messages`: of the API message that the row is a part of. */
  messageOf = new Int32Array(START)
  /** The next row of the same API message. */
  nextOfMessage = new Int32Array(START)
  /** Names in `calls`: the call that the row makes or answers. More than one of a row stand in `moreCalls`. */
  callOf = new Int32Array(START)
  readonly moreCalls = new Map<number, number[]>()
  /** Of rows on damaged lines: which record of its line. */
  readonly partOf = new Map<number, number>()
  /** Of boundaries: the name of the row before, in `uuids`. */
  readonly logicalParents = new Map<number, number>()
  /** A copy's first. */
  readonly firstOf = new Map<number, number>()

  readonly uuids = new Uuids()
  readonly sessions = new Names()
  readonly messages = new Names()
  readonly calls = new Names()
  #rowOfUuid = new Int32Array(START).fill(NONE)
  #lastOfMessage = new Int32Array(START).fill(NONE)

  /** The row with that id, by its number in `uuids`. */
  rowOf(uuid: number): number {
    return uuid < 0 || uuid >= this.#rowOfUuid.length ? NONE : this.#rowOfUuid[uuid]!
  }

  /** The row with that id. */
  rowNamed(uuid: unknown): number {
    return typeof uuid === 'string' ? this.rowOf(this.uuids.find(uuid)) : NONE
  }

  is(row: number, flag: number): boolean {
    return (this.flags[row]! & flag) !== 0
  }

  /** The calls that a row makes or answers. */
  callsOf(row: number): readonly number[] {
    const first = this.callOf[row]!
    return this.moreCalls.get(row) ?? (first < 0 ? [] : [first])
  }

  add(scan: RowScan, place: { line: number; offset: number; length: number; part: number }): void {
    const row = this.length++
    if (row === this.kinds.length) this.#grow()
    this.lines[row] = place.line
    this.offsets[row] = place.offset
    this.lengths[row] = place.length
    if (place.part >= 0) this.partOf.set(row, place.part)
    this.messageStarts[row] = scan.messageStart
    this.messageLengths[row] = scan.messageLength
    this.times[row] = scan.time
    this.sessionOf[row] = this.sessions.of(scan.sessionId)
    this.#addLinks(row, scan)
    this.#addMessage(row, scan)
    this.flags[row]! |= scan.flags
  }

  // --- internal ---

  #addLinks(row: number, scan: RowScan): void {
    this.parents[row] = scan.parentUuid(this.uuids)
    const logical = scan.logicalParentUuid(this.uuids)
    if (logical >= 0) this.logicalParents.set(row, logical)
    const uuid = scan.uuid(this.uuids)
    this.kinds[row] = uuid < 0 ? KIND.other : scan.kind
    this.#rowOfUuid = grown(this.#rowOfUuid, this.uuids.size)
    if (uuid < 0) return
    const first = this.#rowOfUuid[uuid]!
    if (first < 0) this.#rowOfUuid[uuid] = row
    else {
      this.firstOf.set(row, first)
      this.flags[row]! |= FLAG.copy
    }
  }

  #addMessage(row: number, scan: RowScan): void {
    const { callIds } = scan
    this.callOf[row] = this.calls.of(callIds[0])
    if (callIds.length > 1)
      this.moreCalls.set(
        row,
        callIds.map(id => this.calls.of(id)),
      )
    const message = this.messages.of(scan.messageId)
    this.messageOf[row] = message
    this.nextOfMessage[row] = NONE
    if (message < 0 || this.is(row, FLAG.copy)) return
    this.#lastOfMessage = grown(this.#lastOfMessage, this.messages.size)
    const last = this.#lastOfMessage[message]!
    if (last >= 0) this.nextOfMessage[last] = row
    this.#lastOfMessage[message] = row
  }

  #grow(): void {
    const length = this.kinds.length * 2
    this.kinds = copied(this.kinds, new Uint8Array(length))
    this.flags = copied(this.flags, new Uint16Array(length))
    this.offsets = copied(this.offsets, new Float64Array(length))
    this.times = copied(this.times, new Float64Array(length))
    for (const name of INT_COLUMNS) this[name] = copied(this[name], new Int32Array(length))
  }
}

/** Reads a file once, and reports what is wrong with its lines. */
export function indexRows(source: Source, report: (finding: Finding) => void): RowIndex {
  const index = new RowIndex()
  const scan = new RowScan()
  const isWhole = (bytes: Uint8Array) => scan.read(bytes)
  for (const span of scanRecords(source, { isWhole, isRecord: isClaudeRecord, report })) index.add(scan, span)
  return index
}

// --- internal ---

const START = 1024
const INT_COLUMNS = [
  'lines',
  'lengths',
  'messageStarts',
  'messageLengths',
  'parents',
  'sessionOf',
  'messageOf',
  'nextOfMessage',
  'callOf',
] as const

function copied<T extends Uint8Array | Uint16Array | Int32Array | Float64Array>(from: T, to: T): T {
  to.set(from)
  return to
}

/** Long enough for `size`, with -1 in what is new. */
function grown(column: Int32Array<ArrayBuffer>, size: number): Int32Array<ArrayBuffer> {
  if (size <= column.length) return column
  return copied(column, new Int32Array(Math.max(size, column.length * 2)).fill(NONE))
}
