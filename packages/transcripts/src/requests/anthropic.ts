import type {
  AssistantPart,
  JsonObject,
  Message,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolContent,
  ToolOutput,
  ToolResultPart,
  UserPart,
} from '@palimpsest/session'
import { isObject, stringOf } from '../json/shapes.js'
import { argumentsObject } from './arguments.js'
import { withoutMark } from './free-text-tool.js'
import { type Media, mediaOf } from './media.js'
import type { Outgoing, RequestBody } from './outgoing.js'
import { isFailure, resultText } from './result-text.js'

/** The body of an Anthropic Messages request: neighbours of one role are one message, in which results come first. */
export function anthropicBody({ messages, system, tools = [], thinking, toolChoice }: Outgoing): RequestBody {
  return {
    messages: joined(messages).map(({ role, blocks }) => ({ role, content: resultsFirst(blocks) })),
    ...(system !== undefined && { system }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        name,
        ...(description !== undefined && { description }),
        input_schema: objectSchema(withoutMark(inputSchema)),
      })),
    }),
    ...(toolChoice !== undefined && { tool_choice: { type: toolChoice } }),
    ...(thinking !== undefined && { thinking: THINKING[thinking] }),
  }
}

// --- internal ---

/** The smallest budget that the API takes. */
const THINKING = { enabled: { type: 'enabled', budget_tokens: 1024 }, disabled: { type: 'disabled' } }

function objectSchema(schema: JsonObject): JsonObject {
  return schema.type === 'object' ? schema : { ...schema, type: 'object' }
}

interface Joined {
  role: 'user' | 'assistant'
  blocks: RequestBody[]
}

function joined(messages: readonly Message[]): Joined[] {
  const list: Joined[] = []
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const blocks = blocksOf(message)
    const last = list.at(-1)
    if (last?.role === role) last.blocks.push(...blocks)
    else list.push({ role, blocks })
  }
  return list.filter(({ blocks }) => blocks.length > 0)
}

function resultsFirst(blocks: RequestBody[]): RequestBody[] {
  const isResult = ({ type }: RequestBody) => type === 'tool_result'
  return [...blocks.filter(isResult), ...blocks.filter(block => !isResult(block))]
}

function blocksOf(message: Message): RequestBody[] {
  if (message.role === 'tool') return message.content.map(resultBlock)
  if (message.role === 'user') return message.content.flatMap(userBlock)
  return message.content.flatMap(assistantBlock)
}

function assistantBlock(part: AssistantPart): RequestBody[] {
  const own = part.providerOptions?.anthropic?.block
  if (isObject(own)) return [own]
  if (part.type === 'text') return [textBlock(part)]
  if (part.type === 'reasoning') return [thinkingBlock(part)]
  if (part.type === 'tool-call' && !part.providerExecuted) return [callBlock(part)]
  return []
}

function textBlock({ text, providerOptions }: TextPart): RequestBody {
  const citations = providerOptions?.anthropic?.citations
  return { type: 'text', text, ...(citations !== undefined && { citations }) }
}

function thinkingBlock({ text, providerOptions }: ReasoningPart): RequestBody {
  const data = stringOf(providerOptions?.anthropic?.redactedData)
  if (data !== undefined) return { type: 'redacted_thinking', data }
  const signature = stringOf(providerOptions?.anthropic?.signature)
  return { type: 'thinking', thinking: text, ...(signature !== undefined && { signature }) }
}

function callBlock(part: ToolCallPart): RequestBody {
  return { type: 'tool_use', id: part.toolCallId, name: part.toolName, input: argumentsObject(part) }
}

function userBlock(part: UserPart): RequestBody[] {
  const own = part.providerOptions?.anthropic?.block
  if (isObject(own)) return [own]
  if (part.type === 'text') return [{ type: 'text', text: part.text }]
  const media = mediaOf(part)
  return media === undefined ? [] : [mediaBlock(media)]
}

function mediaBlock(media: Media): RequestBody {
  if (media.isImage) return { type: 'image', source: sourceOf(media) }
  const title = media.filename === undefined ? {} : { title: media.filename }
  return { type: 'document', source: sourceOf(media), ...title }
}

function sourceOf(media: Media): RequestBody {
  if ('url' in media) return { type: 'url', url: media.url }
  return { type: 'base64', media_type: media.mediaType, data: media.data }
}

function resultBlock(part: ToolResultPart): RequestBody {
  return {
    type: 'tool_result',
    tool_use_id: part.toolCallId,
    content: resultContent(part.output),
    ...(isFailure(part) && { is_error: true }),
  }
}

/** A single text is a string. */
function resultContent(output: ToolOutput): unknown {
  if (output.type !== 'content') return resultText(output)
  const isText = output.value.length === 1 && output.value[0]!.type === 'text'
  return isText ? resultText(output) : output.value.map(contentBlock)
}

function contentBlock(part: ToolContent): RequestBody {
  const own = part.providerOptions?.anthropic?.block
  if (isObject(own)) return own
  const media = mediaOf(part)
  if (media !== undefined) return mediaBlock(media)
  return { type: 'text', text: resultText({ type: 'content', value: [part] }) }
}
