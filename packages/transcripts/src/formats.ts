import type { Format, FormatName, Head } from './format.js'
import { codex } from './formats/codex.js'
import { dsh } from './formats/dsh.js'
import { openaiChat } from './formats/openai-chat.js'
import { palimpsest } from './formats/palimpsest.js'
import { parseJson } from './json/scan-json.js'
import { isObject } from './json/shapes.js'
import { readRecords } from './records.js'
import { bytesSource, readText, type Source } from './source.js'

/** In the order in which they are asked: the ones with a mark of their own first, plain message lists last. */
export const FORMATS: readonly Format[] = [palimpsest, codex, dsh, openaiChat]

export function formatOf(head: Head, wanted: FormatName | 'auto' = 'auto'): Format | undefined {
  return FORMATS.find(format => (wanted === 'auto' ? format.detect(head) : format.name === wanted))
}

export function headOf(source: Source): Head {
  const bytes = source.read(0, Math.min(source.size, HEAD_BYTES))
  const text = readText(bytesSource(bytes))
  const isDocument = source.size <= DOCUMENT_BYTES && !beginsWithRecord(text)
  let parsed: { value: unknown } | undefined
  return {
    bytes,
    text,
    records: firstRecords(bytes),
    document() {
      parsed ??= (isDocument ? parseJson(readText(source)) : undefined) ?? { value: undefined }
      return parsed.value
    },
  }
}

// --- internal ---

const HEAD_BYTES = 64 * 1024
/** A larger file is a document of no format here: those are files with a record per line. */
const DOCUMENT_BYTES = 512 * 1024 * 1024
const HEAD_RECORDS = 20

/** Whether the first line is a whole record and another follows: no document begins so, however large it is. */
function beginsWithRecord(text: string): boolean {
  const end = text.indexOf('\n')
  return end >= 0 && text.slice(end).trim() !== '' && isObject(parseJson(text.slice(0, end))?.value)
}

function firstRecords(bytes: Uint8Array): Record<string, unknown>[] {
  const records: Record<string, unknown>[] = []
  for (const { value } of readRecords(bytesSource(bytes), { report: () => {} })) {
    if (isObject(value)) records.push(value)
    if (records.length === HEAD_RECORDS) break
  }
  return records
}
