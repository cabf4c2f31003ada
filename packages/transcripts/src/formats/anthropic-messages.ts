import type { JsonObject } from '@palimpsest/session'
import type { Format, Import } from '../format.js'
import { isObject, type Json, listOf, objectsOf, stringOf } from '../json/shapes.js'
import { inputOfValue } from '../tool-input.js'
import { assistantPart, resultOf, userPart } from './anthropic-blocks.js'
import { type FoundList, listsIn, type MessageList, openList } from './message-list.js'
import { systemText } from './system-text.js'

/** Anthropic Messages: an array of messages, or a request body. */
export const anthropicMessages: Format = {
  name: 'anthropic-messages',
  detect: head => listsIn(head, ['messages']).some(isAnthropic),
  import: into => new AnthropicImport(into, openList(into, ['messages'])).run(),
}

// --- internal ---

const OWN_BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'server_tool_use', 'document'])

/** By blocks that only it has, by the members of its body, or by answers in blocks, which chat keeps as strings. */
function isAnthropic({ items, body }: FoundList): boolean {
  const messages = objectsOf(items).map(([, message]) => message)
  if (messages.length === 0 || !messages.every(({ role }) => role === 'user' || role === 'assistant')) return false
  if (messages.some(message => 'tool_calls' in message || 'parts' in message || 'type' in message)) return false
  const blocks = messages.flatMap(({ content }) => objectsOf(content).map(([, block]) => block))
  if (blocks.some(({ type, source }) => OWN_BLOCKS.has(String(type)) || (type === 'image' && isObject(source))))
    return true
  if ('system' in body || objectsOf(body.tools).some(([, tool]) => 'input_schema' in tool)) return true
  const answers = messages.filter(({ role }) => role === 'assistant')
  return answers.length > 0 && answers.every(({ content }) => blocksAreText(content))
}

function blocksAreText(content: unknown): boolean {
  return Array.isArray(content) && content.every(block => isObject(block) && block.type === 'text')
}

interface PlacedBlock {
  block: Json
  where: string
  /** Its index in the content, where that is a list. */
  at?: number
}

class AnthropicImport {
  readonly #names = new Map<string, string>()

  constructor(
    private readonly into: Import,
    private readonly list: MessageList,
  ) {}

  run(): void {
    const { items, body, where } = this.list
    const { type } = isObject(body.thinking) ? body.thinking : ({} as Json)
    const isThinking = type === 'enabled' || type === 'adaptive'
    const model = stringOf(body.model)
    this.into.about({
      ...(model !== undefined && { model, vendor: 'anthropic' }),
      ...(typeof type === 'string' && { thinking: isThinking ? ('enabled' as const) : ('disabled' as const) }),
    })
    const inside = objectsOf(items).flatMap(([, { role, content }]) => (role === 'system' ? textsOf(content) : []))
    const tools = objectsOf(body.tools).flatMap(([i, tool]) => this.#tool(tool, i))
    this.into.log.header(
      {
        model: model ?? '',
        settings: {},
        ...systemText([...textsOf(body.system), ...inside]),
        ...(tools.length > 0 && { tools }),
      },
      { where: where(0) },
    )
    for (const [i, message] of items.entries()) this.#message(message, i)
    this.into.log.finish({ where: where(Math.max(0, items.length - 1)) })
  }

  #tool(tool: Json, index: number) {
    if (typeof tool.name === 'string' && isObject(tool.input_schema)) {
      const description = stringOf(tool.description)
      const inputSchema = tool.input_schema as JsonObject
      return [{ name: tool.name, ...(description !== undefined && { description }), inputSchema }]
    }
    const reason = 'a tool that the provider runs itself'
    this.into.lose({ kind: 'tool-schema', count: 1, reason, where: `tools[${index}]` })
    return []
  }

  #message(message: unknown, index: number): void {
    const where = this.list.where(index)
    if (isObject(message) && message.role === 'assistant') this.#assistant(message, index)
    else if (isObject(message) && message.role === 'user') this.#user(message, index)
    else if (isObject(message) && message.role === 'system') {
      this.into.report({ code: 'turn.system-not-first', severity: 'error', where })
    } else this.into.lose({ kind: 'record', count: 1, reason: 'not a message', where })
  }

  #assistant({ content }: Json, index: number): void {
    const all = this.#blocks(content, index)
    const blocks = all.filter(({ block }) => block.type !== 'tool_result')
    const results = all.filter(({ block }) => block.type === 'tool_result')
    const parts = blocks.map(({ block, at }) => {
      const raw = at === undefined ? undefined : this.list.rawAt(index, ['content', at, 'input'])
      const part = assistantPart(block, inputOfValue(block.input, raw))
      if (part.type === 'tool-call') this.#names.set(part.toolCallId, part.toolName)
      return part
    })
    this.into.log.assistant(parts, { where: this.#whereOf(content, index), parts: blocks.map(({ where }) => where) })
    if (results.length > 0) this.#misplaced(results, index)
    this.#results(results)
  }

  #misplaced(results: readonly PlacedBlock[], index: number): void {
    const ids = results.map(({ block }) => stringOf(block.tool_use_id) ?? '')
    this.into.report({ code: 'order.result-not-leading', severity: 'error', where: this.list.where(index), ids })
  }

  #results(results: readonly PlacedBlock[]): void {
    for (const { block, where } of results) {
      const toolCallId = stringOf(block.tool_use_id) ?? ''
      const result = { toolCallId, toolName: this.#names.get(toolCallId), ...resultOf(block) }
      this.into.log.result(result, { where, parts: [where] })
    }
  }

  /** Results first: that is where the API wants them. */
  #user({ content }: Json, index: number): void {
    const blocks = this.#blocks(content, index)
    const results = blocks.filter(({ block }) => block.type === 'tool_result')
    const rest = blocks.filter(({ block }) => block.type !== 'tool_result')
    if (blocks.slice(0, results.length).some(({ block }) => block.type !== 'tool_result')) {
      this.#misplaced(results, index)
    }
    this.#results(results)
    if (rest.length === 0 && results.length > 0) return
    const place = { where: this.#whereOf(content, index), parts: rest.map(({ where }) => where) }
    this.into.log.user(
      rest.map(({ block }) => userPart(block)),
      place,
    )
  }

  #blocks(content: unknown, index: number): PlacedBlock[] {
    if (typeof content === 'string') {
      return [{ block: { type: 'text', text: content }, where: this.list.where(index, '.content') }]
    }
    for (const [j, block] of listOf(content).entries()) {
      const where = this.list.where(index, `.content[${j}]`)
      if (!isObject(block)) this.into.lose({ kind: 'record', count: 1, reason: 'not a content block', where })
    }
    return objectsOf(content).map(([j, block]) => ({ block, where: this.list.where(index, `.content[${j}]`), at: j }))
  }

  /** A message without content is empty right there. */
  #whereOf(content: unknown, index: number): string {
    return Array.isArray(content) && content.length === 0 ? this.list.where(index, '.content') : this.list.where(index)
  }
}

function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  return objectsOf(content).flatMap(([, { text }]) => (typeof text === 'string' ? [text] : []))
}
