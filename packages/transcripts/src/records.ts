import { isUtf8 } from 'node:buffer'
import type { Finding } from './finding.js'
import { parseJson } from './json/scan-json.js'
import { isObject } from './json/shapes.js'
import { decode, type Line, readLines } from './lines.js'
import { recordsInside } from './records-inside.js'
import type { Source } from './source.js'

/** One record of a file with a record per line. */
export interface LineRecord {
  /** From 1. */
  readonly line: number
  readonly value: Record<string, unknown>
  /** Its own text: of a line with several records, only this one's. */
  readonly text: string
  /** Of the line in the file, in bytes. */
  readonly offset: number
}

export interface RecordOptions {
  /** Tells a record from an object that only lies inside one. A line that is one object is a record in any case. */
  isRecord?: (value: Record<string, unknown>) => boolean
  report: (finding: Finding) => void
}

/** Where a record lies: enough to read it again with `readRecordAt`. */
export interface RecordSpan {
  readonly line: number
  /** Of the line, in bytes. */
  readonly offset: number
  readonly length: number
  /** Which record of a damaged line, from 0; -1 where the line is the record. */
  readonly part: number
  /** Its own bytes, valid until the next span is asked for. */
  readonly bytes: Uint8Array
}

/**
 * The records of a JSONL file, in order, in memory of about its longest line. Only 0x0A ends a line. What is joined,
 * spliced, torn or filled with zeros is reported; what is whole inside such a line is given all the same, so that
 * each line that is not blank gives a record or a finding.
 */
export function* readRecords(source: Source, options: RecordOptions): Generator<LineRecord> {
  let text = ''
  let value: unknown
  const isWhole = (bytes: Uint8Array): boolean => {
    text = decode(bytes)
    value = parseJson(text)?.value
    return isObject(value)
  }
  for (const { line, offset } of scanRecords(source, { ...options, isWhole })) {
    yield { line, offset, text: text.trim(), value: value as Record<string, unknown> }
  }
}

export interface ScanOptions extends RecordOptions {
  /** Whether the bytes are one JSON object with nothing but white space around; called for each span before it is given. */
  isWhole: (bytes: Uint8Array) => boolean
}

/** The same without the values, for whoever tells whole records by other means than parsing them. */
export function* scanRecords(source: Source, { isWhole, isRecord, report }: ScanOptions): Generator<RecordSpan> {
  let torn: { line: number; bytes: Uint8Array } | undefined
  for (const { line, bytes, offset, hasNewline } of readLines(source)) {
    const where = `line ${line}`
    const filled = withoutNuls(bytes)
    const nuls = bytes.length - filled.length
    if (nuls > 0) report({ code: 'file.nul-run', severity: 'error', where, bytes: nuls })
    if (torn !== undefined) reportTorn(torn, report, { line, bytes: filled })
    torn = undefined
    if (isBlank(filled)) continue
    const length = bytes.length
    if (isWhole(filled)) {
      if (!isUtf8(filled)) report({ code: 'text.not-utf8', severity: 'info', where })
      if (!hasNewline) report({ code: 'file.no-final-newline', severity: 'warning', where })
      yield { line, offset, length, part: nuls > 0 ? 0 : -1, bytes: filled }
      continue
    }
    const inside = recordsInside(filled, isRecord)
    if (inside.records.length === 0) torn = { line, bytes: new Uint8Array(filled) }
    else reportMixed(inside, where, hasNewline, report)
    for (const [part, own] of inside.records.entries()) {
      isWhole(own)
      yield { line, offset, length, part, bytes: own }
    }
  }
  if (torn !== undefined) reportTorn(torn, report)
}

/** The bytes of a record that a scan has found. */
export function readRecordAt(line: Uint8Array, part: number, isRecord?: RecordOptions['isRecord']): Uint8Array {
  if (part < 0) return line
  const filled = withoutNuls(line)
  return recordsInside(filled, isRecord).records[part] ?? filled
}

// --- internal ---

function withoutNuls(bytes: Line['bytes']): Uint8Array {
  return bytes.indexOf(0) < 0 ? bytes : bytes.filter(byte => byte !== 0)
}

function isBlank(bytes: Uint8Array): boolean {
  let at = 0
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d) at++
  return at === bytes.length
}

function reportMixed(
  { records, before, after }: ReturnType<typeof recordsInside>,
  where: string,
  hasNewline: boolean,
  report: (finding: Finding) => void,
): void {
  const recovered = records.length
  if (before > 0) {
    report({ code: 'file.spliced-record', severity: 'error', where, recovered, quarantinedBytes: before + after })
    return
  }
  if (recovered > 1) report({ code: 'file.joined-records', severity: 'error', where, records: recovered })
  if (after > 0) report({ code: 'file.torn-record', severity: 'error', where, quarantinedBytes: after })
  else if (!hasNewline) report({ code: 'file.no-final-newline', severity: 'warning', where })
}

function reportTorn(torn: Torn, report: (finding: Finding) => void, next?: Torn): void {
  const isPrefix = next !== undefined && Buffer.from(next.bytes.subarray(0, torn.bytes.length)).equals(torn.bytes)
  const prefixOf = isPrefix ? { prefixOf: `line ${next.line}` } : {}
  report({ code: 'file.torn-record', severity: 'error', where: `line ${torn.line}`, ...prefixOf })
}

interface Torn {
  line: number
  bytes: Uint8Array
}
