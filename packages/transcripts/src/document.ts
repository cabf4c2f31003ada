import type { JsonValue } from '@palimpsest/session'
import type { Import } from './format.js'
import { closeTorn } from './json/close-torn.js'
import { losslessJson } from './json/lossless.js'
import { parseJson } from './json/scan-json.js'
import { isObject } from './json/shapes.js'
import { readText, type Source } from './source.js'

export interface JsonDocument {
  readonly text: string
  /** As a log may hold it, so of a depth that can be walked. */
  readonly value: JsonValue
  /** The file ends in the middle: where, and this is what stands before. */
  readonly tornAt?: string
}

/**
 * A file that is one JSON document, or the beginning of one; `undefined` for any other, which costs a look at its
 * first line where that is a record.
 */
export function readDocument(source: Source): JsonDocument | undefined {
  if (source.size > LARGEST || beginsWithRecord(source)) return undefined
  const text = readText(source)
  const parsed = parseJson(text)
  if (parsed !== undefined) return { text, value: losslessJson(parsed.value) }
  const closed = closeTorn(text)
  const begun = closed && parseJson(closed.text)
  return begun && { text: closed.text, value: losslessJson(begun.value), tornAt: closed.where }
}

/** The document that a format of documents has found, whose loss is reported. */
export function openDocument({ source, report, about }: Import): JsonDocument | undefined {
  const document = readDocument(source)
  const where = document === undefined ? 'file' : document.tornAt
  if (where !== undefined) report({ code: 'file.torn-record', severity: 'error', where })
  if (document === undefined) about({ unreadable: true })
  return document
}

// --- internal ---

/** A larger file is a document of no format here: those are files with a record per line. */
const LARGEST = 512 * 1024 * 1024
const CHUNK = 1 << 20

/** Whether the first line is a whole record and another follows: no document begins so, however large it is. */
function beginsWithRecord(source: Source): boolean {
  const lead: Uint8Array[] = []
  for (let from = 0; from < source.size; from += CHUNK) {
    const chunk = source.read(from, Math.min(from + CHUNK, source.size))
    const end = chunk.indexOf(NEWLINE)
    // A source may use its buffer again.
    lead.push(Uint8Array.prototype.slice.call(chunk, 0, end < 0 ? chunk.length : end))
    if (end < 0) continue
    const line = Buffer.concat(lead)
    return from + end + 1 < source.size && isObject(parseJson(readText({ size: line.length, read: () => line }))?.value)
  }
  return false
}

const NEWLINE = 0x0a
