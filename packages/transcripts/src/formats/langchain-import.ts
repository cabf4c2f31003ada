import type {
  AssistantPart,
  JsonObject,
  ProviderOptions,
  ToolCallPart,
  ToolOutput,
  Usage,
  UserPart,
} from '@palimpsest/session'
import type { Import } from '../format.js'
import { isObject, type Json, listOf, numberOf, objectsOf, stringOf } from '../json/shapes.js'
import { inputOfText, inputOfValue } from '../tool-input.js'
import { vendorOf } from '../vendor.js'
import { userPart as anthropicPart } from './anthropic-blocks.js'
import { outputOf } from './chat-content.js'
import { imagePart } from './image-part.js'
import type { PlacedMessage } from './langchain-conversation.js'
import type { LangchainMessage } from './langchain-message.js'
import { systemText } from './system-text.js'

/** Writes the messages of a LangChain conversation as events. */
export class LangchainImport {
  constructor(private readonly into: Import) {}

  run(messages: readonly PlacedMessage[]): void {
    const { log } = this.into
    const system = messages.flatMap(({ message }) =>
      message.kind === 'system' ? [textOf(message.fields.content)] : [],
    )
    const last = messages.filter(({ message }) => message.kind === 'ai').at(-1)
    const { model, vendor } = last === undefined ? {} : madeBy(last.message.fields)
    if (model !== undefined) this.into.about({ model, ...(vendor !== undefined && { vendor }) })
    const start = { where: messages[0]?.where ?? 'file' }
    log.header({ model: model ?? '', settings: {}, ...systemText(system) }, start)
    for (const [i, { message, where }] of messages.entries()) {
      if (message.kind === 'system') {
        const isLead = messages.slice(0, i).every(each => each.message.kind === 'system')
        if (!isLead) this.into.report({ code: 'turn.system-not-first', severity: 'error', where })
      } else this.#message(message, where)
    }
    log.finish({ where: messages.at(-1)?.where ?? 'file' })
  }

  // --- internal ---

  #message({ kind, fields }: LangchainMessage, where: string): void {
    if (kind === 'human') this.into.log.user(userParts(fields.content), { where })
    else if (kind === 'tool') this.#result(fields, where)
    else this.#assistant(fields, where)
  }

  #result(fields: Json, where: string): void {
    const toolCallId = stringOf(fields.tool_call_id) ?? ''
    const output = outputOf(fields.content)
    const failed: ToolOutput = output.type === 'text' ? { ...output, type: 'error-text' } : output
    const isError = fields.status === 'error'
    const providerOptions = isError && failed.type === 'content' ? { palimpsest: { isError } } : undefined
    this.into.log.result(
      {
        toolCallId,
        toolName: stringOf(fields.name),
        output: isError ? failed : output,
        ...(providerOptions && { providerOptions }),
      },
      { where, parts: [where] },
    )
  }

  #assistant(fields: Json, where: string): void {
    const said = answerBlocks(fields.content).flatMap(block => this.#answerPart(block, where))
    const parts = [...reasoningParts(fields), ...said, ...callParts(fields)]
    const usage = usageOf(fields.usage_metadata)
    this.into.log.assistant(
      parts,
      { where, parts: parts.map(() => where) },
      { ...madeBy(fields), ...(usage && { usage }) },
    )
  }

  #answerPart(block: Json, where: string): AssistantPart[] {
    const { type, text, data } = block
    if (typeof text === 'string') return text === '' ? [] : [{ type: 'text', text }]
    if (type === 'thinking' || type === 'reasoning') return [thinkingPart(block)]
    if (type === 'redacted_thinking' && typeof data === 'string') {
      return [{ type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: data } } }]
    }
    if (!CALLS.has(String(type))) {
      this.into.lose({ kind: 'record', count: 1, reason: `a block of the unknown type ${String(type)}`, where })
    }
    return []
  }
}

function madeBy({ response_metadata }: Json): { model?: string; vendor?: string } {
  const facts = isObject(response_metadata) ? response_metadata : {}
  const model = stringOf(facts.model_name) ?? stringOf(facts.model)
  const vendor = vendorOf(stringOf(facts.model_provider), model)
  return { ...(model !== undefined && { model }), ...(vendor !== undefined && { vendor }) }
}

function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const inputTokens = numberOf(usage.input_tokens)
  const outputTokens = numberOf(usage.output_tokens)
  const totalTokens = numberOf(usage.total_tokens)
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(totalTokens !== undefined && { totalTokens }),
  }
}

/** Reasoning that stands beside the content: OpenAI's item, or the text that chat endpoints give. */
function reasoningParts({ additional_kwargs }: Json): AssistantPart[] {
  const { reasoning, reasoning_content: text } = isObject(additional_kwargs) ? additional_kwargs : ({} as Json)
  if (typeof text === 'string' && text !== '') return [{ type: 'reasoning', text }]
  if (!isObject(reasoning)) return []
  const summary = objectsOf(reasoning.summary).map(([, { text }]) => ({
    type: 'summary_text',
    text: stringOf(text) ?? '',
  }))
  const encrypted = stringOf(reasoning.encrypted_content)
  const openai: JsonObject = {
    ...(typeof reasoning.id === 'string' && { itemId: reasoning.id }),
    ...(encrypted !== undefined && { reasoningEncryptedContent: encrypted }),
    summary,
  }
  return [{ type: 'reasoning', text: summary.map(each => each.text).join('\n\n'), providerOptions: { openai } }]
}

function answerBlocks(content: unknown): Json[] {
  const blocks = typeof content === 'string' ? [content] : listOf(content)
  return blocks.map(block => (isObject(block) ? block : { type: 'text', text: String(block) }))
}

/** Calls in the content are the ones that `tool_calls` lists, so they are not counted twice. */
const CALLS = new Set(['tool_use', 'input_json_delta', 'tool_call', 'tool_call_chunk', 'function_call'])

function thinkingPart({ thinking, reasoning, signature }: Json): AssistantPart {
  const text = stringOf(thinking) ?? stringOf(reasoning) ?? ''
  const signed = typeof signature === 'string' ? { providerOptions: { anthropic: { signature } } } : {}
  return { type: 'reasoning', text, ...signed }
}

function callParts(fields: Json): ToolCallPart[] {
  const { additional_kwargs, tool_call_chunks, tool_calls, invalid_tool_calls } = fields
  const facts = isObject(additional_kwargs) ? additional_kwargs : {}
  const itemIds = isObject(facts.__openai_function_call_ids__) ? facts.__openai_function_call_ids__ : {}
  const chunks = objectsOf(tool_call_chunks).map(([, chunk]) => chunk)
  const listed = [...objectsOf(tool_calls), ...objectsOf(invalid_tool_calls)].map(([, call]) => call)
  const older = objectsOf(facts.tool_calls).map(([, { id, function: named }]) => ({
    id,
    name: isObject(named) ? named.name : undefined,
    args: isObject(named) ? named.arguments : undefined,
  }))
  const calls = listed.length > 0 ? listed : chunks.length > 0 ? chunks : older
  const made = chunks.length > calls.length ? chunks : calls
  return made.map(call => callPart(call, chunks, itemIds))
}

/** The text of the arguments as the model wrote it, where the pieces of it are there. */
function callPart({ id, name, args }: Json, chunks: readonly Json[], itemIds: Json): ToolCallPart {
  const toolCallId = stringOf(id) ?? ''
  const written = chunks.find(chunk => chunk.id === id && typeof chunk.args === 'string')?.args ?? args
  const itemId = stringOf(itemIds[toolCallId])
  const own: { providerOptions?: ProviderOptions } =
    itemId === undefined ? {} : { providerOptions: { openai: { itemId } } }
  return {
    type: 'tool-call',
    toolCallId,
    toolName: stringOf(name) ?? '',
    ...(typeof written === 'string' ? inputOfText(written) : inputOfValue(written)),
    ...own,
  }
}

function userParts(content: unknown): UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return listOf(content).map((block): UserPart => {
    if (typeof block === 'string') return { type: 'text', text: block }
    if (!isObject(block)) return { type: 'text', text: '' }
    if (typeof block.text === 'string') return { type: 'text', text: block.text }
    return mediaPart(block)
  })
}

/** LangChain's own media blocks, OpenAI's image, or what Anthropic would read. */
function mediaPart(block: Json): UserPart {
  const { image_url: image } = block
  if (image !== undefined) return imagePart(stringOf(isObject(image) ? image.url : image) ?? '')
  const data = stringOf(block.data) ?? stringOf(block.base64) ?? stringOf(block.url)
  const mediaType = stringOf(block.mime_type) ?? stringOf(block.mimeType)
  if (data === undefined) return anthropicPart(block)
  if (block.type === 'image') return { type: 'image', image: data, ...(mediaType !== undefined && { mediaType }) }
  return { type: 'file', data, mediaType: mediaType ?? 'application/octet-stream' }
}

function textOf(content: unknown): string {
  return userParts(content)
    .map(part => (part.type === 'text' ? part.text : ''))
    .join('\n')
}
