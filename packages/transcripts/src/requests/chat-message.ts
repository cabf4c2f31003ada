import type {
  AssistantMessage,
  JsonObject,
  Message,
  ModelRequest,
  TextPart,
  ToolCallPart,
  UserMessage,
  UserPart,
} from '@palimpsest/session'
import { isObject, stringOf } from '../json/shapes.js'
import { argumentsText, customInput } from './arguments.js'
import { isFreeText, textFormat, withoutMark } from './free-text-tool.js'
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
  if (message.role === 'user') return [userMessage(message)]
  return message.content.map(({ toolCallId, output }) => ({
    role: 'tool',
    tool_call_id: toolCallId,
    content: resultText(output),
  }))
}

export function chatTools(
  tools: NonNullable<ModelRequest['tools']>,
  messages: readonly Message[],
  { hasCustomTools }: ChatDialect,
): { tools?: RequestBody[] } {
  if (tools.length === 0) return {}
  const calls = messages.flatMap(callsOf)
  const custom = new Set(calls.filter(isChatCustom).map(({ toolName }) => toolName))
  const plain = new Set(calls.filter(call => !isChatCustom(call)).map(({ toolName }) => toolName))
  return {
    tools: tools.map(tool => {
      const { name, description, inputSchema } = tool
      const told = { name, ...(description !== undefined && { description }) }
      if (hasCustomTools && (custom.has(name) || (isFreeText(tool) && !plain.has(name)))) {
        return { type: 'custom', custom: { ...told, ...textFormat(tool) } }
      }
      return { type: 'function', function: { ...told, parameters: withoutMark(inputSchema) } }
    }),
  }
}

// --- internal ---

/** The reasoning of a message as `reasoning_content`, or nothing. */
function reasoningContent({ content }: AssistantMessage): { reasoning_content?: string } {
  const texts = content.flatMap(part => (part.type === 'reasoning' && part.text !== '' ? [part.text] : []))
  return texts.length === 0 ? {} : { reasoning_content: texts.join('\n\n') }
}

function assistantMessage(message: AssistantMessage, dialect: ChatDialect): RequestBody {
  const calls = message.content.filter(part => part.type === 'tool-call' && !part.providerExecuted) as ToolCallPart[]
  const texts = message.content.filter(part => part.type === 'text')
  const said = texts.filter(part => !isRefusal(part)).map(({ text }) => text)
  const refused = texts.filter(isRefusal).map(({ text }) => text)
  const [only = null, ...more] = said
  return {
    role: 'assistant',
    content: more.length === 0 ? only : said.map(text => ({ type: 'text', text })),
    ...(refused.length > 0 && { refusal: refused.join('\n\n') }),
    ...(dialect.hasReasoning && reasoningContent(message)),
    ...(calls.length > 0 && { tool_calls: calls.map(call => toolCall(call, dialect)) }),
  }
}

function isRefusal({ providerOptions }: TextPart): boolean {
  return providerOptions?.openai?.refusal === true
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

function callsOf({ role, content }: Message): ToolCallPart[] {
  return role === 'assistant' ? (content.filter(part => part.type === 'tool-call') as ToolCallPart[]) : []
}

function userMessage({ content, providerOptions }: UserMessage): RequestBody {
  const name = stringOf(providerOptions?.openai?.name)
  return { role: 'user', content: userContent(content), ...(name !== undefined && { name }) }
}

function userContent(content: readonly UserPart[]): unknown {
  if (content.length === 1 && content[0]!.type === 'text') return content[0]!.text
  return content.map(contentPart)
}

function contentPart(part: UserPart): RequestBody {
  const own = part.providerOptions?.openai?.part
  if (isObject(own)) return ownPart(own)
  if (part.type === 'text') return { type: 'text', text: part.text }
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

/** The Responses API names a file that the server keeps in another way; an image that it keeps has no place here. */
function ownPart(part: JsonObject): RequestBody {
  if (part.type === 'input_file') return { type: 'file', file: { file_id: part.file_id } }
  return part.type === 'input_image' ? { type: 'text', text: '[image left out: the provider keeps it]' } : part
}

const AUDIO: Record<string, string> = { 'audio/mpeg': 'mp3', 'audio/mp3': 'mp3' }
