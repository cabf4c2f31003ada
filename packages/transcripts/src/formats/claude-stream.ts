import type { AssistantPart } from '@palimpsest/session'
import type { Finding } from '../finding.js'
import type { Format, Head, Import } from '../format.js'
import { inspectRecord } from '../inspect.js'
import { inspectDocument } from '../inspect-document.js'
import { RawTexts } from '../json/raw-text.js'
import { parseJson } from '../json/scan-json.js'
import { type Json, objectsOf, stringOf } from '../json/shapes.js'
import type { Place } from '../place.js'
import { readRecords } from '../records.js'
import { readText } from '../source.js'
import { inputOfValue } from '../tool-input.js'
import { vendorOf } from '../vendor.js'
import { assistantPart, resultOf, userPart } from './anthropic-blocks.js'
import { finishReasonOf, usageOf } from './claude-code/answer.js'
import { blocksOf, messageOf } from './claude-code/record.js'

/** What Claude Code prints with `--output-format stream-json`: a line per record, or an array of them. */
export const claudeStream: Format = { name: 'claude-stream-json', detect: isStream, import: importStream }

// --- internal ---

interface StreamRecord {
  readonly record: Json
  readonly where: string
  /** Text of the value at a path in the record, where the parsed value would not give it back. */
  rawAt(path: (string | number)[]): string | undefined
}

function isStream(head: Head): boolean {
  const document = head.document()
  const records = Array.isArray(document) ? objectsOf(document).map(([, each]) => each) : head.records
  return records.slice(0, 20).some(isStreamRecord)
}

function isStreamRecord(record: Json): boolean {
  if (typeof record.session_id !== 'string' || 'parentUuid' in record) return false
  if (record.type === 'system') return record.subtype === 'init'
  return (record.type === 'user' || record.type === 'assistant') && messageOf(record) !== undefined
}

function importStream(into: Import): void {
  const records = recordsOf(into)
  const stream = new StreamImport(into)
  for (const record of joinParts(records)) stream.add(record)
  into.log.finish({ where: records.at(-1)?.where ?? 'file' })
}

function recordsOf({ source, report }: Import): StreamRecord[] {
  const text = readText(source)
  const document = parseJson(text)?.value
  if (Array.isArray(document)) return recordsInDocument(text, document, report)
  return [...readRecords(source, { isRecord: isStreamRecord, report })].map(({ value, text, line }) => {
    const where = `line ${line}`
    inspectRecord(text, value, where, report)
    const raw = new RawTexts(text)
    return { record: value, where, rawAt: path => raw.at(path) }
  })
}

function recordsInDocument(text: string, document: unknown[], report: (finding: Finding) => void): StreamRecord[] {
  inspectDocument(text, document, 'messages', report)
  const raw = new RawTexts(text)
  return objectsOf(document).map(([i, record]) => ({
    record,
    where: `messages[${i}]`,
    rawAt: path => raw.at([i, ...path]),
  }))
}

/** Records of one API message, each of which holds a part of it, side by side. */
function joinParts(records: readonly StreamRecord[]): StreamRecord[][] {
  const groups: StreamRecord[][] = []
  const byMessage = new Map<string, StreamRecord[]>()
  for (const each of records) {
    if (each.record.type === 'user' && !isResults(each.record)) byMessage.clear()
    const id = each.record.type === 'assistant' ? stringOf(messageOf(each.record)?.id) : undefined
    const group = id === undefined ? undefined : byMessage.get(id)
    if (group !== undefined) group.push(each)
    else {
      groups.push([each])
      if (id !== undefined) byMessage.set(id, groups.at(-1)!)
    }
  }
  return groups
}

function isResults(record: Json): boolean {
  return blocksOf(messageOf(record) ?? {}).some(({ block }) => block.type === 'tool_result')
}

class StreamImport {
  readonly #into: Import
  readonly #toolNames = new Map<string, string>()

  constructor(into: Import) {
    this.#into = into
  }

  add(group: readonly StreamRecord[]): void {
    const { record, where } = group[0]!
    const isSubagent = typeof record.parent_tool_use_id === 'string'
    if (messageOf(record) === undefined || isSubagent) for (const each of group) this.#note(each)
    else if (record.type === 'assistant') this.#assistant(group)
    else if (record.type === 'user') this.#user(record, where)
    else this.#note(group[0]!)
  }

  // --- internal ---

  #note({ record, where }: StreamRecord): void {
    const { type, subtype } = record
    if (type === 'system' && subtype === 'init') this.#begin(record, where)
    this.#into.log.note(`import/claude-stream-json.${stringOf(type) ?? 'unknown'}`, record as never, { where })
  }

  #begin({ session_id, cwd, model }: Json, where: string): void {
    this.#into.about({
      ...(typeof session_id === 'string' && { id: session_id }),
      ...(typeof cwd === 'string' && { cwd }),
    })
    if (typeof model === 'string') this.#setModel(model, { where })
  }

  #setModel(model: string, place: Place): void {
    this.#into.about({ model, vendor: vendorOf('anthropic', model)! })
    this.#into.log.header({ model, settings: {} }, place)
  }

  #assistant(group: readonly StreamRecord[]): void {
    const parts: AssistantPart[] = []
    const places: string[] = []
    for (const each of group) {
      const { record, where, rawAt } = each
      const blocks = blocksOf(messageOf(record)!)
      // The message stands where its first record does; another one that holds none of it is kept by itself.
      if (blocks.length === 0 && each !== group[0]) this.#note(each)
      for (const { block, at } of blocks) {
        const raw =
          at === undefined || block.type !== 'tool_use' ? undefined : rawAt(['message', 'content', at, 'input'])
        const part = assistantPart(block, inputOfValue(block.input, raw))
        if (part.type === 'tool-call') this.#toolNames.set(part.toolCallId, part.toolName)
        parts.push(part)
        places.push(where)
      }
    }
    const place = { where: group[0]!.where, parts: places }
    const { model, usage } = messageOf(group.at(-1)!.record)!
    const finishReason = finishReasonOf(group.map(({ record }) => messageOf(record)?.stop_reason))
    if (typeof model === 'string') this.#setModel(model, place)
    this.#into.log.assistant(parts, place, {
      model: stringOf(model),
      vendor: vendorOf('anthropic', stringOf(model)),
      usage: usageOf(usage),
      ...(finishReason && { finishReason }),
    })
  }

  #user(record: Json, where: string): void {
    const blocks = blocksOf(messageOf(record)!).map(({ block }) => block)
    const results = blocks.filter(({ type }) => type === 'tool_result')
    const rest = blocks.filter(({ type }) => type !== 'tool_result')
    if (blocks.slice(0, results.length).some(({ type }) => type !== 'tool_result')) {
      const ids = results.map(block => stringOf(block.tool_use_id) ?? '')
      this.#into.report({ code: 'order.result-not-leading', severity: 'error', where, ids })
    }
    for (const block of results) {
      const toolCallId = stringOf(block.tool_use_id) ?? ''
      const result = { toolCallId, toolName: this.#toolNames.get(toolCallId), ...resultOf(block) }
      this.#into.log.result(result, { where, parts: [where] })
    }
    if (rest.length > 0 || results.length === 0) {
      this.#into.log.user(rest.map(userPart), { where, parts: rest.map(() => where) })
    }
  }
}
