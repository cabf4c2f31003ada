import type { Finding } from './finding.js'
import { parseJson, scanJson } from './json/scan-json.js'
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
  /** Tells a record from an object that only lies inside one. */
  isRecord?: (value: Record<string, unknown>) => boolean
  report: (finding: Finding) => void
}

/**
 * The records of a JSONL file, in order, in memory of about its longest line. Only 0x0A ends a line. What is joined,
 * spliced, torn or filled with zeros is reported; what is whole inside such a line is given all the same.
 */
export function* readRecords(source: Source, { isRecord = () => true, report }: RecordOptions): Generator<LineRecord> {
  let torn: { line: number; text: string } | undefined
  for (const { line, bytes, offset, isLast } of readLines(source)) {
    const full = decode(bytes)
    const nuls = full.match(NUL_RUN)?.join('').length ?? 0
    const text = nuls > 0 ? full.replaceAll('\0', '') : full
    if (nuls > 0) report({ code: 'file.nul-run', severity: 'error', where: `line ${line}`, bytes: nuls })
    if (torn !== undefined) reportTorn(torn, text, line, report)
    torn = undefined
    if (text.trim() === '') continue
    const parts = readLine(text, isRecord)
    if (parts.records.length === 0) torn = { line, text: parts.rest }
    else reportMixed(parts, line, report)
    for (const part of parts.records) yield { line, offset, ...part }
    if (isLast && parts.records.length > 0 && parts.rest === '') {
      report({ code: 'file.no-final-newline', severity: 'warning', where: `line ${line}` })
    }
  }
  if (torn !== undefined) reportTorn(torn, undefined, 0, report)
}

interface Line {
  readonly line: number
  readonly bytes: Uint8Array
  readonly offset: number
  /** Without a newline behind it. */
  readonly isLast: boolean
}

/** The lines of a source, without their newlines. An empty rest behind the last newline is none. */
export function* readLines(source: Source): Generator<Line> {
  let rest: Uint8Array[] = []
  let offset = 0
  let line = 1
  for (let from = 0; from < source.size; from += CHUNK) {
    const chunk = source.read(from, Math.min(from + CHUNK, source.size))
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const bytes = join(rest, chunk.subarray(start, end))
      rest = []
      yield { line, bytes, offset, isLast: false }
      offset += bytes.length + 1
      line += 1
      start = end + 1
    }
    // A source may use its buffer again.
    if (start < chunk.length) rest.push(chunk.slice(start))
  }
  const bytes = join(rest, new Uint8Array())
  if (bytes.length > 0) yield { line, bytes, offset, isLast: true }
}

// --- internal ---

const NEWLINE = 0x0a
const CHUNK = 1 << 20
const NUL_RUN = /\0+/g

/** Characters looked at for records in one bad line, so that a hostile one costs seconds and not hours. */
const SCAN_BUDGET = 200_000_000

interface Parts {
  records: { value: Record<string, unknown>; text: string }[]
  /** Text that is no record. */
  rest: string
}

function readLine(text: string, isRecord: (value: Record<string, unknown>) => boolean): Parts {
  const whole = parseJson(text)
  if (whole !== undefined && isObject(whole.value))
    return { records: [{ value: whole.value, text: text.trim() }], rest: '' }
  const parts: Parts = { records: [], rest: '' }
  let budget = SCAN_BUDGET
  for (let at = 0; at < text.length; ) {
    const start = budget > 0 ? text.indexOf('{', at) : -1
    const found = start < 0 ? undefined : recordAt(text, start, isRecord)
    if (found === undefined) budget -= text.length - at
    if (found === undefined) {
      const next = start < 0 ? text.length : start + 1
      parts.rest += text.slice(at, next)
      at = next
    } else {
      parts.rest += text.slice(at, start)
      parts.records.push(found)
      at = start + found.text.length
    }
  }
  parts.rest = parts.rest.trim()
  return parts
}

function recordAt(text: string, start: number, isRecord: (value: Record<string, unknown>) => boolean) {
  const end = scanJson(text, start)
  if (end === undefined) return undefined
  const own = text.slice(start, end)
  const value = parseJson(own)?.value
  return isObject(value) && isRecord(value) ? { value, text: own } : undefined
}

function reportMixed({ records, rest }: Parts, line: number, report: (finding: Finding) => void): void {
  const where = `line ${line}`
  if (rest !== '') {
    const quarantinedBytes = Buffer.byteLength(rest)
    report({ code: 'file.spliced-record', severity: 'error', where, recovered: records.length, quarantinedBytes })
  } else if (records.length > 1) {
    report({ code: 'file.joined-records', severity: 'error', where, records: records.length })
  }
}

function reportTorn(
  torn: { line: number; text: string },
  next: string | undefined,
  line: number,
  report: (finding: Finding) => void,
): void {
  const isPrefix = next !== undefined && torn.text !== '' && next.startsWith(torn.text)
  const prefixOf = isPrefix ? { prefixOf: `line ${line}` } : {}
  report({ code: 'file.torn-record', severity: 'error', where: `line ${torn.line}`, ...prefixOf })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

const decoder = new TextDecoder()

function decode(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}

function join(parts: readonly Uint8Array[], last: Uint8Array): Uint8Array {
  if (parts.length === 0) return last
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, last.length))
  let at = 0
  for (const part of [...parts, last]) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
