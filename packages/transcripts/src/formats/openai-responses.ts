import type { Format, Import } from '../format.js'
import { isObject, type Json, objectsOf, stringOf } from '../json/shapes.js'
import { chatTool, freeTextTool } from './chat-content.js'
import { type FoundList, listsIn, type MessageList, openList } from './message-list.js'
import { hostedCall, isHosted, modelParts, OWN_CALLS, outputOf, userParts } from './responses-items.js'
import { systemText } from './system-text.js'

/** OpenAI Responses: an array of input and output items, or a request body. */
export const openaiResponses: Format = {
  name: 'openai-responses',
  detect: head => listsIn(head, ['input']).some(isResponses),
  import: into => new ResponsesImport(into, openList(into, ['input'])).run(),
}

// --- internal ---

const ITEMS = /^(message|reasoning|item_reference|compaction|mcp_\w+|(function|custom_tool|[a-z_]+)_call(_output)?)$/
/** Sound and refusals look the same in chat messages. */
const PARTS = new Set(['input_text', 'output_text', 'input_image', 'input_file'])

function isResponses({ items, body }: FoundList): boolean {
  const known = objectsOf(items).map(([, item]) => item)
  if (known.length === 0 || known.length < items.length || !known.every(isItem)) return false
  return 'input' in body || known.some(item => 'type' in item || hasOwnParts(item))
}

function isItem(item: Json): boolean {
  return 'type' in item ? ITEMS.test(String(item.type)) : 'role' in item && 'content' in item
}

function hasOwnParts({ content }: Json): boolean {
  return objectsOf(content).some(([, { type }]) => PARTS.has(String(type)))
}

/** One of the items that make up an answer, with its place. */
interface ModelItem {
  item: Json
  index: number
}

class ResponsesImport {
  readonly #names = new Map<string, string>()
  readonly #ids = new Set<string>()
  #answer: ModelItem[] = []

  constructor(
    private readonly into: Import,
    private readonly list: MessageList,
  ) {}

  run(): void {
    const { items, body, where } = this.list
    const model = stringOf(body.model)
    if (model !== undefined) this.into.about({ model, vendor: 'openai' })
    for (const key of ['previous_response_id', 'conversation']) {
      if (body[key] != null) this.#lose('record', 'kept by the server only', key)
    }
    const inside = objectsOf(items).flatMap(([, item]) => (isSystem(item) ? [textOf(item.content)] : []))
    const tools = objectsOf(body.tools).flatMap(([i, tool]) => this.#tool(tool, i))
    this.into.log.header(
      {
        model: model ?? '',
        settings: {},
        ...systemText([stringOf(body.instructions) ?? '', ...inside]),
        ...(tools.length > 0 && { tools }),
      },
      { where: where(0) },
    )
    for (const [i, item] of items.entries()) this.#item(item, i)
    this.#endAnswer()
    this.into.log.finish({ where: where(Math.max(0, items.length - 1)) })
  }

  #tool(tool: Json, index: number) {
    if (tool.type === 'custom') return freeTextTool(tool)
    if (tool.type === 'function') return chatTool(tool)
    this.#lose('tool-schema', 'a tool that the provider runs itself', `tools[${index}]`)
    return []
  }

  #lose(kind: 'record' | 'tool-schema', reason: string, where: string): void {
    this.into.lose({ kind, count: 1, reason, where })
  }

  #item(item: unknown, index: number): void {
    if (!isObject(item)) this.#lose('record', 'not an item', this.list.where(index))
    else if (isModelItem(item)) this.#answerItem(item, index)
    else if (kindOf(item) === 'item_reference') this.#reference(item, this.list.where(index))
    else {
      this.#endAnswer()
      this.#inputItem(item, index)
    }
  }

  #inputItem(item: Json, index: number): void {
    const where = this.list.where(index)
    const kind = kindOf(item)
    if (kind === 'message') this.#message(item, index)
    else if (kind.endsWith('_output')) this.#output(item, index)
    else if (kind === 'mcp_approval_response') this.into.log.assistant([hostedCall(item, index)], { where })
    else {
      this.#lose('record', `an item of the unknown type ${kind}`, where)
      this.into.log.note('import/openai-responses.item', { item: item as never }, { where })
    }
  }

  /** What follows an answer's own message begins another answer, unless calls of the answer wait for their outputs. */
  #answerItem(item: Json, index: number): void {
    const last = this.#answer.at(-1)
    const isNext = kindOf(item) === 'message' || kindOf(item) === 'reasoning'
    const isOpen = this.#answer.some(({ item }) => kindOf(item) in OWN_CALLS)
    if (last !== undefined && kindOf(last.item) === 'message' && isNext && !isOpen) this.#endAnswer()
    this.#answer.push({ item, index })
    if (typeof item.id === 'string') this.#ids.add(item.id)
  }

  #endAnswer(): void {
    const answer = this.#answer
    if (answer.length === 0) return
    this.#answer = []
    const parts = answer.flatMap(({ item, index }) =>
      modelParts(item, index).map(({ part, below }) => ({ part, where: this.list.where(index, below) })),
    )
    for (const { part } of parts) if (part.type === 'tool-call') this.#names.set(part.toolCallId, part.toolName)
    this.into.log.assistant(
      parts.map(({ part }) => part),
      { where: this.list.where(answer[0]!.index), parts: parts.map(({ where }) => where) },
    )
  }

  /** An item that only the server has, unless it is here, too. */
  #reference({ id }: Json, where: string): void {
    if (typeof id === 'string' && this.#ids.has(id)) return
    this.into.report({ code: 'item.reference', severity: 'info', where, id: stringOf(id) ?? '' })
    this.#lose('record', 'kept by the server only', where)
  }

  #message(item: Json, index: number): void {
    const where = this.list.where(index)
    if (isSystem(item)) {
      const isLead = this.list.items.slice(0, index).every(isSystem)
      if (!isLead) this.into.report({ code: 'turn.system-not-first', severity: 'error', where })
      return
    }
    const parts = userParts(item.content).map(({ part, below }) => ({ part, where: this.list.where(index, below) }))
    const place = { where: this.#whereOf(item.content, index), parts: parts.map(each => each.where) }
    const content = parts.map(({ part }) => part)
    if (item.role === 'developer') {
      this.into.log.context(content, 'developer', place, { providerOptions: { openai: { role: 'developer' } } })
    } else this.into.log.user(content, place)
  }

  #whereOf(content: unknown, index: number): string {
    return this.list.where(index, Array.isArray(content) && content.length === 0 ? '.content' : '')
  }

  #output(item: Json, index: number): void {
    const where = this.list.where(index)
    const toolCallId = stringOf(item.call_id) ?? stringOf(item.id) ?? ''
    const toolName = this.#names.get(toolCallId)
    const raw = this.list.rawAt(index, ['output'])
    this.into.log.result({ toolCallId, toolName, ...outputOf(item, raw) }, { where, parts: [where] })
  }
}

function kindOf(item: Json): string {
  return stringOf(item.type) ?? ('role' in item ? 'message' : 'nothing')
}

function isSystem(item: unknown): boolean {
  return isObject(item) && kindOf(item) === 'message' && item.role === 'system'
}

function isModelItem(item: Json): boolean {
  const kind = kindOf(item)
  return kind === 'message' ? item.role === 'assistant' : kind === 'reasoning' || kind in OWN_CALLS || isHosted(kind)
}

function textOf(content: unknown): string {
  return userParts(content)
    .map(({ part }) => (part.type === 'text' ? part.text : ''))
    .join('\n')
}
