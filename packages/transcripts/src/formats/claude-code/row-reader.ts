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
    const line = this.#bytes(this.#rows.offsets[row]!, this.#rows.lengths[row]!)
    const bytes = asBuffer(readRecordAt(line, this.#rows.partOf.get(row) ?? -1, isClaudeRecord))
    const text = bytes.toString(this.#rows.is(row, FLAG.wide) ? 'utf8' : 'latin1')
    const record = parseJson(text)?.value
    return isObject(record) ? { record, text } : undefined
  }

  record(row: number): Json | undefined {
    return this.read(row)?.record
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

  #bytes(offset: number, length: number): Buffer {
    const from = offset - this.#aheadFrom
    if (from >= 0 && from + length <= this.#ahead.length) return this.#ahead.subarray(from, from + length)
    const end = Math.min(this.#source.size, offset + Math.max(length, AHEAD))
    this.#ahead = asBuffer(this.#source.read(offset, end))
    this.#aheadFrom = offset
    return this.#ahead.subarray(0, length)
  }
}

// --- internal ---

const AHEAD = 1 << 20
