import type { AssistantPart, JsonObject, UserPart } from '@palimpsest/session'
import type { Import } from '../../format.js'
import { inspectRecord } from '../../inspect.js'
import { RawTexts } from '../../json/raw-text.js'
import { isObject, type Json, stringOf } from '../../json/shapes.js'
import type { Replaced } from '../../log-builder.js'
import type { Place } from '../../place.js'
import { inputOfValue } from '../../tool-input.js'
import { vendorOf } from '../../vendor.js'
import { assistantPart, resultOf, userPart } from '../anthropic-blocks.js'
import { finishReasonOf, usageOf } from './answer.js'
import type { Lineage } from './lineage.js'
import { blocksOf, COMPACTION, INTERRUPTED, messageOf } from './record.js'
import type { RowIndex } from './row-index.js'
import { FLAG, KIND } from './row-kinds.js'
import type { ReadMessage, ReadRow, RowReader } from './row-reader.js'

/** Reads the rows a second time and writes what they hold, each exactly once. */
export class RowWriter {
  readonly #into: Import
  readonly #rows: RowIndex
  readonly #lineage: Lineage
  readonly #reader: RowReader
  readonly #written: Uint8Array
  /** Prompts of the conversation up to a row: no message goes over one. */
  readonly #prompts: Int32Array
  readonly #waiting = new Map<number, number[]>()
  readonly #toolNames = new Map<string, string>()
  /** Texts that subagents were started with, by the call that did it. */
  readonly #tasks = new Map<string, string>()
  /** What an edited prompt takes the place of. */
  readonly #stretches = new Map<number, number[]>()
  /** Seqs of messages that a compaction kept, by one of their rows. */
  readonly #kept = new Map<number, number>()
  /** Rows with risky characters or numbers that were told of. */
  readonly #inspected = new Set<number>()
  readonly #isPreserved: ReadonlySet<number>
  #model: string | undefined

  constructor(into: Import, rows: RowIndex, lineage: Lineage, reader: RowReader) {
    this.#into = into
    this.#rows = rows
    this.#lineage = lineage
    this.#reader = reader
    this.#written = new Uint8Array(rows.length)
    this.#prompts = new Int32Array(rows.length)
    let prompts = 0
    for (let row = 0; row < rows.length; row++) {
      if (this.#isLive(row) && rows.is(row, FLAG.prompt)) prompts += 1
      this.#prompts[row] = prompts
    }
    this.#isPreserved = new Set([...lineage.summaries.values()].flatMap(({ preserved }) => preserved))
  }

  /** The model of the newest answer. */
  get model(): string | undefined {
    return this.#model
  }

  run(): void {
    for (let row = 0; row < this.#rows.length; row++) if (!this.#isHeldBack(row)) this.#writeWithWaiting(row)
    // Rows that wait for each other.
    for (let row = 0; row < this.#rows.length; row++) if (this.#written[row] === 0) this.#writeWithWaiting(row)
  }

  // --- internal ---

  #isLive(row: number): boolean {
    return this.#lineage.segments[row]! >= 0
  }

  /** Whether its parent stands behind it in the file, or waits for such a one. Rows of a written message do not wait. */
  #isHeldBack(row: number): boolean {
    if (!this.#isLive(row)) return false
    const parent = this.#lineage.parentOf(row)
    if (this.#isTooEarly(row, parent)) this.#reportClock(row, parent)
    if (parent < 0 || this.#written[row] === 1 || this.#written[parent] === 1 || !this.#isLive(parent)) return false
    const others = this.#waiting.get(parent)
    if (others === undefined) this.#waiting.set(parent, [row])
    else others.push(row)
    return true
  }

  /** By its place, or by the clock; agents write rows of one moment in any order. */
  #isTooEarly(row: number, parent: number): boolean {
    if (parent < 0 || !this.#rows.is(row, FLAG.message)) return false
    const isEarlier = this.#rows.times[parent]! - this.#rows.times[row]! > JITTER_MS
    return parent > row || (isEarlier && this.#rows.is(parent, FLAG.message))
  }

  #reportClock(row: number, parent: number): void {
    this.#into.report({
      code: 'order.clock-disagrees',
      severity: 'error',
      where: `line ${this.#rows.lines[row]}`,
      id: this.#reader.uuid(row),
      parent: this.#reader.uuid(parent),
    })
  }

  #writeWithWaiting(first: number): void {
    const ready = [first]
    for (let row = ready.pop(); row !== undefined; row = ready.pop()) {
      if (this.#written[row] === 1) continue
      const rows = this.#rowsOfMessage(row)
      for (const each of rows) this.#written[each] = 1
      this.#write(row, rows)
      if (this.#waiting.size === 0) continue
      for (const each of rows.reverse()) {
        ready.push(...(this.#waiting.get(each) ?? []).reverse())
        this.#waiting.delete(each)
      }
    }
  }

  /** The rows of one API message: this one, and later ones of the same id, wherever they lie. */
  #rowsOfMessage(row: number): number[] {
    const rows = [row]
    const { segments, replacedBy } = this.#lineage
    if (this.#rows.messageOf[row]! < 0) return rows
    for (let next = this.#rows.nextOfMessage[row]!; next >= 0; next = this.#rows.nextOfMessage[next]!) {
      if (this.#prompts[next] !== this.#prompts[row]) break
      const isSame = segments[next] === segments[row] && replacedBy.get(next) === replacedBy.get(row)
      if (isSame && this.#written[next] === 0) rows.push(next)
    }
    return rows
  }

  #write(row: number, rows: readonly number[]): void {
    this.#into.log.isLossless = true
    const { replacedBy, summaries } = this.#lineage
    const edit = replacedBy.get(row)
    const summary = summaries.get(row)
    const isMessage = this.#rows.is(row, FLAG.message) && (this.#isLive(row) || edit !== undefined)
    if (summary !== undefined) this.#summary(row, summary.preserved)
    else if (this.#rows.kinds[row] === KIND.attachment && this.#isLive(row)) this.#attachment(row)
    else if (!isMessage || this.#rows.is(row, FLAG.failed) || this.#rows.is(row, FLAG.summary)) {
      for (const each of rows) this.#note(each)
    } else this.#message(row, rows, edit)
  }

  #message(row: number, rows: readonly number[], edit: number | undefined): void {
    const { log } = this.#into
    const size = log.surface.length
    this.#messages(rows)
    const added = log.surface.slice(size)
    if (added.length === 0) return
    if (edit !== undefined) {
      const stretch = this.#stretches.get(edit)
      if (stretch === undefined) this.#stretches.set(edit, added)
      else stretch.push(...added)
    }
    if (rows.every(each => this.#isPreserved.has(each))) for (const seq of added) this.#kept.set(seq, row)
  }

  /** Rows of one message, or of a user. */
  #messages(rows: readonly number[]): void {
    const read: MessageRow[] = []
    for (const row of rows) {
      const each = this.#readMessage(row)
      if (each !== undefined) read.push({ row, message: each.message, text: each.text })
    }
    const [first] = read
    if (first === undefined) return
    if (this.#rows.kinds[first.row] === KIND.assistant) this.#assistant(read)
    else this.#user(first)
  }

  /** The blocks of a message, and a word on what is none. */
  #blocks({ row, message }: MessageRow): { block: Json; at?: number }[] {
    const blocks = blocksOf(message)
    const count = Array.isArray(message.content) ? message.content.length - blocks.length : 0
    if (count > 0) this.#into.lose({ kind: 'record', count, reason: 'not a content block', where: this.#where(row) })
    return blocks
  }

  #assistant(rows: readonly MessageRow[]): void {
    const parts: AssistantPart[] = []
    const places: string[] = []
    for (const each of rows) {
      const { row, text } = each
      const raw = this.#rows.is(row, FLAG.inexact | FLAG.risky) ? new RawTexts(text) : undefined
      const blocks = this.#blocks(each)
      const where = this.#where(row)
      if (blocks.length === 0 && rows.length > 1) this.#note(row)
      for (const { block, at } of blocks) {
        const own = at === undefined || block.type !== 'tool_use' ? undefined : raw?.at(['content', at, 'input'])
        const part = assistantPart(block, inputOfValue(block.input, own))
        if (part.type === 'tool-call') this.#noteCall(part.toolCallId, part.toolName, block.input)
        parts.push(part)
        places.push(where)
      }
    }
    const { message } = rows.at(-1)!
    const model = stringOf(message.model)
    const [{ row: first }] = rows as [MessageRow]
    const place = { where: this.#where(first), parts: places, time: this.#rows.times[first] }
    if (model !== undefined && model !== this.#model) {
      this.#model = model
      this.#into.log.header({ model, settings: {} }, place)
    }
    const finishReason = finishReasonOf(rows.map(({ message }) => message.stop_reason))
    this.#into.log.assistant(parts, place, {
      model,
      vendor: vendorOf('anthropic', model),
      usage: usageOf(message.usage),
      ...(finishReason && { finishReason }),
    })
  }

  #user(read: MessageRow): void {
    const { row } = read
    const place = this.#place(row)
    const results: Json[] = []
    const rest: Json[] = []
    let isBehind = false
    for (const { block } of this.#blocks(read)) {
      const isResult = block.type === 'tool_result'
      if (isResult && rest.length > 0) isBehind = true
      if (isResult) results.push(block)
      else rest.push(block)
    }
    if (isBehind) {
      const ids = results.map(block => stringOf(block.tool_use_id) ?? '')
      this.#into.report({ code: 'order.result-not-leading', severity: 'error', where: place.where, ids })
    }
    const whole = inParts(place, 1)
    for (const block of results) {
      const toolCallId = stringOf(block.tool_use_id) ?? ''
      const toolName = this.#toolNames.get(toolCallId)
      const { output, providerOptions } = resultOf(block)
      const result = { toolCallId, toolName, output, ...(providerOptions && { providerOptions }) }
      this.#into.log.result(result, whole)
    }
    if (rest.length > 0 || results.length === 0) this.#said(row, rest.map(userPart), place)
  }

  #said(row: number, parts: UserPart[], place: Place): void {
    const { log } = this.#into
    const whole = inParts(place, parts.length)
    const [first] = parts
    if (first?.type === 'text' && first.text.startsWith(INTERRUPTED)) {
      log.context(parts, 'claude-code/interrupt', whole)
      log.endTurn(place, { kind: 'interrupted' })
    } else if (this.#rows.is(row, FLAG.meta)) log.context(parts, 'claude-code/meta', whole)
    else {
      const replacing = this.#stretchFor(row)
      log.user(parts, whole, replacing && { replacing })
    }
  }

  /** The visible run of messages that an edited prompt takes the place of. */
  #stretchFor(prompt: number): Replaced | undefined {
    const stretch = this.#stretches.get(prompt)
    // Nearly every prompt: no look at a surface that grows with the file.
    if (stretch === undefined) return undefined
    this.#stretches.delete(prompt)
    const given = new Set(stretch)
    const { surface } = this.#into.log
    const end = surface.findLastIndex(seq => given.has(seq))
    if (end < 0) return undefined
    let start = end
    while (start > 0 && given.has(surface[start - 1]!)) start--
    return { start: surface[start]!, end: surface[end]! }
  }

  /** Takes the place of all that is visible but for what was kept, which goes on behind it. */
  #summary(row: number, preserved: readonly number[]): void {
    const { log } = this.#into
    const read = this.#readMessage(row)
    if (read === undefined) return
    const { surface } = log
    const kept = new Set(preserved)
    let from = surface.length
    while (from > 0 && kept.has(this.#kept.get(surface[from - 1]!) ?? -1)) from--
    const isTail = new Set(surface.slice(from).map(seq => this.#kept.get(seq))).size >= this.#messagesIn(preserved)
    const until = isTail && from > 0 ? from : surface.length
    const replacing = until === 0 ? undefined : { start: surface[0]!, end: surface[until - 1]! }
    const isAgain = until === surface.length
    const place = this.#place(row)
    const parts = this.#blocks({ row, ...read }).map(({ block }) => userPart(block))
    const whole = { ...place, parts: parts.map(() => place.where) }
    log.context(parts, COMPACTION, whole, replacing && { replacing })
    this.#kept.clear()
    if (isAgain) this.#again(preserved)
  }

  /** How many messages the rows are of. */
  #messagesIn(rows: readonly number[]): number {
    return this.#grouped(rows).length
  }

  #grouped(rows: readonly number[]): number[][] {
    const groups: number[][] = []
    const byMessage = new Map<number, number[]>()
    for (const row of rows) {
      if (!this.#rows.is(row, FLAG.message) || this.#rows.is(row, FLAG.failed)) continue
      const message = this.#rows.messageOf[row]!
      const group = message < 0 ? undefined : byMessage.get(message)
      if (group !== undefined) group.push(row)
      else {
        groups.push([row])
        if (message >= 0) byMessage.set(message, groups.at(-1)!)
      }
    }
    return groups
  }

  /** What was kept and does not stand at the end: said once more. */
  #again(preserved: readonly number[]): void {
    for (const rows of this.#grouped(preserved)) this.#messages(rows)
  }

  /** Typed while the agent worked: part of the conversation. Other attachments the agent renders anew. */
  #attachment(row: number): void {
    const read = this.#read(row)
    const attachment = isObject(read?.record.attachment) ? read.record.attachment : {}
    const blocks = attachment.type === 'queued_command' ? blocksOf({ content: attachment.prompt }) : []
    if (read === undefined || blocks.length === 0) {
      this.#note(row)
      return
    }
    const place = this.#place(row)
    this.#into.log.user(
      blocks.map(({ block }) => userPart(block)),
      { ...place, parts: blocks.map(() => place.where) },
    )
  }

  #note(row: number): void {
    const record = this.#read(row)?.record
    if (record === undefined) return
    const type = `import/claude-code.${stringOf(record.type) ?? 'unknown'}`
    if (this.#rows.kinds[row] === KIND.other) this.#tellUnknown(record, `line ${this.#rows.lines[row]}`)
    const task = this.#rows.is(row, FLAG.sidechain) && this.#rows.parents[row]! < 0 ? this.#taskOf(record) : undefined
    const data = task === undefined ? record : { ...record, spawnedBy: { toolCallId: task } }
    this.#into.log.note(type, data as JsonObject, this.#place(row))
  }

  /** A row of a later version that carries a message. */
  #tellUnknown(record: Json, where: string): void {
    if (typeof messageOf(record)?.role !== 'string') return
    this.#into.report({ code: 'record.unknown-type', severity: 'info', where, type: String(record.type) })
    this.#into.lose({ kind: 'record', count: 1, reason: 'a message of an unknown type', where })
  }

  #noteCall(id: string, name: string, input: unknown): void {
    this.#toolNames.set(id, name)
    if (isObject(input) && typeof input.prompt === 'string' && 'subagent_type' in input)
      this.#tasks.set(input.prompt, id)
  }

  #taskOf(record: Json): string | undefined {
    const content = messageOf(record)?.content
    return typeof content === 'string' ? this.#tasks.get(content) : undefined
  }

  #read(row: number): ReadRow | undefined {
    const read = this.#reader.read(row)
    if (read !== undefined && this.#rows.is(row, FLAG.risky)) this.#inspect(row, read)
    return read
  }

  #readMessage(row: number): ReadMessage | undefined {
    const read = this.#rows.is(row, FLAG.risky) ? this.#reader.read(row) : undefined
    if (read !== undefined) this.#inspect(row, read)
    return this.#reader.message(row)
  }

  #inspect(row: number, { text, record }: ReadRow): void {
    this.#into.log.isLossless = false
    if (this.#inspected.has(row)) return
    this.#inspected.add(row)
    inspectRecord(text, record, `line ${this.#rows.lines[row]}`, this.#into.report)
  }

  #place(row: number): Place {
    return { where: this.#where(row), time: this.#rows.times[row] }
  }

  #where(row: number): string {
    return `line ${this.#rows.lines[row]}`
  }
}

type MessageRow = { row: number } & ReadMessage

const JITTER_MS = 1000

/** A place of a message whose parts all stand there. */
function inParts({ where, time }: Place, count: number): Place {
  return { where, parts: new Array<string>(count).fill(where), time }
}
