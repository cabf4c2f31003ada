import type { AssistantPart, JsonObject, UserPart } from '@palimpsest/session'
import { readDocument } from '../document.js'
import type { Format, Import } from '../format.js'
import { isObject, type Json, listOf, objectsOf, stringOf } from '../json/shapes.js'
import { inputOfText, inputOfValue } from '../tool-input.js'
import { vendorOf } from '../vendor.js'
import { assistantPart } from './anthropic-blocks.js'
import { contentParts, outputOf, textOf } from './chat-content.js'
import { type MessageList, openList } from './message-list.js'
import { systemText } from './system-text.js'

/** SWE-agent trajectories, and the runs of mini-swe-agent: chat messages, often with the action in the text. */
export const sweAgent: Format = {
  name: 'swe-agent',
  detect: head => isRun(head.document()),
  import(into) {
    const document = readDocument(into.source)?.value
    const run = isObject(document) ? document : {}
    new SweImport(into, run, openList(into, ['history', 'messages'])).run()
  },
}

// --- internal ---

const OWN = ['agent', 'message_type', 'thought', 'action', 'is_demo', 'tool_call_ids']

function isRun(value: unknown): boolean {
  if (!isObject(value)) return false
  if (/^mini-swe-agent/.test(String(value.trajectory_format))) return Array.isArray(value.messages)
  const isHistory = objectsOf(value.history).some(([, each]) => 'role' in each && OWN.some(key => key in each))
  return isHistory || objectsOf(value.trajectory).some(([, step]) => 'action' in step && 'observation' in step)
}

class SweImport {
  readonly #into: Import
  readonly #document: Json
  readonly #list: MessageList
  readonly #names = new Map<string, string>()
  #hasAnswer = false

  constructor(into: Import, document: Json, list: MessageList) {
    this.#into = into
    this.#document = document
    this.#list = list
  }

  run(): void {
    const { items } = this.#list
    const isSystem = (message: unknown) => isObject(message) && message.role === 'system'
    const system = objectsOf(items).flatMap(([, each]) => (isSystem(each) ? [textOf(each.content)] : []))
    const model = this.#model()
    if (model !== undefined) this.#into.about({ model, vendor: vendorOf(undefined, model) ?? model })
    this.#into.log.header({ model: model ?? '', settings: {}, ...systemText(system) }, { where: this.#list.where(0) })
    let isLead = true
    for (const [i, message] of items.entries()) {
      isLead &&= isSystem(message)
      this.#message(message, i, isLead)
    }
    if (items.length === 0) this.#steps()
    this.#rest()
    this.#into.log.finish({ where: this.#list.where(Math.max(0, items.length - 1)) })
  }

  // --- internal ---

  /** What the run says beside its messages. */
  #rest(): void {
    for (const key of ['info', 'environment', 'replay_config']) {
      const value = this.#document[key]
      if (value === undefined) continue
      this.#into.log.note(`import/swe-agent.${key}`, { [key]: value } as JsonObject, { where: 'file' })
    }
    for (const [i, { state, execution_time }] of objectsOf(this.#document.trajectory)) {
      if (state === undefined && execution_time === undefined) continue
      const data = { state: state ?? null, execution_time: execution_time ?? null }
      this.#into.log.note('import/swe-agent.step', data as JsonObject, { where: `trajectory[${i}]` })
    }
  }

  #model(): string | undefined {
    const { info } = this.#document
    const config = isObject(info) && isObject(info.config) ? info.config : {}
    return isObject(config.model) ? (stringOf(config.model.model_name) ?? stringOf(config.model.name)) : undefined
  }

  /** A trajectory without a history: what was answered and what came of it. */
  #steps(): void {
    for (const [i, step] of objectsOf(this.#document.trajectory)) {
      const where = `trajectory[${i}]`
      this.#into.log.assistant([{ type: 'text', text: stringOf(step.response) ?? '' }], { where })
      const observation: UserPart = { type: 'text', text: stringOf(step.observation) ?? '' }
      this.#into.log.context([observation], 'observation', { where })
    }
  }

  #message(message: unknown, index: number, isLead: boolean): void {
    const where = this.#list.where(index)
    if (!isObject(message)) this.#into.lose({ kind: 'record', count: 1, reason: 'not a message', where })
    else if (message.role === 'system') {
      if (!isLead) this.#into.report({ code: 'turn.system-not-first', severity: 'error', where })
    } else if (message.role === 'assistant') this.#assistant(message, index)
    else if (message.role === 'tool') this.#result(message, index)
    else if (message.role === 'user') this.#user(message, index)
    else this.#into.log.note(`import/swe-agent.${String(message.role)}`, message as JsonObject, { where })
  }

  /** Only the task was given by somebody: what comes after an answer is what its action did. */
  #user(message: Json, index: number): void {
    const parts = contentParts(message.content, index, this.#list)
    const place = { where: this.#list.where(index), parts: parts.map(({ where }) => where) }
    const content = parts.map(({ part }) => part)
    if (message.is_demo === true) this.#into.log.context(content, 'demonstration', place)
    else if (this.#hasAnswer) this.#into.log.context(content, 'observation', place)
    else this.#into.log.user(content, place)
  }

  #assistant(message: Json, index: number): void {
    this.#hasAnswer = true
    const where = this.#list.where(index)
    const thinking = objectsOf(message.thinking_blocks).map(([, block]) => ({
      part: assistantPart(block, inputOfValue(undefined)),
      where,
    }))
    const calls = objectsOf(message.tool_calls).map(([i, call]) => ({
      part: this.#call(call),
      where: this.#list.where(index, `.tool_calls[${i}]`),
    }))
    const said = contentParts(message.content, index, this.#list).flatMap(({ part, where: at }) => {
      // Nothing said beside calls is no text.
      const isNothing = part.type !== 'text' || (part.text === '' && calls.length > 0)
      return isNothing ? [] : [{ part: part as AssistantPart, where: at }]
    })
    const parts: { part: AssistantPart; where: string }[] = [...thinking, ...said, ...calls]
    this.#into.log.assistant(
      parts.map(({ part }) => part),
      { where, parts: parts.map(each => each.where) },
      thinking.length > 0 ? { vendor: 'anthropic' } : {},
    )
  }

  #call(call: Json): AssistantPart {
    const named = isObject(call.function) ? call.function : call
    const [toolCallId, toolName] = [stringOf(call.id) ?? '', stringOf(named.name) ?? '']
    this.#names.set(toolCallId, toolName)
    const { arguments: args } = named
    const text = typeof args === 'string' ? args : JSON.stringify(args ?? {})
    return { type: 'tool-call', toolCallId, toolName, ...inputOfText(text) }
  }

  #result(message: Json, index: number): void {
    const where = this.#list.where(index)
    const ids = listOf(message.tool_call_ids ?? [message.tool_call_id]).flatMap(id => stringOf(id) ?? [])
    for (const toolCallId of ids.length > 0 ? ids : ['']) {
      const result = { toolCallId, toolName: this.#names.get(toolCallId), output: outputOf(message.content) }
      this.#into.log.result(result, { where, parts: [where] })
    }
  }
}
