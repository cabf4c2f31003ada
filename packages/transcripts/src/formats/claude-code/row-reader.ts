import { parseJson } from '../../json/scan-json.js'
import { isObject, type Json, listOf, stringOf } from '../../json/shapes.js'
import { asBuffer } from '../../lines.js'
import { readRecordAt } from '../../records.js'
import type { Source } from '../../source.js'
import { blocksOf, isClaudeRecord, messageOf } from './record.js'
import type { RowIndex } from './row-index.js'
import { FLAG } from './row-kinds.js'

export interface ReadRow {
  readonly record: Json
  readonly text: string
}

export interface ReadMessage {
  readonly message: Json
  readonly text: string
}

/** Rows by their numbers. Reading ahead makes rows in the order of the file cost one read per stretch. */
export class RowReader {
  readonly #source: Source
  readonly #rows: RowIndex
  #ahead: Buffer = Buffer.alloc(0)
  #aheadFrom = 0

  constructor(source: Source, rows: RowIndex) {
    this.#source = source
    this.#rows = rows
  }

  /** `undefined` where the file has changed since it was indexed. */
  read(row: number): ReadRow | undefined {
    const bytes = this.#rowBytes(row, AHEAD)
    const parsed = this.#parse(row, bytes, 0, bytes.length)
    return parsed && { record: parsed.value, text: parsed.text }
  }

  /** The message of a row without what else the row holds, which is often more: a copy of a result for the agent's screen. */
  message(row: number): ReadMessage | undefined {
    const start = this.#rows.messageStarts[row]!
    const parsed = this.#parse(row, this.#rowBytes(row, AHEAD), start, start + this.#rows.messageLengths[row]!)
    return parsed && { message: parsed.value, text: parsed.text }
  }

  record(row: number): Json | undefined {
    const bytes = this.#rowBytes(row, 0)
    return this.#parse(row, bytes, 0, bytes.length)?.value
  }

  uuid(row: number): string {
    return String(this.record(row)?.uuid)
  }

  /** The text of a row's message. */
  text(row: number): string {
    const message = messageOf(this.record(row) ?? {})
    return message === undefined
      ? ''
      : blocksOf(message)
          .map(({ block }) => stringOf(block.text) ?? '')
          .join('')
  }

  /** What a compaction kept: ids of rows, or the ends of a stretch. */
  preserved(boundary: number): { ids: unknown[]; head: unknown; tail: unknown } {
    const metadata = this.record(boundary)?.compactMetadata
    const { preservedMessages, preservedSegment } = isObject(metadata) ? metadata : {}
    const { headUuid: head, tailUuid: tail } = isObject(preservedSegment) ? preservedSegment : {}
    return { ids: isObject(preservedMessages) ? listOf(preservedMessages.uuids) : [], head, tail }
  }

  // --- internal ---

  #parse(row: number, bytes: Buffer, start: number, end: number): { value: Json; text: string } | undefined {
    const text = bytes.toString(this.#rows.is(row, FLAG.wide) ? 'utf8' : 'latin1', start, end)
    const value = parseJson(text, this.#rows.is(row, FLAG.risky))?.value
    return isObject(value) ? { value, text } : undefined
  }

  #rowBytes(row: number, ahead: number): Buffer {
    const line = this.#bytes(this.#rows.offsets[row]!, this.#rows.lengths[row]!, ahead)
    return asBuffer(readRecordAt(line, this.#rows.partOf.get(row) ?? -1, isClaudeRecord))
  }

  #bytes(offset: number, length: number, ahead: number): Buffer {
    const from = offset - this.#aheadFrom
    if (from >= 0 && from + length <= this.#ahead.length) return this.#ahead.subarray(from, from + length)
    const bytes = asBuffer(this.#source.read(offset, Math.min(this.#source.size, offset + Math.max(length, ahead))))
    if (ahead === 0) return bytes
    this.#ahead = bytes
    this.#aheadFrom = offset
    return bytes.subarray(0, length)
  }
}

// --- internal ---

const AHEAD = 1 << 20
