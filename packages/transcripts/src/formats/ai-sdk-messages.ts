import type { AssistantPart, JsonObject, ProviderOptions, ToolOutput, UserPart } from '@palimpsest/session'
import type { Import } from '../format.js'
import { isObject, type Json, listOf, objectsOf, stringOf, timeOf } from '../json/shapes.js'
import { inputOfText, inputOfValue, type ToolInput } from '../tool-input.js'
import { filePart, outputOf, providerOptionsOf, toolOutput } from './ai-sdk-parts.js'
import { imagePart } from './image-part.js'
import type { MessageList } from './message-list.js'
import { systemText } from './system-text.js'

/** Whether a message can only be the SDK's: by its typed `parts`, or by parts that no provider names so. */
export function isAiSdkMessage(message: Json): boolean {
  if (Array.isArray(message.toolInvocations)) return true
  const { parts, content } = message
  if (Array.isArray(parts))
    return parts.length > 0 && parts.every(part => isObject(part) && typeof part.type === 'string')
  return objectsOf(content).some(([, part]) => isOwnPart(part))
}

/** Reads messages: `ModelMessage`s as they are, `UIMessage`s as the messages that the SDK makes of them. */
export class AiSdkMessages {
  constructor(
    private readonly into: Import,
    private readonly list: MessageList,
  ) {}

  run(): void {
    const { items, body, where } = this.list
    const inside = objectsOf(items).flatMap(([, message]) => (message.role === 'system' ? [textOf(message)] : []))
    this.into.log.header(
      { model: stringOf(body.model) ?? '', settings: {}, ...systemText([stringOf(body.system) ?? '', ...inside]) },
      { where: where(0) },
    )
    for (const [i, message] of items.entries()) this.#message(message, i)
    this.into.log.finish({ where: where(Math.max(0, items.length - 1)) })
  }

  // --- internal ---

  #message(message: unknown, index: number): void {
    const where = this.list.where(index)
    if (!isObject(message)) this.into.lose({ kind: 'record', count: 1, reason: 'not a message', where })
    else if (message.role === 'system') this.#system(index)
    else if (message.role === 'assistant') this.#assistant(message, index)
    else if (message.role === 'tool') this.#tool(message, index)
    else this.#user(message, index)
  }

  #system(index: number): void {
    const isLead = this.list.items.slice(0, index).every(each => isObject(each) && each.role === 'system')
    if (isLead) return
    this.into.report({ code: 'turn.system-not-first', severity: 'error', where: this.list.where(index) })
  }

  #user(message: Json, index: number): void {
    const parts = this.#parts(message, index).flatMap(({ part, where }) => {
      const own = userPart(part)
      if (own === undefined) this.#note(part, where)
      return own === undefined ? [] : [{ part: own, where }]
    })
    this.into.log.user(
      parts.map(({ part }) => part),
      this.#place(message, index, parts),
      isObject(message.providerOptions) ? { providerOptions: message.providerOptions as ProviderOptions } : {},
    )
  }

  /** A step of a `UIMessage` is a message of its own, and the results in it come after it. */
  #assistant(message: Json, index: number): void {
    let parts: { part: AssistantPart; where: string }[] = []
    let results: { toolCallId: string; toolName: string; output: ToolOutput; where: string }[] = []
    const endStep = (): void => {
      if (parts.length > 0) {
        this.into.log.assistant(
          parts.map(({ part }) => part),
          this.#place(message, index, parts),
          madeBy(message),
        )
      }
      for (const { where, ...result } of results) this.into.log.result(result, { where, parts: [where] })
      parts = []
      results = []
    }
    for (const { part, where, at } of this.#parts(message, index)) {
      if (part.type === 'step-start' && results.length + parts.length > 0) endStep()
      const own = assistantPart(
        part,
        this.list.rawAt(index, [Array.isArray(message.parts) ? 'parts' : 'content', at, 'input']),
      )
      if (own === undefined) this.#note(part, where)
      if (own === undefined) continue
      parts.push({ part: own, where })
      const output = own.type === 'tool-call' ? toolOutput(String(part.state), part) : undefined
      if (own.type !== 'tool-call' || output === undefined) continue
      const { toolCallId, toolName } = own
      if (own.providerExecuted) parts.push({ part: { type: 'tool-result', toolCallId, toolName, output }, where })
      else results.push({ toolCallId, toolName, output, where })
    }
    if (parts.length === 0) this.into.log.assistant([], this.#place(message, index, []), madeBy(message))
    endStep()
  }

  /** What no model is shown: sources, data for the UI. */
  #note(part: Json, where: string): void {
    if (part.type === 'step-start') return
    this.into.log.note(`import/ai-sdk-stream.${String(part.type)}`, part as JsonObject, { where })
  }

  #tool(message: Json, index: number): void {
    for (const { part, where } of this.#parts(message, index)) {
      if (part.type !== 'tool-result') continue
      const toolCallId = stringOf(part.toolCallId) ?? ''
      const output = outputOf(part.output ?? part.result)
      const result = { toolCallId, toolName: stringOf(part.toolName), output, ...providerOptionsOf(part) }
      this.into.log.result(result, { where, parts: [where] })
    }
  }

  #parts(message: Json, index: number): { part: Json; where: string; at: number }[] {
    const { parts, content } = message
    const key = Array.isArray(parts) ? 'parts' : 'content'
    const listed = objectsOf(parts ?? content).map(([at, part]) => ({ part: withoutWrapper(part), at }))
    const text =
      typeof content === 'string' && !Array.isArray(parts) ? [{ part: { type: 'text', text: content }, at: 0 }] : []
    // Calls of version 4 stand beside the text.
    const calls = Array.isArray(parts) ? [] : objectsOf(message.toolInvocations)
    return [
      ...text.map(each => ({ ...each, where: this.list.where(index, '.content') })),
      ...listed.map(each => ({ ...each, where: this.list.where(index, `.${key}[${each.at}]`) })),
      ...calls.map(([at, call]) => ({
        part: { ...call, type: 'tool-invocation' },
        at,
        where: this.list.where(index, `.toolInvocations[${at}]`),
      })),
    ]
  }

  #place(message: Json, index: number, parts: readonly { where: string }[]) {
    const time = timeOf(message.createdAt)
    return {
      where: this.list.where(index),
      parts: parts.map(({ where }) => where),
      ...(time !== undefined && { time }),
    }
  }
}

function isOwnPart(part: Json): boolean {
  const type = String(part.type)
  return (type === 'tool-call' || type === 'tool-result') && 'toolCallId' in part
    ? true
    : type === 'reasoning' && typeof part.text === 'string' && !('summary' in part)
}

/** Who wrote the message, where a session of ours said so. */
function madeBy({ providerOptions }: Json): { model?: string; vendor?: string } {
  const { model, vendor } = (isObject(providerOptions) ? (providerOptions.palimpsest ?? {}) : {}) as Json
  return { ...(typeof model === 'string' && { model }), ...(typeof vendor === 'string' && { vendor }) }
}

/** In version 4 a tool part holds its call one level down. */
function withoutWrapper(part: Json): Json {
  return isObject(part.toolInvocation) ? { ...part.toolInvocation, type: part.type } : part
}

function textOf({ parts, content }: Json): string {
  if (typeof content === 'string') return content
  return listOf(parts ?? content)
    .map(part => (isObject(part) ? (stringOf(part.text) ?? '') : ''))
    .join('\n')
}

function userPart(part: Json): UserPart | undefined {
  if (part.type === 'text') return { type: 'text', text: stringOf(part.text) ?? '', ...providerOptionsOf(part) }
  if (part.type === 'image' && typeof part.image === 'string') {
    const mediaType = stringOf(part.mediaType)
    return { ...imagePart(part.image), ...(mediaType !== undefined && { mediaType }), ...providerOptionsOf(part) }
  }
  if (part.type !== 'file') return undefined
  const file = filePart(part)
  if (!file.mediaType.startsWith('image/')) return file
  return { type: 'image', image: file.data, mediaType: file.mediaType, ...providerOptionsOf(part) }
}

function assistantPart(part: Json, raw: string | undefined): AssistantPart | undefined {
  const type = String(part.type)
  const own = providerOptionsOf(part)
  if (type === 'text') return { type: 'text', text: stringOf(part.text) ?? '', ...own }
  if (type === 'reasoning')
    return { type: 'reasoning', text: stringOf(part.text) ?? stringOf(part.reasoning) ?? '', ...own }
  if (type === 'file') return filePart(part)
  if (type === 'tool-result') {
    const named = { toolCallId: stringOf(part.toolCallId) ?? '', toolName: stringOf(part.toolName) ?? '' }
    return { type: 'tool-result', ...named, output: outputOf(part.output), ...own }
  }
  if (typeof part.toolCallId !== 'string') return undefined
  return {
    type: 'tool-call',
    toolCallId: part.toolCallId,
    toolName: stringOf(part.toolName) ?? type.replace(/^tool-/, ''),
    ...inputOf(part, raw),
    ...(part.providerExecuted === true && { providerExecuted: true }),
    ...own,
  }
}

function inputOf({ input, args, rawInput }: Json, raw: string | undefined): ToolInput {
  if (typeof rawInput === 'string') return { input: (input ?? {}) as JsonObject, rawInput }
  const value = input ?? args
  return typeof value === 'string' ? inputOfText(value) : inputOfValue(value, raw)
}
