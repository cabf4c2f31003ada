import type { AssistantPart, JsonObject, ToolOutput, UserPart } from '@palimpsest/session'
import type { Format, Import } from '../format.js'
import { inspectDocument } from '../inspect-document.js'
import { isObject, type Json, listOf, objectsOf, stringOf } from '../json/shapes.js'
import { readText } from '../source.js'
import { inputOfText } from '../tool-input.js'

/**
 * OpenAI Chat Completions: an array of messages, a request body, a run that holds one (`traj`), or several of these
 * in an array or a line each.
 */
export const openaiChat: Format = {
  name: 'openai-chat',
  detect: head => conversationsOf(head.document() ?? head.records).some(({ messages }) => messages.some(isChatMessage)),
  import: importChat,
}

// --- internal ---

interface Conversation {
  /** The path of the message list in the document, as findings name it. */
  path: string
  messages: unknown[]
  body: Json
}

function importChat(into: Import): void {
  const text = readText(into.source)
  const conversations = conversationsOf(parseDocument(text))
  const { messages, body } = conversations[into.conversation] ?? { messages: [], body: {} as Json }
  if (conversations.length > 1) {
    into.report({ code: 'file.conversations', severity: 'info', where: 'file', conversations: conversations.length })
  }
  into.about({ conversations: conversations.length, ...(typeof body.model === 'string' && { model: body.model }) })
  inspectDocument(text, messages, 'messages', into.report)
  new ChatImport(into, body).run(messages)
}

/** One JSON document, or the ones on its lines. */
function parseDocument(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text.split('\n').flatMap(line => {
      try {
        return [JSON.parse(line)]
      } catch {
        return []
      }
    })
  }
}

function conversationsOf(document: unknown): Conversation[] {
  if (isObject(document)) {
    const messages = document.messages ?? document.traj
    return Array.isArray(messages) ? [{ path: 'messages', messages, body: document }] : []
  }
  const list = listOf(document)
  if (list.some(each => isObject(each) && 'role' in each)) return [{ path: 'messages', messages: list, body: {} }]
  return list.flatMap(each => (isObject(each) ? conversationsOf(each) : []))
}

function isChatMessage(message: unknown): boolean {
  if (!isObject(message) || !ROLES.has(String(message.role))) return false
  const { content } = message
  return (
    content == null ||
    typeof content === 'string' ||
    objectsOf(content).every(([, part]) => PARTS.has(String(part.type)))
  )
}

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])
const PARTS = new Set(['text', 'image_url', 'input_audio', 'file', 'refusal'])

class ChatImport {
  readonly #system: string[] = []
  readonly #names = new Map<string, string>()

  constructor(
    private readonly into: Import,
    private readonly body: Json,
  ) {}

  run(messages: readonly unknown[]): void {
    const { log } = this.into
    this.#system.push(...systemTexts(messages))
    log.header(
      {
        model: stringOf(this.body.model) ?? '',
        settings: {},
        ...(this.#system.length > 0 && { system: this.#system.join('\n\n') }),
        ...(Array.isArray(this.body.tools) && { tools: toolsOf(this.body.tools) }),
      },
      { where: 'messages' },
    )
    for (const [i, message] of messages.entries()) this.#message(message, `messages[${i}]`, i)
    log.finish({ where: `messages[${messages.length - 1}]` })
  }

  #message(message: unknown, where: string, index: number): void {
    if (!isObject(message)) {
      this.into.lose({ kind: 'record', count: 1, reason: 'not a message', where })
      return
    }
    const { role } = message
    if (role === 'system' || role === 'developer') {
      if (index > 0) this.into.report({ code: 'turn.system-not-first', severity: 'error', where })
    } else if (role === 'assistant') this.#assistant(message, where)
    else if (role === 'tool' || role === 'function') this.#result(message, where)
    else this.into.log.user(userParts(message.content), { where, parts: partPlaces(message.content, where) })
  }

  #assistant(message: Json, where: string): void {
    const reasoning = stringOf(message.reasoning_content)
    const calls = objectsOf(message.tool_calls).map(([i, call]) => ({
      part: this.#call(call),
      where: `${where}.tool_calls[${i}]`,
    }))
    const texts = userParts(message.content) as AssistantPart[]
    const lead: AssistantPart[] = reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning }]
    this.into.log.assistant([...lead, ...texts, ...calls.map(({ part }) => part)], {
      where,
      parts: [...lead.map(() => where), ...partPlaces(message.content, where), ...calls.map(call => call.where)],
    })
  }

  #call(call: Json): AssistantPart {
    const named = isObject(call.function) ? call.function : isObject(call.custom) ? call.custom : call
    const toolCallId = stringOf(call.id) ?? ''
    const toolName = stringOf(named.name) ?? ''
    this.#names.set(toolCallId, toolName)
    const { arguments: args = named.input } = named
    return {
      type: 'tool-call',
      toolCallId,
      toolName,
      ...inputOfText(typeof args === 'string' ? args : JSON.stringify(args ?? {})),
    }
  }

  #result(message: Json, where: string): void {
    const toolCallId = stringOf(message.tool_call_id) ?? ''
    const toolName = this.#names.get(toolCallId) ?? stringOf(message.name)
    this.into.log.result({ toolCallId, toolName, output: outputOf(message.content) }, { where, parts: [where] })
  }
}

function systemTexts(messages: readonly unknown[]): string[] {
  return messages.flatMap(message => {
    if (!isObject(message) || (message.role !== 'system' && message.role !== 'developer')) return []
    return [
      userParts(message.content)
        .map(part => (part.type === 'text' ? part.text : ''))
        .join('\n'),
    ]
  })
}

function userParts(content: unknown): UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return listOf(content).flatMap((part): UserPart[] => {
    if (typeof part === 'string') return [{ type: 'text', text: part }]
    if (!isObject(part)) return []
    if (part.type === 'image_url' && isObject(part.image_url))
      return [{ type: 'image', image: String(part.image_url.url) }]
    return typeof part.text === 'string' ? [{ type: 'text', text: part.text }] : []
  })
}

function partPlaces(content: unknown, where: string): string[] {
  if (typeof content === 'string') return [`${where}.content`]
  return listOf(content).map((_, i) => `${where}.content[${i}]`)
}

function outputOf(content: unknown): ToolOutput {
  if (typeof content === 'string') return { type: 'text', value: content }
  const parts = userParts(content)
  if (parts.length > 0 && parts.every(part => part.type === 'text')) {
    return { type: 'content', value: parts.map(part => ({ type: 'text', text: (part as { text: string }).text })) }
  }
  return { type: 'json', value: (content ?? null) as never }
}

function toolsOf(tools: readonly unknown[]) {
  return objectsOf(tools).flatMap(([, tool]) => {
    const { name, description, parameters } = isObject(tool.function) ? tool.function : tool
    if (typeof name !== 'string') return []
    const inputSchema = (isObject(parameters) ? parameters : { type: 'object' }) as JsonObject
    return [{ name, ...(typeof description === 'string' && { description }), inputSchema }]
  })
}
