import { readDocument, readRecords, type Source, streamTranscript } from '@palimpsest/transcripts'

export interface ScanRecord {
  readonly where: string
  readonly value: unknown
  readonly text: string
}

/** The records of a transcript as they stand in it: lines, the entries of a document's lists, events of a packed log. */
export function* recordsToScan(source: Source, format: string): Generator<ScanRecord> {
  if (isPacked(source)) yield* eventsOf(source, format)
  else {
    const document = readDocument(source)
    // One that is damaged may be a file of records whose first line is cut.
    if (document?.damage.length === 0) yield* entriesOf(document.value)
    // A letter written as an escape hides a secret from a look at the text.
    else
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
