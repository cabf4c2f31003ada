import { readDocument } from '../document.js'
import type { Format, Head, Import } from '../format.js'
import { inspectRecord } from '../inspect.js'
import { inspectDocument } from '../inspect-document.js'
import { losslessJson } from '../json/lossless.js'
import { isObject, type Json, objectsOf, stringOf } from '../json/shapes.js'
import { readRecords } from '../records.js'
import { RunImport } from './openhands/run-import.js'
import { SdkImport } from './openhands/sdk-import.js'

/** OpenHands: evaluation output with a run per line, or the events of the SDK. */
export const openhands: Format = {
  name: 'openhands',
  detect: head => isRunFile(head) || eventsOf(head.document() ?? head.records) !== undefined,
  import(into) {
    const document = readDocument(into.source)
    const events = eventsOf(document?.value)
    if (document !== undefined && events !== undefined) importEvents(into, document.text, events)
    else importLines(into)
  },
}

// --- internal ---

const KINDS =
  /^(SystemPromptEvent|MessageEvent|ActionEvent|ObservationEvent|AgentErrorEvent|Condensation\w*|ConversationStateUpdateEvent)$/

/** A line is often longer than what is looked at, so its first members have to do. */
function isRunFile({ records, text }: Head): boolean {
  if (records.some(isRun)) return true
  const isFirst = /^\s*\{\s*"(instance_id|issue|instruction|test_result|git_patch|metadata)"\s*:/.test(text)
  return isFirst && /"instruction"\s*:\s*"/.test(text) && !/^[^\n]*\n\s*"/.test(text.slice(0, 200))
}

function isRun(value: unknown): value is Json {
  return (
    isObject(value) &&
    Array.isArray(value.history) &&
    ('instance_id' in value || 'issue' in value || 'instruction' in value)
  )
}

function isEvent(value: unknown): value is Json {
  return isObject(value) && typeof value.kind === 'string' && KINDS.test(value.kind)
}

/** The SDK's events: one file of it is one event, an export a list of them. */
function eventsOf(document: unknown): unknown[] | undefined {
  const list = Array.isArray(document) ? document : isObject(document) && isEvent(document) ? [document] : undefined
  return list?.some(isEvent) ? list : undefined
}

function importEvents(into: Import, text: string, events: readonly unknown[]): void {
  inspectDocument(text, events, 'messages', into.report)
  const log = new SdkImport(into)
  for (const [i, event] of objectsOf(events)) log.event(event, `messages[${i}]`)
  log.finish(`messages[${events.length - 1}]`)
}

/** A run per line, of which one is asked for; or an event per line. */
function importLines(into: Import): void {
  let runs = 0
  const log = new SdkImport(into)
  for (const { value: parsed, text, line } of readRecords(into.source, { report: into.report })) {
    const value = losslessJson(parsed) as Json
    const where = `line ${line}`
    if (isEvent(value)) {
      inspectRecord(text, value, where, into.report)
      log.event(value, where)
    } else if (!isRun(value)) into.lose({ kind: 'record', count: 1, reason: 'neither a run nor an event', where })
    else if (runs++ === into.conversation) importRun(into, value, text, where)
  }
  log.finish('file')
  if (runs > 1) into.report({ code: 'file.conversations', severity: 'info', where: 'file', conversations: runs })
  into.about({ conversations: Math.max(runs, 1) })
}

function importRun(into: Import, run: Json, text: string, where: string): void {
  inspectRecord(text, run, where, into.report)
  const number = isObject(run.issue) ? run.issue.number : undefined
  const id = stringOf(run.instance_id) ?? (typeof number === 'number' ? `issue-${number}` : undefined)
  if (id !== undefined) into.about({ id })
  new RunImport(into, where).run(run)
}
