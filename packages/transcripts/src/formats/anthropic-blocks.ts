import type {
  AssistantPart,
  FilePart,
  ImagePart,
  JsonObject,
  ProviderOptions,
  TextPart,
  ToolContent,
  ToolOutput,
  UserPart,
} from '@palimpsest/session'
import { isObject, type Json, listOf, objectsOf, stringOf } from '../json/shapes.js'
import type { ToolInput } from '../tool-input.js'

/** A block of an assistant's message. A block that only this provider reads is kept whole, beside what others see of it. */
export function assistantPart(block: Json, input: ToolInput): AssistantPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: stringOf(block.text) ?? '', ...citations(block) }
    case 'thinking':
      return { type: 'reasoning', text: stringOf(block.thinking) ?? '', ...own('signature', block.signature) }
    case 'redacted_thinking':
      return { type: 'reasoning', text: '', ...own('redactedData', block.data) }
    case 'tool_use':
      return { type: 'tool-call', toolCallId: stringOf(block.id) ?? '', toolName: stringOf(block.name) ?? '', ...input }
    case 'server_tool_use':
    case 'mcp_tool_use':
      return { ...serverCall(block), input: input.input, ...own('block', block) }
    default:
      return isServerResult(block) ? serverResult(block) : answerFile(block)
  }
}

export function userPart(block: Json): UserPart {
  if (block.type === 'text') return { type: 'text', text: stringOf(block.text) ?? '' }
  return mediaPart(block) ?? foreignPart(block, USER_BLOCKS)
}

/** The members of a result part for a `tool_result` block. */
export function resultOf(block: Json): { output: ToolOutput; providerOptions?: ProviderOptions } {
  const { content, is_error } = block
  const isError = is_error === true
  const text = plainText(content)
  if (text !== undefined) return { output: { type: isError ? 'error-text' : 'text', value: text } }
  if (!Array.isArray(content))
    return { output: { type: isError ? 'error-json' : 'json', value: content as JsonObject } }
  const output: ToolOutput = { type: 'content', value: objectsOf(content).map(([, each]) => contentOf(each)) }
  return { output, ...(isError && { providerOptions: { palimpsest: { isError } } }) }
}

// --- internal ---

/** The one text that the content is; nothing at all is the empty one. */
function plainText(content: unknown): string | undefined {
  if (typeof content === 'string') return content
  if (content == null || (Array.isArray(content) && content.length === 0)) return ''
  const [only, ...more] = listOf(content)
  const isText = isObject(only) && only.type === 'text' && typeof only.text === 'string' && more.length === 0
  return isText ? (only.text as string) : undefined
}

function contentOf(block: Json): ToolContent {
  if (block.type === 'text') return { type: 'text', text: stringOf(block.text) ?? '' }
  const media = mediaPart(block)
  if (media === undefined) return { type: 'custom', ...kept(block, RESULT_BLOCKS) }
  if (media.type === 'image') {
    return isAddress(media.image)
      ? { type: 'image-url', url: media.image }
      : { type: 'image-data', data: media.image, mediaType: media.mediaType ?? 'image/png' }
  }
  const { data, mediaType, filename, providerOptions } = media
  const named = { ...(filename !== undefined && { filename }), ...(providerOptions && { providerOptions }) }
  return isAddress(data) ? { type: 'file-url', url: data } : { type: 'file-data', data, mediaType, ...named }
}

const isAddress = (text: string) => /^https?:/.test(text)

/** Images and documents whose bytes or address are in the block. What more a document says stays with it. */
function mediaPart(block: Json): ImagePart | FilePart | undefined {
  const source = isObject(block.source) ? block.source : {}
  const data = stringOf(source.type === 'url' ? source.url : source.data)
  if (data === undefined) return undefined
  const mediaType = stringOf(source.media_type)
  if (block.type === 'image') return { type: 'image', image: data, ...(mediaType !== undefined && { mediaType }) }
  if (block.type !== 'document') return undefined
  const filename = stringOf(block.title)
  const isPlain =
    (source.type === 'base64' || source.type === 'url') && block.context == null && block.citations == null
  return {
    type: 'file',
    data: source.type === 'text' ? base64(data) : data,
    mediaType: mediaType ?? 'application/pdf',
    ...(filename !== undefined && { filename }),
    ...(!isPlain && own('block', block)),
  }
}

/** A block that no part of ours stands for: only this provider can read it again. Media that it keeps itself have no bytes. */
function foreignPart(block: Json, known: RegExp): TextPart | FilePart {
  const isMedia = block.type === 'image' || block.type === 'document'
  if (!isMedia) return { type: 'text', text: '', ...kept(block, known) }
  const mediaType = block.type === 'image' ? 'image/*' : 'application/pdf'
  return { type: 'file', data: '', mediaType, ...kept(block, known) }
}

/** Media in an answer are files, which the API does not take back. */
function answerFile(block: Json): AssistantPart {
  const media = mediaPart(block)
  if (media === undefined) return foreignPart(block, ANSWER_BLOCKS)
  const data = media.type === 'image' ? media.image : media.data
  return { type: 'file', data, mediaType: media.mediaType ?? 'image/png' }
}

/** What the API takes at each place beside the blocks that have parts of their own. */
const USER_BLOCKS = /^(image|document|search_result|container_upload|mcp_tool_result)$/
const ANSWER_BLOCKS = /^(search_result|container_upload)$/
const RESULT_BLOCKS = /^(image|document|search_result|tool_reference)$/

/** A block that has no place where it stands is nobody's: it is kept, and no request has it. */
function kept(block: Json, known: RegExp): { providerOptions: ProviderOptions } {
  const owner = known.test(String(block.type)) && hasSource(block) ? 'anthropic' : 'unknown'
  return { providerOptions: { [owner]: { block: block as JsonObject } } }
}

/** Of media without bytes and address: whether the block names them in a way that the API knows. */
function hasSource({ type, source }: Json): boolean {
  if (type !== 'image' && type !== 'document') return true
  if (!isObject(source)) return false
  return source.type === 'file'
    ? stringOf(source.file_id) !== undefined
    : type === 'document' && source.type === 'content'
}

function serverCall(block: Json) {
  const toolName = stringOf(block.name) ?? String(block.type)
  return { type: 'tool-call' as const, toolCallId: stringOf(block.id) ?? '', toolName, providerExecuted: true }
}

function isServerResult({ type, tool_use_id }: Json): boolean {
  return typeof type === 'string' && type.endsWith('_tool_result') && typeof tool_use_id === 'string'
}

function serverResult(block: Json): AssistantPart {
  const toolName = String(block.type).replace(/_tool_result$/, '')
  const output: ToolOutput = { type: 'json', value: (block.content ?? null) as JsonObject }
  return { type: 'tool-result', toolCallId: block.tool_use_id as string, toolName, output, ...own('block', block) }
}

function citations({ citations }: Json): { providerOptions?: ProviderOptions } {
  return Array.isArray(citations) && citations.length > 0 ? own('citations', citations) : {}
}

function own(name: string, value: unknown): { providerOptions?: ProviderOptions } {
  return value == null ? {} : { providerOptions: { anthropic: { [name]: value } as JsonObject } }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
