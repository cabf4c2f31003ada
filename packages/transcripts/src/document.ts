import type { JsonValue } from '@palimpsest/session'
import type { Finding } from './finding.js'
import type { Import } from './format.js'
import { closeTorn } from './json/close-torn.js'
import { losslessJson } from './json/lossless.js'
import { parseJson } from './json/scan-json.js'
import { isObject } from './json/shapes.js'
import { wholeValues } from './json/whole-values.js'
import { readText, type Source } from './source.js'

export interface JsonDocument {
  readonly text: string
  /** As a log may hold it, so of a depth that can be walked. */
  readonly value: JsonValue
  /** What is wrong with the file, and not with what the document says. */
  readonly damage: readonly Finding[]
}

/**
 * A file that is one JSON document, or the beginning of one; `undefined` for any other, which costs a look at its
 * first line where that is a record. Zeros are skipped, and the rest of an older, longer file behind the document.
 */
export function readDocument(source: Source): JsonDocument | undefined {
  if (source.size > LARGEST || beginsWithRecord(source)) return undefined
  const given = readText(source)
  const text = given.replaceAll('\0', '')
  const nuls = given.length - text.length
  const damage: Finding[] = nuls > 0 ? [{ code: 'file.nul-run', severity: 'error', where: 'file', bytes: nuls }] : []
  const parsed = parseJson(text)
  if (parsed !== undefined) return { text, value: losslessJson(parsed.value), damage }
  const found = lastWhole(text) ?? beginning(text)
  return found && { ...found, damage: [...damage, ...found.damage] }
}

/** The document that a format of documents has found, whose loss is reported. */
export function openDocument({ source, report, about }: Import): JsonDocument | undefined {
  const document = readDocument(source)
  for (const finding of document?.damage ?? [torn('file')]) report(finding)
  if (document === undefined) about({ unreadable: true })
  return document
}

// --- internal ---

/** Of documents one behind the other the one that was written last. */
function lastWhole(text: string): JsonDocument | undefined {
  const { values, rest } = wholeValues(text)
  const last = values.at(-1)
  const value = last === undefined ? undefined : parseJson(last)?.value
  if (last === undefined || !isDocument(value)) return undefined
  const damage: Finding[] = []
  const records = values.length
  if (records > 1) damage.push({ code: 'file.joined-records', severity: 'error', where: 'file', records })
  if (rest > 0) damage.push({ ...torn('file'), quarantinedBytes: rest })
  return { text: last, value: losslessJson(value), damage }
}

function beginning(text: string): JsonDocument | undefined {
  const closed = closeTorn(text)
  if (closed === undefined) return undefined
  const begun = parseJson(closed.text)
  if (begun === undefined || (closed.isWhole && !isDocument(begun.value))) return undefined
  return { text: closed.text, value: losslessJson(begun.value), damage: [torn(closed.where)] }
}

function torn(where: string): Finding {
  return { code: 'file.torn-record', severity: 'error', where }
}

/** Told from a record of a file with a record per line. */
function isDocument(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(isObject)
  return isObject(value) && LISTS.some(name => Array.isArray(value[name]))
}

const LISTS = ['messages', 'history', 'contents', 'input', 'trajectory']

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
