import type { AssistantPart, JsonObject, ProviderOptions, ToolContent, ToolOutput, UserPart } from '@palimpsest/session'
import { isObject, type Json, listOf, objectsOf, stringOf } from '../../json/shapes.js'
import { inputOfText, inputOfValue } from '../../tool-input.js'

/** Whether the model made this item, so that it is part of an answer. */
export function isModelItem(item: Json): boolean {
  if (item.type === 'message') return item.role === 'assistant'
  return item.type === 'reasoning' || isCompaction(item) || /_call$/.test(stringOf(item.type) ?? '')
}

/** Whether it answers a call. */
export function isOutput(item: Json): boolean {
  return /_call_output$/.test(stringOf(item.type) ?? '')
}

/** The parts of an answer that a model's item stands for; empty for a message without text. */
export function assistantParts(item: Json): AssistantPart[] {
  switch (item.type) {
    case 'message':
      return messageParts(item)
    case 'reasoning':
      return [reasoningPart(item)]
    case 'function_call':
      return [callPart(item, argumentsOf(item.arguments), { namespace: item.namespace })]
    case 'custom_tool_call':
      return [callPart(item, { input: { input: stringOf(item.input) ?? '' } }, { type: 'custom' })]
    case 'local_shell_call':
      return [callPart(localShell(item), inputOfValue(item.action), { type: 'local_shell' })]
    default:
      return [isCompaction(item) ? compactionPart(item) : hostedPart(item)]
  }
}

/** What stands on the user's side of an item: texts, images, files. What cannot be shown is left out. */
export function userParts(content: unknown): UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return objectsOf(content).flatMap(([, part]): UserPart[] => {
    if (typeof part.text === 'string') return [{ type: 'text', text: part.text }]
    const image = stringOf(part.image_url)
    if (image !== undefined) return [{ type: 'image', ...imageOf(image), ...detailOf(part) }]
    const file = stringOf(part.file_data) ?? stringOf(part.file_url)
    if (file === undefined) return []
    const filename = stringOf(part.filename)
    return [{ type: 'file', ...fileOf(file), ...(filename !== undefined && { filename }) }]
  })
}

/** How many parts of a content `userParts` leaves out. */
export function unshownParts(content: unknown): number {
  return Array.isArray(content) ? content.length - userParts(content).length : 0
}

export function outputOf(item: Json): ToolOutput {
  const output = item.output ?? item.result
  if (typeof output === 'string') return { type: 'text', value: output }
  if (Array.isArray(output)) return { type: 'content', value: output.map(outputPart) }
  if (!isObject(output)) return { type: 'json', value: (output ?? null) as never }
  const { content, success } = output
  if (Array.isArray(content)) return { type: 'content', value: content.map(outputPart) }
  if (typeof content === 'string') return { type: success === false ? 'error-text' : 'text', value: content }
  return { type: 'json', value: output as JsonObject }
}

/** The members that are there, as options of its vendor. */
export function openaiOptions(members: Json): { providerOptions?: ProviderOptions } {
  const openai = Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null),
  )
  return Object.keys(openai).length > 0 ? { providerOptions: { openai: openai as JsonObject } } : {}
}

// --- internal ---

function isCompaction({ type }: Json): boolean {
  return type === 'compaction' || type === 'context_compaction' || type === 'compaction_summary'
}

/** A message of several texts stays one: each text but the first continues it. */
function messageParts({ content, id: itemId, phase }: Json): AssistantPart[] {
  const texts = typeof content === 'string' ? [{ text: content }] : objectsOf(content).map(([, part]) => part)
  return texts.flatMap((part, i): AssistantPart[] => {
    const text = stringOf(part.text) ?? stringOf(part.refusal)
    if (text === undefined) return []
    const refusal = part.type === 'refusal' ? true : undefined
    return [
      { type: 'text', text, ...openaiOptions(i === 0 ? { itemId, phase, refusal } : { continues: true, refusal }) },
    ]
  })
}

/** A compatible vendor keeps readable `content` in place of a summary. */
function reasoningPart({ id: itemId, encrypted_content, summary, content }: Json): AssistantPart {
  const texts = textsOf(summary)
  const told = texts.length > 0 ? texts : textsOf(content)
  const readable = listOf(content)
  return {
    type: 'reasoning',
    text: told.join('\n\n'),
    ...openaiOptions({
      itemId,
      reasoningEncryptedContent: encrypted_content,
      summary: listOf(summary),
      content: readable.length > 0 ? readable : undefined,
    }),
  }
}

function textsOf(list: unknown): string[] {
  return objectsOf(list).flatMap(([, { text }]) => (typeof text === 'string' ? [text] : []))
}

function callPart(item: Json, input: ReturnType<typeof inputOfText>, options: Json): AssistantPart {
  return {
    type: 'tool-call',
    toolCallId: stringOf(item.call_id) ?? '',
    toolName: stringOf(item.name) ?? '',
    ...input,
    ...openaiOptions({ itemId: item.id, ...options }),
  }
}

/** The shell that an API brought itself; its outputs name the item where it has no call id. */
function localShell(item: Json): Json {
  return { ...item, name: 'local_shell', call_id: item.call_id ?? item.id }
}

function argumentsOf(value: unknown) {
  return typeof value === 'string' ? inputOfText(value) : inputOfValue(value)
}

/** A compacted history that only its maker can read: hidden reasoning that goes back as the item that it is. */
function compactionPart(item: Json): AssistantPart {
  return {
    type: 'reasoning',
    text: '',
    ...openaiOptions({
      type: item.type,
      itemId: item.id,
      reasoningEncryptedContent: item.encrypted_content,
      item: ownMembers(item),
    }),
  }
}

/** A tool that the provider ran itself: its outcome, if any, is in the item. */
function hostedPart(item: Json): AssistantPart {
  const own = ownMembers(item)
  return {
    type: 'tool-call',
    toolCallId: stringOf(item.call_id) ?? stringOf(item.id) ?? `hosted_${digest(JSON.stringify(own))}`,
    toolName: String(item.type).replace(/_call$/, ''),
    ...inputOfValue(item.action ?? item.arguments),
    providerExecuted: true,
    ...openaiOptions({ item: own }),
  }
}

/** What the provider gave, without what the recorder hung on it. */
function ownMembers(item: Json): Json {
  const { internal_chat_message_metadata_passthrough: _, ...own } = item
  return own
}

function outputPart(part: unknown): ToolContent {
  if (typeof part === 'string') return { type: 'text', text: part }
  if (!isObject(part)) return { type: 'text', text: JSON.stringify(part ?? null) }
  const [shown] = userParts([part])
  if (shown?.type === 'text') return { type: 'text', text: shown.text }
  const options = shown?.providerOptions && { providerOptions: shown.providerOptions }
  if (shown?.type === 'image') {
    const { image, mediaType } = shown
    if (mediaType === undefined) return { type: 'image-url', url: image, ...options }
    return { type: 'image-data', data: image, mediaType, ...options }
  }
  if (shown?.type === 'file') return { type: 'file-data', data: shown.data, mediaType: shown.mediaType }
  return { type: 'custom', ...openaiOptions({ unknown: part }) }
}

function imageOf(url: string): { image: string; mediaType?: string } {
  const data = dataOf(url)
  return data === undefined ? { image: url } : { image: data.data, mediaType: data.mediaType }
}

function fileOf(url: string): { data: string; mediaType: string } {
  return dataOf(url) ?? { data: url, mediaType: 'application/octet-stream' }
}

function dataOf(url: string): { data: string; mediaType: string } | undefined {
  const comma = url.startsWith('data:') ? url.indexOf(';base64,') : -1
  return comma < 0 ? undefined : { mediaType: url.slice(5, comma), data: url.slice(comma + 8) }
}

function detailOf({ detail }: Json) {
  return openaiOptions({ imageDetail: stringOf(detail) })
}

/** Twelve hex digits of a text, the same on every machine. */
function digest(text: string): string {
  let low = 0
  let high = 5381
  for (let i = 0; i < text.length; i++) {
    low = (Math.imul(low, 31) + text.charCodeAt(i)) >>> 0
    high = (Math.imul(high, 33) ^ text.charCodeAt(i)) >>> 0
  }
  return low.toString(16).padStart(8, '0') + (high & 0xffff).toString(16).padStart(4, '0')
}
