import type { AssistantPart, ToolCallPart } from '@palimpsest/session'
import type { Format, Import } from '../format.js'
import { isObject, type Json, objectsOf, stringOf } from '../json/shapes.js'
import { inputOfText } from '../tool-input.js'
import { vendorOf } from '../vendor.js'
import { answerParts, chatTool, contentParts, isChatPart, outputOf, textOf } from './chat-content.js'
import { type FoundList, listsIn, type MessageList, openList } from './message-list.js'
import { systemText } from './system-text.js'

/**
 * OpenAI Chat Completions and what speaks it: an array of messages, a request body, a run that holds one (`traj`), or
 * several of these in an array or a line each.
 */
export const openaiChat: Format = {
  name: 'openai-chat',
  detect: head => listsIn(head, KEYS).some(isChat),
  import: into => new ChatImport(into, openList(into, KEYS)).run(),
}

// --- internal ---

const KEYS = ['messages', 'traj']
const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

function isChat({ items }: FoundList): boolean {
  return items.length > 0 && items.every(isChatMessage)
}

function isChatMessage(message: unknown): boolean {
  if (!isObject(message) || !ROLES.has(String(message.role)) || 'parts' in message) return false
  const { content } = message
  return !Array.isArray(content) || content.every(isChatPart)
}

interface OpenCall {
  id: string
  name: string
}

class ChatImport {
  readonly #names = new Map<string, string>()
  /** The call of the older form, which has no id. */
  #functionCall: OpenCall | undefined

  constructor(
    private readonly into: Import,
    private readonly list: MessageList,
  ) {}

  run(): void {
    const { items, body, where } = this.list
    const model = stringOf(body.model)
    const thinking = isObject(body.thinking) ? body.thinking.type : undefined
    this.into.about({
      ...(model !== undefined && { model, vendor: vendorOf(undefined, model) ?? 'openai' }),
      ...((thinking === 'enabled' || thinking === 'disabled') && { thinking }),
    })
    const system = objectsOf(items).flatMap(([, message]) => (isSystem(message) ? [textOf(message.content)] : []))
    const tools = [...objectsOf(body.tools), ...objectsOf(body.functions)].flatMap(([, tool]) => chatTool(tool))
    this.into.log.header(
      { model: model ?? '', settings: {}, ...systemText(system), ...(tools.length > 0 && { tools }) },
      { where: where(0) },
    )
    let isLead = true
    for (const [i, message] of items.entries()) {
      isLead &&= isSystem(message)
      this.#message(message, i, isLead)
    }
    this.into.log.finish({ where: where(Math.max(0, items.length - 1)) })
  }

  #message(message: unknown, index: number, isLead: boolean): void {
    const where = this.list.where(index)
    if (!isObject(message) || !ROLES.has(String(message.role))) {
      this.into.lose({ kind: 'record', count: 1, reason: 'not a message', where })
    } else if (isSystem(message)) {
      if (!isLead) this.into.report({ code: 'turn.system-not-first', severity: 'error', where })
    } else if (message.role === 'assistant') this.#assistant(message, index)
    else if (message.role === 'tool' || message.role === 'function') this.#result(message, index)
    else this.#user(message, index)
  }

  #user({ content, name }: Json, index: number): void {
    const parts = contentParts(content, index, this.list)
    const named = typeof name === 'string' ? { providerOptions: { openai: { name } } } : {}
    this.into.log.user(
      parts.map(({ part }) => part),
      { where: this.#whereOf(content, index), parts: parts.map(({ where }) => where) },
      named,
    )
  }

  #assistant(message: Json, index: number): void {
    const where = this.list.where(index)
    const calls = this.#calls(message, index)
    const reasoning = stringOf(message.reasoning_content) ?? stringOf(message.reasoning)
    const lead = reasoning ? [{ part: { type: 'reasoning' as const, text: reasoning }, where }] : []
    const said = answerParts(message, index, this.list)
    // An empty text beside something else says nothing; alone it is what the message consists of.
    const isAlone = said.length === 1 && calls.length + lead.length === 0
    const told = said.filter(({ part }) => part.type === 'file' || part.text !== '' || isAlone)
    const parts: { part: AssistantPart; where: string }[] = [...lead, ...told, ...calls]
    this.into.log.assistant(
      parts.map(({ part }) => part),
      { where: this.#whereOf(message.content, index), parts: parts.map(each => each.where) },
    )
  }

  #calls(message: Json, index: number): { part: ToolCallPart; where: string }[] {
    const calls = objectsOf(message.tool_calls).map(([i, call]) => ({
      part: this.#call(call),
      where: this.list.where(index, `.tool_calls[${i}]`),
    }))
    if (!isObject(message.function_call)) return calls
    const id = `call-${index}`
    const part = this.#call({ id, function: message.function_call })
    this.#functionCall = { id, name: part.toolName }
    return [...calls, { part, where: this.list.where(index, '.function_call') }]
  }

  #call(call: Json): ToolCallPart {
    const custom = isObject(call.custom) ? call.custom : undefined
    const named = custom ?? (isObject(call.function) ? call.function : call)
    const part = {
      type: 'tool-call' as const,
      toolCallId: stringOf(call.id) ?? '',
      toolName: stringOf(named.name) ?? '',
    }
    this.#names.set(part.toolCallId, part.toolName)
    if (custom !== undefined) {
      const providerOptions = { openai: { type: 'custom', wire: 'chat' } }
      return { ...part, input: { input: stringOf(custom.input) ?? '' }, providerOptions }
    }
    const { arguments: text } = named
    return { ...part, ...inputOfText(typeof text === 'string' ? text : JSON.stringify(text ?? {})) }
  }

  #result(message: Json, index: number): void {
    const where = this.list.where(index)
    const older = message.role === 'function' ? this.#functionCall : undefined
    const toolCallId = stringOf(message.tool_call_id) ?? older?.id ?? ''
    const toolName = this.#names.get(toolCallId) ?? stringOf(message.name)
    const output = outputOf(message.content, this.list.rawAt(index, ['content']))
    this.into.log.result({ toolCallId, toolName, output }, { where, parts: [where] })
  }

  /** A message without content is empty right there. */
  #whereOf(content: unknown, index: number): string {
    return this.list.where(index, Array.isArray(content) && content.length === 0 ? '.content' : '')
  }
}

function isSystem(message: unknown): boolean {
  return isObject(message) && (message.role === 'system' || message.role === 'developer')
}
