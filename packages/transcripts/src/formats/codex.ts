import type { Format, Head, Import } from '../format.js'
import { isObject, type Json, stringOf, timeOf } from '../json/shapes.js'
import { LogBuilder } from '../log-builder.js'
import { type LineRecord, readRecords } from '../records.js'
import { bytesSource } from '../source.js'
import type { CutCall } from './codex/answer.js'
import { decompressed } from './codex/compressed-rollout.js'
import { RolloutImport } from './codex/rollout-import.js'
import { isBare, isRollout, isWrapped, rolloutRecord } from './codex/rollout-record.js'
import { isCompressed } from './dsh/frames.js'

/** Codex rollouts: a file with a record per line, the model's history (`response_item`) beside the UI's (`event_msg`). */
export const codex: Format = { name: 'codex', detect: isCodex, import: importCodex }

// --- internal ---

/** The first record may be longer than what is looked at. */
function isCodex({ bytes, records, text }: Head): boolean {
  if (isCompressed(bytes)) return isRollout(firstRecords(decompressed(bytes).bytes))
  return isRollout(records) || /^\s*\{[^{}]{0,200}"type"\s*:\s*"session_meta"\s*,\s*"payload"\s*:\s*\{/.test(text)
}

function firstRecords(bytes: Uint8Array): Json[] {
  const records: Json[] = []
  for (const { value } of readRecords(bytesSource(bytes), { report: () => {} })) {
    records.push(value)
    if (records.length === FIRST_RECORDS) break
  }
  return records
}

const FIRST_RECORDS = 5

/** Places are lines of the text, in a compressed file too. */
function importCodex(into: Import): void {
  const { source } = into
  if (!isCompressed(source.read(0, Math.min(4, source.size)))) {
    importLines(into)
    return
  }
  const { bytes, isTorn } = decompressed(source.read(0, source.size))
  if (isTorn) into.report({ code: 'file.torn-frame', severity: 'error', where: 'frame 1' })
  importLines({ ...into, source: bytesSource(bytes) })
}

function importLines(into: Import): void {
  const rollout = new RolloutImport(into, linesRolledBack(into), callsOf(into))
  for (const record of rolloutRecords(into)) rollout.record(record)
  rollout.finish()
}

/** Items stand bare in old files only: in others one that is cut free of its wrapper is no record. */
function* rolloutRecords({ source, report }: Pick<Import, 'source' | 'report'>): Generator<LineRecord> {
  let hasWrapped = false
  const isRecord = (value: Record<string, unknown>) => isWrapped(value) || (!hasWrapped && isBare(value))
  for (const record of readRecords(source, { isRecord, report })) {
    if (isWrapped(record.value)) hasWrapped = true
    yield record
  }
}

/** The items of all calls, read once more when the first is asked for: a compaction seldom cuts one off from its output. */
function callsOf({ source }: Import): (id: string) => CutCall | undefined {
  let calls: Map<string, CutCall> | undefined
  return id => {
    calls ??= new Map(
      [...callItems(source)].map(({ item, place }): [string, CutCall] => [stringOf(item.call_id)!, { item, place }]),
    )
    return calls.get(id)
  }
}

function* callItems(source: Import['source']): Generator<CutCall> {
  for (const record of rolloutRecords({ source, report: () => {} })) {
    const { type, payload } = rolloutRecord(record) ?? {}
    const isCall = type === 'response_item' && isObject(payload) && /_call$/.test(stringOf(payload.type) ?? '')
    if (!isCall || stringOf(payload.call_id) === undefined) continue
    yield { item: payload, place: { where: `line ${record.line}`, time: timeOf(record.value.timestamp) } }
  }
}

/**
 * The lines of turns that were rolled back with nothing said after: nothing takes their place, so they must not come
 * to stand in the log as messages. Found by reading once more, which only files with a rollback need.
 */
function linesRolledBack(into: Import): ReadonlySet<string> {
  const gone = new Set<string>()
  if (!mentionsRollback(into)) return gone
  for (let round = 0; round < ROUNDS; round++) {
    const lines = linesUndone(into, gone)
    if (lines === undefined) break
    for (const line of lines) gone.add(line)
  }
  return gone
}

/** `undefined` where all is replaced, or where a compaction put there what was undone. */
function linesUndone({ source }: Import, gone: ReadonlySet<string>): string[] | undefined {
  const wheres = new Map<number, readonly string[]>()
  let rollbacks: string[] = []
  const log = new LogBuilder((event, { where, parts = [] }) => {
    if (event.surfaceOp === undefined) return
    wheres.set(event.seq, [where, ...parts])
    rollbacks = []
  })
  const compacted = new Set<string>()
  const mute = { log, report: () => {}, lose: () => {}, about: () => {} }
  const rollout = new RolloutImport(mute, gone)
  for (const record of rolloutRecords({ source, report: () => {} })) {
    const where = `line ${record.line}`
    if (record.value.type === 'compacted') compacted.add(where)
    rollout.record(record)
    if (isRollback(record.value)) rollbacks.push(where)
  }
  const last = rollbacks
  const undone = rollout.finish()
  if (undone.length === 0) return undefined
  const lines = undone.flatMap(seq => wheres.get(seq)!)
  return lines.some(line => compacted.has(line)) ? undefined : [...last, ...lines]
}

function isRollback({ payload }: Record<string, unknown>): boolean {
  return (payload as { type?: unknown } | undefined)?.type === ROLLBACK
}

function mentionsRollback({ source }: Import): boolean {
  const step = 1 << 20
  for (let from = 0; from < source.size; from += step) {
    const bytes = source.read(from, Math.min(source.size, from + step + ROLLBACK.length))
    if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(ROLLBACK)) return true
  }
  return false
}

const ROLLBACK = 'thread_rolled_back'
/** Each takes away one rollback at the end, so that one before it may come to stand there. */
const ROUNDS = 20
