import type {
  AssistantPart,
  FilePart,
  JsonObject,
  JsonValue,
  ProviderOptions,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolContent,
  ToolOutput,
  UserPart,
} from '@palimpsest/session'
import { isObject, type Json, listOf, objectsOf, stringOf } from '../json/shapes.js'
import { inputOfText } from '../tool-input.js'
import { refusalPart } from './chat-content.js'
import { bytesOf, imagePart } from './image-part.js'

/** A part, and where it stands below its item. */
export interface PartBelow<Part> {
  part: Part
  below: string
}

/** Calls that the caller answers, with the member that holds what is asked for. */
export const OWN_CALLS: Record<string, string> = {
  function_call: 'arguments',
  custom_tool_call: 'input',
  local_shell_call: 'action',
  shell_call: 'action',
  apply_patch_call: 'operation',
  computer_call: 'action',
}

/** Calls that the provider answers itself, and what else only it can read. */
export function isHosted(kind: string): boolean {
  return (
    /^(web_search|file_search|code_interpreter|image_generation|mcp|tool_search)_call$/.test(kind) || HOSTED.has(kind)
  )
}

/** An item of an answer as the parts that it stands for: a message has one for each text. */
export function modelParts(item: Json, index: number): PartBelow<AssistantPart>[] {
  switch (item.type) {
    case 'reasoning':
      return [{ part: reasoningPart(item), below: '' }]
    case 'message':
    case undefined:
      return textParts(item)
    default:
      return [{ part: String(item.type) in OWN_CALLS ? callPart(item) : hostedCall(item, index), below: '' }]
  }
}

/** Something that only the provider reads: kept whole. */
export function hostedCall(item: Json, index: number): ToolCallPart {
  const kind = String(item.type)
  return {
    type: 'tool-call',
    toolCallId: stringOf(item.id) ?? `${kind}-${index}`,
    toolName: kind.replace(/_call$/, ''),
    input: {},
    providerExecuted: true,
    providerOptions: { openai: { ...itemId(item), item: item as JsonObject } },
  }
}

export function userParts(content: unknown): PartBelow<UserPart>[] {
  if (typeof content === 'string') return [{ part: { type: 'text', text: content }, below: '.content' }]
  return objectsOf(content).map(([i, part]) => ({ part: userPart(part), below: `.content[${i}]` }))
}

/** The members of a result part. `raw`: the text of a value that a double would change. */
export function outputOf(item: Json, raw?: string): { output: ToolOutput; providerOptions?: ProviderOptions } {
  const { output } = item
  const own = isTextOutput(item) ? {} : { providerOptions: { openai: { item: item as JsonObject } } }
  if (typeof output === 'string') return { output: { type: 'text', value: output }, ...own }
  if (Array.isArray(output) && output.length > 0 && output.every(isPart)) {
    return { output: { type: 'content', value: output.map(contentOf) }, ...own }
  }
  const kept = raw === undefined ? {} : { providerOptions: { palimpsest: { raw } } }
  return { output: { type: 'json', value: (output ?? null) as JsonValue, ...kept }, ...own }
}

// --- internal ---

const HOSTED = new Set(['mcp_list_tools', 'mcp_approval_request', 'compaction'])

function itemId({ id }: Json): { itemId?: string } {
  return typeof id === 'string' && id !== '' ? { itemId: id } : {}
}

function ownState(state: JsonObject): { providerOptions?: ProviderOptions } {
  return Object.keys(state).length === 0 ? {} : { providerOptions: { openai: state } }
}

function textParts(item: Json): PartBelow<TextPart>[] {
  const { content } = item
  const id = itemId(item)
  if (typeof content === 'string') {
    return [{ part: { type: 'text', text: content, ...ownState(id) }, below: '.content' }]
  }
  return objectsOf(content).map(([i, part], n) => {
    const { type, text, providerOptions } = textPart(part)
    // An id is the item's: one part has it.
    const state = { ...providerOptions?.openai, ...(n === 0 ? id : { continues: true }) }
    return { part: { type, text, ...ownState(state) }, below: `.content[${i}]` }
  })
}

function textPart(part: Json): TextPart {
  if (part.type === 'refusal') return refusalPart(stringOf(part.refusal) ?? '')
  return { type: 'text', text: stringOf(part.text) ?? '' }
}

/** Its text is what it shows: the summary, or the readable content where there is no summary. */
function reasoningPart(item: Json): ReasoningPart {
  const { summary, content, encrypted_content: encrypted } = item
  const texts = (parts: unknown) => objectsOf(parts).flatMap(([, { text }]) => (typeof text === 'string' ? [text] : []))
  const shown = texts(summary).length > 0 ? texts(summary) : texts(content)
  const state = {
    ...itemId(item),
    ...(typeof encrypted === 'string' && { reasoningEncryptedContent: encrypted }),
    summary: listOf(summary) as JsonValue,
    ...(Array.isArray(content) && content.length > 0 && { content: content as JsonValue }),
  }
  return { type: 'reasoning', text: shown.join('\n\n'), ...ownState(state) }
}

function callPart(item: Json): ToolCallPart {
  const kind = String(item.type)
  const toolCallId = stringOf(item.call_id) ?? stringOf(item.id) ?? ''
  const toolName = stringOf(item.name) ?? kind.replace(/_call$/, '')
  const call = { type: 'tool-call' as const, toolCallId, toolName }
  const asked = item[OWN_CALLS[kind]!]
  if (kind === 'function_call') {
    const text = typeof asked === 'string' ? asked : JSON.stringify(asked ?? {})
    return { ...call, ...inputOfText(text), ...ownState(itemId(item)) }
  }
  if (kind === 'custom_tool_call') {
    const input = isObject(asked) || Array.isArray(asked) ? JSON.stringify(asked) : String(asked ?? '')
    return { ...call, input: { input }, ...ownState({ type: 'custom', ...itemId(item) }) }
  }
  const input = (isObject(asked) ? asked : {}) as JsonObject
  return { ...call, input, ...ownState({ ...itemId(item), item: item as JsonObject }) }
}

function userPart(part: Json): UserPart {
  // Some clients write the address as the chat protocol does.
  const address = isObject(part.image_url) ? part.image_url.url : part.image_url
  if (part.type === 'input_image' && typeof address === 'string') {
    const detail = stringOf(part.detail)
    return imagePart(address, detail === undefined ? undefined : { openai: { imageDetail: detail } })
  }
  if (part.type === 'refusal') return refusalPart(stringOf(part.refusal) ?? '')
  if (typeof part.text === 'string') return { type: 'text', text: part.text }
  const isImageKept = part.type !== 'input_image' || typeof part.file_id === 'string'
  if (OWN.has(String(part.type)) && isImageKept) return filePart(part)
  return { type: 'text', text: '', providerOptions: { unknown: { part: part as JsonObject } } }
}

/** Parts that only the provider can read: it keeps what they name. */
const OWN = new Set(['input_file', 'input_image', 'input_audio'])

function filePart(part: Json): FilePart {
  const { file_data, file_url, input_audio: audio } = part
  const filename = typeof part.filename === 'string' ? { filename: part.filename } : {}
  const bytes = typeof file_data === 'string' ? bytesOf(file_data) : undefined
  if (bytes !== undefined) {
    return { type: 'file', data: bytes.data, mediaType: bytes.mediaType ?? UNKNOWN, ...filename }
  }
  if (typeof file_url === 'string') return { type: 'file', data: file_url, mediaType: UNKNOWN, ...filename }
  const data = isObject(audio) ? (stringOf(audio.data) ?? '') : ''
  const mediaType = isObject(audio) ? (audio.format === 'mp3' ? 'audio/mpeg' : 'audio/wav') : UNKNOWN
  return { type: 'file', data, mediaType, ...filename, ...ownState({ part: part as JsonObject }) }
}

const UNKNOWN = 'application/octet-stream'

function isPart(part: unknown): part is Json {
  return isObject(part) && typeof part.type === 'string'
}

function contentOf(part: Json): ToolContent {
  const own = userPart(part)
  const state = own.providerOptions ? { providerOptions: own.providerOptions } : {}
  if (own.type === 'text') return { type: 'text', text: own.text }
  if (own.type === 'file') return { ...own, type: 'file-data' }
  return /^https?:/.test(own.image)
    ? { type: 'image-url', url: own.image, ...state }
    : { type: 'image-data', data: own.image, mediaType: own.mediaType ?? 'image/png', ...state }
}

function isTextOutput({ type }: Json): boolean {
  return type === 'function_call_output' || type === 'custom_tool_call_output'
}
