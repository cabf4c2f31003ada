import type { JsonObject, ProviderOptions } from '@palimpsest/session'
import type { Import } from '../../format.js'
import { inspectRecord } from '../../inspect.js'
import { isObject, type Json, stringOf, timeOf } from '../../json/shapes.js'
import type { Replaced } from '../../log-builder.js'
import type { Place } from '../../place.js'
import type { LineRecord } from '../../records.js'
import { vendorOf } from '../../vendor.js'
import type { CompactionPlan } from './compaction-plan.js'
import { LeftBranches } from './left-branches.js'
import { answerParts, finishOf, resultOutput, shownParts, usageOf } from './message-parts.js'
import type { SessionTree } from './session-tree.js'
import { branchText, commandText, compactionText } from './shown-texts.js'

interface Record {
  readonly value: Json
  readonly text: string
  readonly place: Place
}

/**
 * Writes the entries of the path as messages. A branch that was left stands in the log, too, where the path's next
 * message takes its place; elsewhere it is kept as notes.
 */
export class SessionImport {
  readonly #branches: LeftBranches
  /** The first node of each entry of the path, by its place there. */
  readonly #nodes: number[] = []
  #replacing: Replaced | undefined
  #model: string | undefined
  #provider: string | undefined
  /** What the last entry that changes it says. */
  #chosen: { model?: string; provider?: string } = {}
  #system: string | undefined

  constructor(
    private readonly into: Import,
    private readonly tree: SessionTree,
    private readonly plan: CompactionPlan,
  ) {
    this.#branches = new LeftBranches(tree, into.log)
  }

  header(value: Json, place: Place): void {
    this.#choose(stringOf(value.provider), stringOf(value.modelId), place)
    this.#note(stringOf(value.type) ?? 'session', value, place)
  }

  /** `at`: its place on the path, `undefined` beside it. */
  entry(index: number, at: number | undefined, record: LineRecord): void {
    const { value, text } = record
    const message = isObject(value.message) ? value.message : {}
    const place = { where: `line ${record.line}`, time: timeOf(value.timestamp) ?? timeOf(message.timestamp) }
    const move = this.#branches.enter(index, at)
    if (move === undefined) {
      this.#note(stringOf(value.type) ?? 'entry', value, place)
      return
    }
    if (move.leaves !== undefined) this.#replacing = move.leaves
    if (at !== undefined) inspectRecord(withoutCosts(text, message), value, place.where, this.into.report)
    const before = this.into.log.length
    const isSaid = !SAYING.has(String(value.type)) || this.tree.entries[index]!.shows !== undefined
    const node = isSaid ? this.#write({ value, text, place }, message, at) : this.#unsaid(message, place)
    if (at !== undefined) this.#nodes[at] = value.type === 'compaction' ? -1 : (node ?? -1)
    this.#branches.entered(this.#replacing?.start)
    if (this.into.log.length === before) this.#note(stringOf(value.type) ?? 'entry', value, place)
    if (at !== undefined) this.#tellUnknown(value, message, place)
  }

  finish(place: Place): void {
    const { model = this.#model, provider = this.#provider } = this.#chosen
    const vendor = vendorOf(provider, model)
    this.into.about({ ...(model !== undefined && { model }), ...(vendor !== undefined && { vendor }) })
    this.into.log.finish(place)
  }

  // --- internal ---

  /** An entry of a later version that carries a message. */
  #tellUnknown({ type, message }: Json, { role }: Json, { where }: Place): void {
    if (!isObject(message) || (type === 'message' && ROLES.has(String(role)))) return
    this.into.report({
      code: 'record.unknown-type',
      severity: 'info',
      where,
      type: String(type === 'message' ? role : type),
    })
    this.into.lose({ kind: 'record', count: 1, reason: 'a message of an unknown type', where })
  }

  /** The seq of the message that stands for the entry; `undefined` where it makes none. */
  #write(record: Record, message: Json, at: number | undefined): number | undefined {
    const { value, place } = record
    switch (value.type) {
      case 'message':
        return this.#message(record, message)
      case 'compaction':
        return at === undefined ? undefined : this.#compaction(record, at)
      case 'branch_summary':
        return this.#summary(record)
      case 'custom_message':
        return this.#context(record, shownParts(value.content), stringOf(value.customType) ?? 'custom')
      case 'model_change': {
        const [provider, model] = modelOf(value)
        this.#choose(provider, model, place)
        return undefined
      }
      case 'session_init':
        this.#system = stringOf(value.systemPrompt)
        this.#writeHeader(place)
        return undefined
      default:
        return undefined
    }
  }

  /** A message that the model does not see. */
  #unsaid({ role, excludeFromContext }: Json, { where }: Place): undefined {
    if (role !== 'bashExecution' || excludeFromContext === true) return
    this.into.lose({ kind: 'text', count: 1, reason: 'the same command gave the same output again later', where })
  }

  #message(record: Record, message: Json): number | undefined {
    const { place } = record
    switch (message.role) {
      case 'user': {
        const parts = shownParts(message.content)
        const seq = this.into.log.user(parts, placed(place, parts), this.#takeReplaced())
        this.#keepRest('user', seq, message, USER, place)
        return seq
      }
      case 'assistant':
        return this.#answer(record, message)
      case 'toolResult':
        return this.#result(message, place)
      case 'bashExecution':
        return this.#context(record, [{ type: 'text', text: commandText(message) }], 'bashExecution')
      case 'developer':
        return this.#context(record, shownParts(message.content), DEVELOPER)
      case 'custom':
      case 'hookMessage':
        return this.#context(record, shownParts(message.content), stringOf(message.customType) ?? 'custom')
      default:
        return undefined
    }
  }

  #answer({ text, place }: Record, message: Json): number {
    const parts = answerParts(message, text)
    const { finishReason, interrupted } = finishOf(message.stopReason)
    const [provider, model] = [stringOf(message.provider), stringOf(message.model)]
    this.#useModel(provider, model, place)
    const usage = usageOf(message.usage)
    const seq = this.into.log.assistant(parts, placed(place, parts), {
      model,
      vendor: vendorOf(provider, model),
      ...by(message),
      finishReason,
      ...(interrupted && { interrupted }),
      ...(usage && { usage }),
      ...this.#takeReplaced(),
    })
    this.#keepRest('assistant', seq, message, ANSWER, place)
    return seq
  }

  #result(message: Json, place: Place): number {
    const toolCallId = stringOf(message.toolCallId) ?? ''
    const result = { toolCallId, toolName: stringOf(message.toolName), ...resultOutput(message) }
    const seq = this.into.log.result(result, { ...place, parts: [place.where] })
    this.#keepRest('toolResult', seq, message, RESULT, place)
    return seq
  }

  #summary(record: Record): number {
    const summary = stringOf(record.value.summary) ?? ''
    return this.#context(record, [{ type: 'text', text: branchText(summary) }], 'branch_summary')
  }

  /** A message from elsewhere than the keyboard; the entry beside it as it is. */
  #context({ value, place }: Record, parts: ReturnType<typeof shownParts>, origin: string): number {
    const seq = this.into.log.context(parts, `pi/${origin}`, placed(place, parts), {
      ...(origin === DEVELOPER && { providerOptions: { openai: { role: DEVELOPER } } }),
      ...this.#takeReplaced(),
    })
    this.#note('entry', { of: seq, entry: value }, place)
    return seq
  }

  /** The summary takes the place of what stands before the first kept entry. */
  #compaction(record: Record, at: number): number | undefined {
    const keep = this.plan.get(at)
    if (keep === undefined) return undefined
    const { surface } = this.into.log
    const first = this.#nodes.slice(keep, at).find(node => node >= 0)
    const end = first === undefined ? surface.length : surface.indexOf(first)
    if (end > 0) this.#replacing = { start: surface[0]!, end: surface[end - 1]! }
    const text = compactionText(stringOf(record.value.summary) ?? '')
    return this.#context(record, [{ type: 'text', text }], 'compaction')
  }

  #takeReplaced(): { replacing?: Replaced } {
    const replacing = this.#replacing
    this.#replacing = undefined
    return replacing === undefined ? {} : { replacing }
  }

  #choose(provider: string | undefined, model: string | undefined, place: Place): void {
    if (model === undefined) return
    this.#chosen = { model, ...(provider !== undefined && { provider }) }
    this.#useModel(provider, model, place)
  }

  #useModel(provider: string | undefined, model: string | undefined, place: Place): void {
    this.#provider = provider ?? this.#provider
    this.#model = model ?? this.#model
    this.#writeHeader(place)
  }

  #writeHeader(place: Place): void {
    const system = this.#system === undefined ? {} : { system: this.#system }
    this.into.log.header({ model: this.#model ?? '', settings: {}, ...system }, place)
  }

  #note(type: string, data: Json, place: Place): void {
    this.into.log.note(`import/pi.${type}`, data as JsonObject, place)
  }

  /** Members of a message that no message of ours has. */
  #keepRest(role: string, of: number, message: Json, known: ReadonlySet<string>, place: Place): void {
    const rest = Object.entries(message).filter(([key]) => !known.has(key))
    if (rest.length > 0) this.#note(role, { of, message: Object.fromEntries(rest) }, place)
  }
}

/** A role of the fork. */
const DEVELOPER = 'developer'
const ROLES = new Set([
  'user',
  'assistant',
  'toolResult',
  'bashExecution',
  'developer',
  'custom',
  'hookMessage',
  'branchSummary',
  'compactionSummary',
])
const SAYING = new Set(['message', 'branch_summary'])
const USER = new Set(['role', 'content', 'timestamp'])
const ANSWER = new Set(['role', 'content', 'api', 'provider', 'model'])
const RESULT = new Set(['role', 'content', 'timestamp', 'toolCallId', 'toolName', 'isError'])

/** Prices are long fractions, and sent to nobody: looking at their digits would cost more than all else. */
function withoutCosts(text: string, { usage }: Json): string {
  return isObject(usage) ? text.replace(JSON.stringify(usage), '0') : text
}

/** Through whom and in which protocol the model was asked: the next request goes the same way. */
function by({ api, provider }: Json): { providerOptions?: ProviderOptions } {
  if (typeof api !== 'string' || typeof provider !== 'string') return {}
  return { providerOptions: { pi: { api, provider } } }
}

function placed(place: Place, parts: readonly unknown[]): Place {
  return { ...place, parts: parts.map(() => place.where) }
}

/** Two fields, or one of both with a slash between. */
function modelOf({ provider, modelId, model }: Json): [provider: string | undefined, model: string | undefined] {
  if (typeof modelId === 'string') return [stringOf(provider), modelId]
  const both = stringOf(model)
  const slash = both?.indexOf('/') ?? -1
  return slash < 0 ? [stringOf(provider), both] : [both!.slice(0, slash), both!.slice(slash + 1)]
}
