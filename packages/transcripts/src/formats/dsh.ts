import type { Format, Head, Import } from '../format.js'
import { inspectRecord } from '../inspect.js'
import { losslessJson } from '../json/lossless.js'
import { isObject, type Json } from '../json/shapes.js'
import { type LineRecord, readRecords } from '../records.js'
import { bytesSource } from '../source.js'
import { type Frame, isCompressed, readFrames } from './dsh/frames.js'
import { DshImport } from './dsh/importer.js'

/** DeepSeek Harness: a header, then an event a line; plain, or compressed with a frame for each batch. */
export const dsh: Format = {
  name: 'dsh',
  detect: head => isLog(isCompressed(head.bytes) ? firstRecords(head) : head.records),
  import(into) {
    into.about({ hasOwnTurns: true })
    if (isCompressed(into.source.read(0, Math.min(4, into.source.size)))) importFrames(into)
    else importLines(into)
  },
}

// --- internal ---

function isLog(records: readonly Json[]): boolean {
  const [first] = records
  if (first?.type === 'session') return 'createdAt' in first && !('crc' in first)
  return records.some(isOwnEvent)
}

function isRecord(value: Json): boolean {
  return value.type === 'session' || (typeof value.type === 'string' && isObject(value.data))
}

/** One that no other format has: of a log that lost its header. */
function isOwnEvent(value: Json): boolean {
  return (
    isRecord(value) &&
    !('crc' in value) &&
    /^(turn|step)\/(start|end)$|^(user|assistant)\/message$/.test(String(value.type))
  )
}

/** Of the first frames that lie in the head whole. */
function firstRecords({ bytes }: Head): Json[] {
  const records: Json[] = []
  for (const frame of readFrames(bytesSource(bytes))) {
    for (const { value } of readRecords(bytesSource(frame.bytes), { report: () => {} })) records.push(value)
    if (records.length > 0) break
  }
  return records
}

function importLines(into: Import): void {
  const log = new DshImport(into)
  let isFirst = true
  for (const record of readRecords(into.source, { isRecord, report: into.report })) {
    const where = `line ${record.line}`
    if (!importRecord(into, log, record, { isFirst, where, whereOf: () => where })) break
    isFirst = false
  }
  log.finish()
}

function importFrames(into: Import): void {
  const log = new DshImport(into)
  let isFirst = true
  for (const { frame, record } of recordsOfFrames(into)) {
    const place = { isFirst, where: `frame ${frame}`, whereOf: (seq: number) => `seq ${seq}` }
    if (!importRecord(into, log, record, place)) break
    isFirst = false
  }
  log.finish()
}

function* recordsOfFrames(into: Import): Generator<{ frame: number; record: LineRecord }> {
  for (const frame of readFrames(into.source)) {
    for (const record of recordsOf(frame, into)) yield { frame: frame.number, record }
  }
}

/** A frame that is not whole is reported as such; of its records those count that are. */
function* recordsOf({ number, bytes, state }: Frame, { report }: Import): Generator<LineRecord> {
  const where = `frame ${number}`
  if (state !== 'whole') report({ code: 'file.torn-frame', severity: 'error', where })
  const source = bytesSource(bytes)
  yield* readRecords(source, {
    isRecord,
    report: finding => {
      if (state === 'whole' && finding.code !== 'file.no-final-newline') report({ ...finding, where })
    },
  })
}

/** What a request is made of: halves of a character in a stream's pieces are none in its message. */
const SENT = /^(user|assistant)\/message$|^tool\/result$|^request\/header$/

interface RecordPlace {
  isFirst: boolean
  where: string
  whereOf: (seq: number) => string
}

/** `false`: reading ends here. */
function importRecord(into: Import, log: DshImport, { value: parsed, text }: LineRecord, place: RecordPlace): boolean {
  const value = losslessJson(parsed) as Json
  const { isFirst, where, whereOf } = place
  if (value.type === 'session' && !('seq' in value)) {
    if (isFirst) return log.header(value, where)
    into.report({ code: 'file.second-header', severity: 'info', where })
    return true
  }
  if (SENT.test(String(value.type))) {
    inspectRecord(text, value, typeof value.seq === 'number' ? whereOf(value.seq) : where, into.report)
  }
  return log.event(value, whereOf)
}
