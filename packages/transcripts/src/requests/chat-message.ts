import type { AssistantMessage, Message, ModelRequest, ToolCallPart, UserMessage, UserPart } from '@palimpsest/session'
import { isObject, stringOf } from '../json/shapes.js'
import { argumentsText, customInput } from './arguments.js'
import { dataUrl, mediaOf } from './media.js'
import type { RequestBody } from './outgoing.js'
import { resultText } from './result-text.js'

/** What the endpoints that speak Chat Completions differ in. */
export interface ChatDialect {
  /** Takes the model's own reasoning back as text. */
  hasReasoning: boolean
  /** Knows tools that take free text. */
  hasCustomTools: boolean
}

/** A message of the log as chat messages: each result is one of its own. */
export function chatMessages(message: Message, dialect: ChatDialect): RequestBody[] {
  if (message.role === 'assistant') return [assistantMessage(message, dialect)]
  if (message.role === 'user') return [{ role: 'user', content: userContent(message) }]
  return message.content.map(({ toolCallId, output }) => ({
    role: 'tool',
    tool_call_id: toolCallId,
    content: resultText(output),
  }))
}

/** The reasoning of a message as `reasoning_content`, or nothing. */
export function reasoningContent({ content }: AssistantMessage): { reasoning_content?: string } {
  const texts = content.flatMap(part => (part.type === 'reasoning' && part.text !== '' ? [part.text] : []))
  return texts.length === 0 ? {} : { reasoning_content: texts.join('\n\n') }
}

export function chatTools(
  tools: NonNullable<ModelRequest['tools']>,
  messages: readonly Message[],
  { hasCustomTools }: ChatDialect,
): { tools?: RequestBody[] } {
  if (tools.length === 0) return {}
  const custom = new Set(hasCustomTools ? messages.flatMap(customNames) : [])
  return {
    tools: tools.map(({ name, description, inputSchema }) => {
      const told = { name, ...(description !== undefined && { description }) }
      return custom.has(name)
        ? { type: 'custom', custom: told }
        : { type: 'function', function: { ...told, parameters: inputSchema } }
    }),
  }
}

// --- internal ---

function assistantMessage(message: AssistantMessage, dialect: ChatDialect): RequestBody {
  const calls = message.content.filter(part => part.type === 'tool-call' && !part.providerExecuted) as ToolCallPart[]
  const texts = message.content.filter(part => part.type === 'text')
  const said = texts.map(part =>
    part.providerOptions?.openai?.refusal === true
      ? { type: 'refusal', refusal: part.text }
      : { type: 'text', text: part.text },
  )
  const isPlain = said.length === 1 && said[0]!.type === 'text'
  return {
    role: 'assistant',
    content: said.length === 0 ? null : isPlain ? texts[0]!.text : said,
    ...(dialect.hasReasoning && reasoningContent(message)),
    ...(calls.length > 0 && { tool_calls: calls.map(call => toolCall(call, dialect)) }),
  }
}

function toolCall(part: ToolCallPart, { hasCustomTools }: ChatDialect): RequestBody {
  const { toolCallId: id, toolName: name } = part
  const input = hasCustomTools && isChatCustom(part) ? customInput(part) : undefined
  if (input !== undefined) return { id, type: 'custom', custom: { name, input } }
  return { id, type: 'function', function: { name, arguments: argumentsText(part) } }
}

/** A free text of the Responses API goes as a function call, which more endpoints know. */
function isChatCustom({ providerOptions }: ToolCallPart): boolean {
  return providerOptions?.openai?.wire === 'chat'
}

function customNames({ role, content }: Message): string[] {
  if (role !== 'assistant') return []
  return content.flatMap(part => (part.type === 'tool-call' && isChatCustom(part) ? [part.toolName] : []))
}

function userContent({ content }: UserMessage): unknown {
  if (content.length === 1 && content[0]!.type === 'text') return content[0]!.text
  return content.map(contentPart)
}

function contentPart(part: UserPart): RequestBody {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const own = part.providerOptions?.openai?.part
  if (isObject(own)) return own
  const media = mediaOf(part)!
  if (media.isImage) {
    const detail = stringOf(part.providerOptions?.openai?.imageDetail)
    return { type: 'image_url', image_url: { url: dataUrl(media), ...(detail !== undefined && { detail }) } }
  }
  if ('data' in media && media.mediaType.startsWith('audio/')) {
    return { type: 'input_audio', input_audio: { data: media.data, format: AUDIO[media.mediaType] ?? 'wav' } }
  }
  return { type: 'file', file: { filename: media.filename ?? 'file', file_data: dataUrl(media) } }
}

const AUDIO: Record<string, string> = { 'audio/mpeg': 'mp3', 'audio/mp3': 'mp3' }
