import type { AssistantPart } from '@palimpsest/session'
import type { Import } from '../../format.js'
import { inspectRecord } from '../../inspect.js'
import { isObject, type Json, listOf, numberOf, objectsOf, stringOf, timeOf } from '../../json/shapes.js'
import type { Replaced } from '../../log-builder.js'
import type { Place } from '../../place.js'
import type { LineRecord } from '../../records.js'
import { vendorOf } from '../../vendor.js'
import { isVoidSummary } from '../void-summary.js'
import { type Answer, type CutCall, isNextAnswer, usageOf } from './answer.js'
import { isContextText } from './context-text.js'
import { ForeignStretch } from './foreign-stretch.js'
import {
  assistantParts,
  endsInWords,
  isModelItem,
  isOutput,
  openaiOptions,
  outputOf,
  unshownParts,
  userParts,
} from './item-parts.js'
import { RepeatedLines } from './repeated-lines.js'
import { rolloutRecord } from './rollout-record.js'
import { SessionFacts } from './session-facts.js'

type Target = Pick<Import, 'log' | 'report' | 'lose' | 'about'>

/** An item on the user's side, which an event behind it may tell to have been typed. */
interface Said {
  readonly text: string
  readonly isUser: boolean
  isTyped: boolean
}

/**
 * Reads a rollout record by record. Records wait in a queue from the first item of an answer to the first of the next,
 * since its usage and which message was typed are told behind it; so memory is that of one answer.
 */
export class RolloutImport {
  readonly #queue: (() => void)[] = []
  readonly #facts: SessionFacts
  #answer: Answer | undefined
  #said: Said[] = []
  /** A typed text whose item has not come yet. */
  #typedAhead: string | undefined
  /** Seqs of what was typed, in surface order: where a rollback may cut. */
  readonly #prompts: number[] = []
  readonly #recentPrompts: string[] = []
  readonly #contexts = new Set<number>()
  /** What the next message takes the place of. */
  #replacing: Replaced | undefined
  /** Results that came while something was to be replaced, which a result cannot do. */
  #late: (() => void)[] = []
  /** The last compaction, and the calls that are in view since. */
  #compacted: { where: string; isTold: boolean } | undefined
  readonly #calls = new Set<string>()
  readonly #repeats: RepeatedLines
  readonly #foreign: ForeignStretch
  #ordinal = -1
  #totals = ''
  #last: Place = { where: 'file' }

  /**
   * `gone`: lines of turns that were rolled back at the end of the file, with nothing behind to stand in their place.
   * `callOf` finds the item of a call that a compaction has cut off.
   */
  constructor(
    private readonly into: Target,
    private readonly gone: ReadonlySet<string> = new Set(),
    private readonly callOf: (id: string) => CutCall | undefined = () => undefined,
  ) {
    this.#facts = new SessionFacts(into)
    this.#foreign = new ForeignStretch(into.report)
    this.#repeats = new RepeatedLines(into.report)
  }

  record(line: LineRecord): void {
    const { value, text } = line
    const place = { where: `line ${line.line}`, time: timeOf(value.timestamp) }
    this.#last = place
    this.#checkOrdinal(value, place)
    const record = rolloutRecord(line)
    const isLeftOut = record === undefined || this.gone.has(place.where) || this.#foreign.holds(record, line.line)
    if (isLeftOut || this.#repeats.holds(record, text, place)) {
      this.#note(stringOf(value.type), value, place)
      return
    }
    if (HISTORY.has(record.type)) inspectRecord(text, value, place.where, this.into.report)
    if (record.type === 'response_item') this.#item(record.payload, place, value)
    else if (record.type === 'compacted') this.#compact(record.payload, place, value)
    else if (record.type === 'event_msg') this.#event(record.payload, place, value)
    else {
      this.#queue.push(() => this.#facts.take(record, place))
      if (record.type === 'turn_context') this.#endAnswer()
      this.#note(record.type, value, place)
    }
  }

  /** Returns the nodes that were rolled back and that nothing took the place of. */
  finish(): readonly number[] {
    this.#foreign.end()
    this.#flush()
    const undone = this.#nodesToReplace()
    if (undone.length > 0) this.#context([{ type: 'text', text: REMOVED }], 'codex/rollback', this.#last)
    this.#facts.finish()
    this.into.log.finish(this.#last)
    return undone
  }

  // --- internal ---

  #checkOrdinal({ ordinal }: Json, { where }: Place): void {
    if (typeof ordinal !== 'number') return
    if (ordinal <= this.#ordinal) this.into.report({ code: 'ordinal.repeat', severity: 'error', where, ordinal })
    else this.#ordinal = ordinal
  }

  #note(type: string | undefined, record: Json, place: Place): void {
    const { log } = this.into
    this.#queue.push(() => void log.note(`import/codex.${type ?? 'record'}`, record as never, place))
    if (this.#queue.length > QUEUE_LIMIT) this.#flush()
  }

  // --- items: the model's history ---

  #item(item: Json, place: Place, record: Json): void {
    if (isModelItem(item)) this.#modelItem(item, place, record)
    else if (isOutput(item)) this.#output(item, place)
    else if (item.type === 'message' || item.type === 'agent_message') this.#message(item, place)
    else this.#unknown(item, place, record)
  }

  /** What carries words or a role may be part of the conversation. */
  #unknown(item: Json, place: Place, record: Json): void {
    const type = stringOf(item.type) ?? 'unknown'
    this.#note(`response_item.${type}`, record, place)
    const isSaid = ['role', 'content', 'text', 'output'].some(member => member in item)
    if (!isSaid) return
    const { where } = place
    this.into.report({ code: 'record.unknown-type', severity: 'info', where, type })
    this.into.lose({ kind: 'record', count: 1, reason: 'an item of an unknown type', where })
  }

  #modelItem(item: Json, place: Place, record: Json): void {
    const parts = assistantParts(item)
    if (parts.length === 0) this.#note('response_item.empty', record, place)
    this.#add(parts, item, place)
  }

  #add(parts: readonly AssistantPart[], item: Json, place: Place): void {
    if (this.#answer === undefined || this.#answer.isOver || isNextAnswer(this.#answer, item)) {
      this.#flush()
      this.#answer = this.#beginAnswer(place)
    }
    for (const part of parts) if (part.type === 'tool-call') this.#calls.add(part.toolCallId)
    this.#answer.parts.push(...parts)
    this.#answer.wheres.push(...parts.map(() => place.where))
  }

  #beginAnswer(place: Place): Answer {
    const { model } = this.#facts
    const answer: Answer = {
      parts: [],
      wheres: [],
      place,
      by: { model, vendor: vendorOf(this.#facts.provider, model) },
      isOver: false,
    }
    this.#queue.push(() => this.#writeAnswer(answer))
    return answer
  }

  #writeAnswer({ parts, wheres, place, by, usage }: Answer): void {
    this.#facts.writeHeader(place)
    this.into.log.assistant(parts, { ...place, parts: wheres }, { ...by, usage, ...this.#takeReplaced() })
    this.#written()
  }

  #endAnswer(): void {
    if (this.#answer !== undefined) this.#answer.isOver = true
  }

  #output(item: Json, place: Place): void {
    const toolCallId = stringOf(item.call_id) ?? stringOf(item.id) ?? ''
    if (this.#compacted !== undefined && !this.#calls.has(toolCallId)) this.#widen(toolCallId, place, this.#compacted)
    this.#endAnswer()
    const write = () => {
      if (this.#replacing !== undefined) this.#late.push(write)
      else this.into.log.result({ toolCallId, output: outputOf(item) }, { ...place, parts: [place.where] })
    }
    this.#queue.push(write)
  }

  /** The call of a kept output that a compaction has cut off comes back into view. */
  #widen(id: string, { where: cut }: Place, compacted: { where: string; isTold: boolean }): void {
    const call = this.callOf(id)
    if (call === undefined) return
    const { item, place } = call
    const movedTo = place.where
    if (!compacted.isTold) {
      this.into.report({
        code: 'compaction.cut-inside-pair',
        severity: 'error',
        where: compacted.where,
        cut,
        movedTo,
      })
    }
    compacted.isTold = true
    this.#endAnswer()
    this.#add(assistantParts(item), item, place)
  }

  /** Of a user, a developer, another agent. */
  #message(item: Json, place: Place): void {
    this.#endAnswer()
    const content = userParts(item.content)
    const text = content.map(part => (part.type === 'text' ? part.text : '')).join('\n')
    const said: Said = { text, isUser: item.role === 'user', isTyped: false }
    if (said.isUser && this.#typedAhead !== undefined && said.text.includes(this.#typedAhead)) {
      said.isTyped = true
      this.#typedAhead = undefined
    }
    this.#said.push(said)
    this.#loseUnshown(item, place)
    const from = openaiOptions({
      itemId: item.id,
      role: item.role === 'developer' || item.role === 'system' ? item.role : undefined,
      item: item.type === 'agent_message' ? item : undefined,
    })
    const placed = { ...place, parts: content.map(() => place.where) }
    const origin = item.role === 'user' ? 'codex/context' : `codex/${stringOf(item.role) ?? stringOf(item.type)}`
    this.#queue.push(() => {
      if (said.isTyped)
        this.#prompt(said.text, this.into.log.user(content, placed, { ...from, ...this.#takeReplaced() }))
      else this.#context(content, origin, placed, from)
    })
  }

  #prompt(text: string, seq: number): void {
    this.#prompts.push(seq)
    this.#recentPrompts.push(text)
    let length = this.#recentPrompts.reduce((sum, each) => sum + each.length, 0)
    while (length > PROMPTS_KEPT && this.#recentPrompts.length > 1) length -= this.#recentPrompts.shift()!.length
    this.#written()
  }

  #context(
    content: Parameters<Import['log']['context']>[0],
    origin: string,
    place: Place,
    from: ReturnType<typeof openaiOptions> = {},
  ): void {
    const seq = this.into.log.context(content, origin, place, { ...from, ...this.#takeReplaced() })
    this.#contexts.add(seq)
    this.#written()
  }

  #loseUnshown(item: Json, { where }: Place): void {
    const count = unshownParts(item.content)
    if (count > 0) this.into.lose({ kind: 'text', count, reason: 'readable by the service that wrote it only', where })
  }

  #nodesToReplace(): readonly number[] {
    if (this.#replacing === undefined) return []
    const { surface } = this.into.log
    return surface.slice(surface.indexOf(this.#replacing.start), surface.indexOf(this.#replacing.end) + 1)
  }

  #takeReplaced(): { replacing?: Replaced } {
    const replacing = this.#replacing
    this.#replacing = undefined
    return replacing === undefined ? {} : { replacing }
  }

  /** A message stands where something was to be replaced: results may follow. */
  #written(): void {
    const late = this.#late
    this.#late = []
    for (const write of late) write()
  }

  #flush(): void {
    this.#answer = undefined
    this.#said = []
    for (const write of this.#queue.splice(0)) write()
  }

  // --- events: the UI's history, of which a few tell about the model's ---

  #event(event: Json, place: Place, record: Json): void {
    const { log } = this.into
    if (event.type === 'user_message') this.#typed(stringOf(event.message) ?? '')
    else if (event.type === 'token_count') this.#usage(event.info)
    else if (event.type === 'thread_rolled_back') this.#rollBack(numberOf(event.num_turns) ?? 0, place)
    else if (event.type === 'task_complete') this.#queue.push(() => log.endTurn(place))
    else if (event.type === 'turn_aborted') {
      const reason = { kind: 'aborted', ...(typeof event.reason === 'string' && { reason: event.reason }) }
      this.#queue.push(() => log.endTurn(place, reason))
    }
    this.#note(stringOf(event.type) ?? 'event', record, place)
  }

  #typed(text: string): void {
    const waiting = this.#said.filter(each => each.isUser && !each.isTyped && !isContextText(each.text))
    const said = waiting.findLast(each => each.text.includes(text.trim())) ?? waiting.at(-1)
    if (said === undefined) this.#typedAhead = text
    else said.isTyped = true
  }

  /** Told once per request, and once more with the same totals when only limits have changed. */
  #usage(info: unknown): void {
    const answer = this.#answer
    this.#endAnswer()
    if (!isObject(info) || !isObject(info.last_token_usage)) return
    const totals = JSON.stringify(info.total_token_usage)
    if (answer !== undefined && answer.usage === undefined && totals !== this.#totals) {
      answer.usage = usageOf(info.last_token_usage)
    }
    this.#totals = totals
  }

  // --- compaction and rollback: what leaves the surface ---

  /** With its own history, that is what the model sees from here on; without, what was typed and the summary. */
  #compact(payload: Json, place: Place, record: Json): void {
    this.#flush()
    const message = stringOf(payload.message) ?? ''
    const history = payload.replacement_history
    this.#note('compacted', record, place)
    if (isVoidSummary(message) && !endsInWords(history)) {
      this.into.report({ code: 'compaction.void-summary', severity: 'error', where: place.where })
      return
    }
    this.#flush()
    const typed = [...this.#recentPrompts]
    this.#replaceAll()
    this.#compacted = { where: place.where, isTold: false }
    this.#calls.clear()
    this.#typedAhead = undefined
    if (Array.isArray(history)) this.#replacementHistory(history, place)
    else {
      for (const text of typed) this.#message({ role: 'user', content: text }, place)
      for (const said of this.#said) said.isTyped = true
      this.#message({ role: 'user', content: message }, place)
    }
    this.#flush()
    if (this.#replacing !== undefined) {
      this.#context([{ type: 'text', text: message.trim() === '' ? REMOVED : message }], 'codex/compacted', place)
    }
  }

  #replaceAll(): void {
    const { surface } = this.into.log
    this.#replacing = surface.length > 0 ? { start: surface[0]!, end: surface.at(-1)! } : undefined
    this.#prompts.length = 0
    this.#recentPrompts.length = 0
    this.#contexts.clear()
  }

  #replacementHistory(history: unknown, place: Place): void {
    for (const [i, item] of objectsOf(listOf(history))) {
      if (isModelItem(item) || isOutput(item) || item.type === 'message' || item.type === 'agent_message') {
        const before = this.#said.length
        this.#item(item, place, item)
        const said = this.#said[before]
        if (said !== undefined) said.isTyped = said.isUser && !isContextText(said.text)
      } else this.#note(`response_item.${stringOf(item.type) ?? 'unknown'}`, { index: i, item }, place)
    }
  }

  /** The last turns, with what was told to the model right before them, make room for the next message. */
  #rollBack(turns: number, place: Place): void {
    this.#flush()
    const { log } = this.into
    log.endTurn(place)
    const from = Math.max(0, this.#prompts.length - Math.max(0, Math.trunc(turns)))
    const [first, cut] = [this.#prompts[0], this.#prompts[from]]
    if (first === undefined || cut === undefined) return
    let at = log.surface.indexOf(cut)
    while (at > log.surface.indexOf(first) && this.#contexts.has(log.surface[at - 1]!)) at--
    this.#prompts.length = from
    this.#replacing = { start: log.surface[at]!, end: log.surface.at(-1)! }
  }
}

/** Records that the next request is made of. */
const HISTORY = new Set(['session_meta', 'response_item', 'compacted'])
const REMOVED = 'Earlier turns were removed.'

/** Notes that wait before an answer is taken for over; nothing real comes near. */
const QUEUE_LIMIT = 2000
/** Characters of typed text that a compaction without a history of its own keeps. */
const PROMPTS_KEPT = 80_000
