import { parseJson, readRecords, readText, type Source, streamTranscript } from '@palimpsest/transcripts'

export interface ScanRecord {
  readonly where: string
  readonly value: unknown
  readonly text: string
}

/** The records of a transcript as they stand in it: lines, the entries of a document's lists, events of a packed log. */
export function* recordsToScan(source: Source, format: string): Generator<ScanRecord> {
  if (isPacked(source)) yield* eventsOf(source, format)
  else {
    const document = documentOf(source)
    if (document !== undefined) yield* entriesOf(document)
    else
      // A letter written as an escape hides a secret from a look at the text.
      for (const { line, value, text } of readRecords(source, { report: () => {} }))
        yield { where: `line ${line}`, value, text: text.includes('\\u00') ? JSON.stringify(value) : text }
  }
}

// --- internal ---

const ZSTD = [0x28, 0xb5, 0x2f, 0xfd]

function isPacked(source: Source): boolean {
  const head = source.read(0, Math.min(4, source.size))
  return ZSTD.every((byte, i) => head[i] === byte)
}

/** A file of one JSON value: an array, or an object that no other one follows. */
function documentOf(source: Source): unknown {
  const head = { size: Math.min(source.size, HEAD_BYTES), read: source.read }
  const isList = readText(head).trimStart().startsWith('[')
  if (!isList && [...readRecords(head, { report: () => {} })].length > 1) return undefined
  return parseJson(readText(source))?.value
}

const HEAD_BYTES = 1 << 16

/** A list's entries as `messages[i]`, whatever the list is called; the rest of the document as `file`. */
function* entriesOf(document: unknown): Generator<ScanRecord> {
  const lists = Array.isArray(document) ? { messages: document } : { ...(document as object) }
  const rest: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(lists)) {
    if (!Array.isArray(value)) rest[name] = value
    else for (const [i, entry] of value.entries()) yield record(`${name}[${i}]`, entry)
  }
  yield record('file', rest)
}

function record(where: string, value: unknown): ScanRecord {
  return { where, value, text: JSON.stringify(value) ?? '' }
}

function* eventsOf(source: Source, format: string): Generator<ScanRecord> {
  const records: ScanRecord[] = []
  streamTranscript(source, { format: format as never }, (event, place) => {
    records.push({ where: place.where, value: event, text: JSON.stringify(event) })
  })
  yield* records
}
