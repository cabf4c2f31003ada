import type { JsonValue } from '@palimpsest/session'
import { losslessJson } from './json/lossless.js'
import { parseJson } from './json/scan-json.js'
import { isObject } from './json/shapes.js'
import { readText, type Source } from './source.js'

export interface JsonDocument {
  readonly text: string
  /** As a log may hold it, so of a depth that can be walked. */
  readonly value: JsonValue
}

/** A file that is one JSON document; `undefined` for any other, which costs a look at its first line where that is a record. */
export function readDocument(source: Source): JsonDocument | undefined {
  if (source.size > LARGEST || beginsWithRecord(source)) return undefined
  const text = readText(source)
  const parsed = parseJson(text)
  return parsed && { text, value: losslessJson(parsed.value) }
}

// --- internal ---

/** A larger file is a document of no format here: those are files with a record per line. */
const LARGEST = 512 * 1024 * 1024
const HEAD_BYTES = 64 * 1024

/** Whether the first line is a whole record and another follows: no document begins so, however large it is. */
function beginsWithRecord(source: Source): boolean {
  const text = readText({ size: 0, read: () => source.read(0, Math.min(source.size, HEAD_BYTES)) })
  const end = text.indexOf('\n')
  return end >= 0 && text.slice(end).trim() !== '' && isObject(parseJson(text.slice(0, end))?.value)
}
