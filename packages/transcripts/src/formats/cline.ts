import type { AssistantPart, JsonValue, ToolOutput, ToolResultPart, Usage, UserPart } from '@palimpsest/session'
import type { Format, Import } from '../format.js'
import { isObject, type Json, listOf, numberOf, objectsOf, stringOf, timeOf } from '../json/shapes.js'
import type { Replaced } from '../log-builder.js'
import type { Place } from '../place.js'
import { inputOfValue } from '../tool-input.js'
import { vendorOf } from '../vendor.js'
import { assistantPart, resultOf, userPart } from './anthropic-blocks.js'
import { hiddenBy, isVoidSummaryMessage } from './cline/condensed.js'
import { type FoundList, listsIn, type MessageList, openList } from './message-list.js'

/** Cline and Roo: Anthropic messages with marks of their own, as a bare history or in the session file of the SDK. */
export const cline: Format = {
  name: 'cline',
  detect: head => listsIn(head, ['messages']).some(isCline),
  import: into => new ClineImport(into, openList(into, ['messages'])).run(),
}

// --- internal ---

const MARKS = ['modelInfo', 'condenseId', 'condenseParent', 'isSummary', 'truncationId', 'truncationParent']

function isCline({ items, body }: FoundList): boolean {
  const messages = objectsOf(items).map(([, message]) => message)
  if (messages.length === 0 || messages.length < items.length) return false
  if (!messages.every(({ role, content }) => (role === 'user' || role === 'assistant') && content !== undefined))
    return false
  if (typeof body.sessionId === 'string' && ('system_prompt' in body || 'updated_at' in body)) return true
  return messages.every(({ ts }) => typeof ts === 'number') || messages.some(each => MARKS.some(mark => mark in each))
}

interface Block {
  readonly block: Json
  readonly where: string
  /** In the content, where that is a list. */
  readonly at?: number
}

class ClineImport {
  readonly #into: Import
  readonly #list: MessageList
  readonly #names = new Map<string, string>()
  /** The nodes of each message, by its index. */
  readonly #nodes = new Map<number, number[]>()

  constructor(into: Import, list: MessageList) {
    this.#into = into
    this.#list = list
  }

  run(): void {
    const { body, items, where } = this.#list
    const [id, system] = [stringOf(body.sessionId), stringOf(body.system_prompt)]
    this.#into.about(id === undefined ? {} : { id })
    if (system !== undefined) this.#into.log.header({ model: '', settings: {}, system }, { where: where(0) })
    const hidden = hiddenBy(items)
    for (const [i, message] of items.entries()) this.#message(message, i, hidden)
    this.#into.log.finish({ where: where(Math.max(0, items.length - 1)) })
  }

  // --- internal ---

  /** A message that a summary hides is said before the summary takes its place. One that is hidden by what stands before it is a note. */
  #message(message: unknown, index: number, hidden: ReadonlyMap<number, number>): void {
    const where = this.#list.where(index)
    if (!isObject(message)) {
      this.#into.lose({ kind: 'record', count: 1, reason: 'not a message', where })
      return
    }
    if (isVoidSummaryMessage(message)) {
      this.#into.report({ code: 'compaction.void-summary', severity: 'error', where })
      this.#into.log.note('import/cline.summary', message as Record<string, JsonValue>, { where })
      return
    }
    const hider = hidden.get(index)
    if (hider !== undefined && hider < index) {
      this.#into.log.note('import/cline.hidden', message as Record<string, JsonValue>, { where })
      return
    }
    const before = new Set(this.#into.log.surface)
    const replacing = this.#replaced([...hidden].flatMap(([i, by]) => (by === index ? [i] : [])))
    if (message.role === 'assistant') this.#assistant(message, index, replacing)
    else this.#user(message, index, replacing)
    this.#nodes.set(
      index,
      this.#into.log.surface.filter(seq => !before.has(seq)),
    )
  }

  /** The stretch of the surface that these messages are; one that others stand in is none. */
  #replaced(indexes: readonly number[]): Replaced | undefined {
    const nodes = new Set(indexes.flatMap(i => this.#nodes.get(i) ?? []))
    const { surface } = this.#into.log
    const at = surface.flatMap((seq, i) => (nodes.has(seq) ? [i] : []))
    const [first, last] = [at[0], at.at(-1)]
    if (first === undefined || last === undefined || last - first >= at.length) return undefined
    return { start: surface[first]!, end: surface[last]! }
  }

  #assistant(message: Json, index: number, replacing: Replaced | undefined): void {
    const blocks = this.#blocks(message.content, index)
    const parts = blocks.map(({ block, at }): AssistantPart => {
      const raw = at === undefined ? undefined : this.#list.rawAt(index, ['content', at, 'input'])
      const part = assistantPart(block, inputOfValue(block.input, raw))
      if (part.type === 'tool-call') this.#names.set(part.toolCallId, part.toolName)
      return part
    })
    this.#into.log.assistant(parts, this.#place(message, index, blocks), {
      ...this.#by(message.modelInfo),
      usage: usageOf(message.metrics),
      ...(replacing && { replacing }),
    })
  }

  #by(modelInfo: unknown): { model?: string; vendor?: string } {
    if (!isObject(modelInfo)) return {}
    const model = stringOf(modelInfo.id)
    const vendor = vendorOf(stringOf(modelInfo.provider), model)
    const by = { ...(model !== undefined && { model }), ...(vendor !== undefined && { vendor }) }
    this.#into.about(by)
    return by
  }

  #user(message: Json, index: number, replacing: Replaced | undefined): void {
    const blocks = this.#blocks(message.content, index)
    const results = blocks.filter(({ block }) => block.type === 'tool_result')
    for (const result of results) this.#result(result, timeOf(message.ts))
    const said = blocks.filter(({ block }) => block.type !== 'tool_result')
    const isInjected = ({ block }: Block) => /^\s*<environment_details>/.test(stringOf(block.text) ?? '')
    const typed = said.filter(each => !isInjected(each))
    const more = replacing ? { replacing } : {}
    if (message.isSummary === true || message.isTruncationMarker === true) {
      this.#into.log.context(said.map(userPartOf), 'condensed', this.#place(message, index, said), more)
      return
    }
    if (typed.length > 0 || blocks.length === 0) {
      this.#into.log.user(typed.map(userPartOf), this.#place(message, index, typed), more)
    }
    const injected = said.filter(isInjected)
    if (injected.length === 0) return
    this.#into.log.context(injected.map(userPartOf), 'environment', this.#place(message, index, injected))
  }

  #result({ block, where }: Block, time: number | undefined): void {
    const toolCallId = stringOf(block.tool_use_id) ?? ''
    const toolName = this.#names.get(toolCallId) ?? stringOf(block.name)
    this.#into.log.result({ toolCallId, toolName, ...outputOf(block) }, { where, parts: [where], time })
  }

  #blocks(content: unknown, index: number): Block[] {
    if (typeof content === 'string') {
      return [{ block: { type: 'text', text: content }, where: this.#list.where(index, '.content') }]
    }
    for (const [j, block] of listOf(content).entries()) {
      const where = this.#list.where(index, `.content[${j}]`)
      if (!isObject(block)) this.#into.lose({ kind: 'record', count: 1, reason: 'not a content block', where })
    }
    return objectsOf(content).map(([at, block]) => ({ block, at, where: this.#list.where(index, `.content[${at}]`) }))
  }

  #place({ ts, content }: Json, index: number, blocks: readonly Block[]): Place {
    const isEmpty = Array.isArray(content) && content.length === 0
    const where = this.#list.where(index, isEmpty ? '.content' : '')
    return { where, parts: blocks.map(each => each.where), time: timeOf(ts) }
  }
}

/** A file that was named in the prompt goes as its text, with its path. */
function userPartOf({ block }: Block): UserPart {
  if (block.type !== 'file' || typeof block.content !== 'string') return userPart(block)
  return { type: 'text', text: `<file_content path="${String(block.path)}">\n${block.content}\n</file_content>` }
}

/** Results of its tools are often lists of plain objects. */
function outputOf(block: Json): {
  output: ToolOutput
  providerOptions?: NonNullable<ToolResultPart['providerOptions']>
} {
  const { content, is_error } = block
  const isValue = Array.isArray(content) && content.some(each => !isObject(each) || typeof each.type !== 'string')
  if (!isValue) return resultOf(block)
  return { output: { type: is_error === true ? 'error-json' : 'json', value: content as JsonValue } }
}

function usageOf(metrics: unknown): Usage | undefined {
  if (!isObject(metrics)) return undefined
  const [input, output] = [numberOf(metrics.inputTokens), numberOf(metrics.outputTokens)]
  const cached = numberOf(metrics.cacheReadTokens)
  return {
    ...(input !== undefined && { inputTokens: input }),
    ...(output !== undefined && { outputTokens: output }),
    ...(cached !== undefined && { cachedInputTokens: cached }),
  }
}
