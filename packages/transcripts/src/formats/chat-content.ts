import type {
  FilePart,
  ImagePart,
  JsonObject,
  JsonValue,
  ModelRequest,
  TextPart,
  ToolContent,
  ToolOutput,
  UserPart,
} from '@palimpsest/session'
import { isObject, type Json, listOf, stringOf } from '../json/shapes.js'
import { bytesOf, imagePart } from './image-part.js'
import type { MessageList } from './message-list.js'

/** A part and where it stands. */
export interface Placed<Part> {
  part: Part
  where: string
}

export function isChatPart(part: unknown): boolean {
  return typeof part === 'string' || (isObject(part) && PARTS.has(String(part.type)))
}

/** What a user's message holds. */
export function contentParts(content: unknown, index: number, list: MessageList): Placed<UserPart>[] {
  if (typeof content === 'string') {
    return [{ part: { type: 'text', text: content }, where: list.where(index, '.content') }]
  }
  return listOf(content).map((part, i) => ({ part: userPart(part), where: list.where(index, `.content[${i}]`) }))
}

/** What an assistant said: its texts, a refusal, the words of an answer in sound; and what else it showed. */
export function answerParts(message: Json, index: number, list: MessageList): Placed<TextPart | FilePart>[] {
  const { content, refusal, audio } = message
  const said = contentParts(content, index, list).map(({ part, where }) => ({ part: answerPart(part), where }))
  const where = list.where(index)
  const heard = isObject(audio) ? stringOf(audio.transcript) : undefined
  if (heard !== undefined && said.every(({ part }) => part.type === 'text' && part.text === '')) {
    said.push({ part: { type: 'text', text: heard }, where })
  }
  if (typeof refusal === 'string' && refusal !== '') said.push({ part: refusalPart(refusal), where })
  return said
}

export function refusalPart(text: string): TextPart {
  return { type: 'text', text, providerOptions: { openai: { refusal: true } } }
}

/** The texts of a message, a line each. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map(part => (typeof part === 'string' ? part : (stringOf(isObject(part) ? part.text : undefined) ?? '')))
    .join('\n')
}

/** A result. `raw`: the text of a value that a double would change. */
export function outputOf(content: unknown, raw?: string): ToolOutput {
  if (typeof content === 'string') return { type: 'text', value: content }
  if (Array.isArray(content) && content.length > 0 && content.every(isChatPart)) {
    return { type: 'content', value: content.map(contentOf) }
  }
  const kept = raw === undefined ? {} : { providerOptions: { palimpsest: { raw } } }
  return { type: 'json', value: (content ?? null) as JsonValue, ...kept }
}

/** A tool as the log declares it. One that takes free text says so by a keyword of ours. */
export function chatTool(tool: Json): NonNullable<ModelRequest['tools']> {
  if (isObject(tool.custom)) return freeTextTool(tool.custom)
  const { name, description, parameters } = isObject(tool.function) ? tool.function : tool
  if (typeof name !== 'string') return []
  const inputSchema = (isObject(parameters) ? parameters : { type: 'object' }) as JsonObject
  return [{ name, ...(typeof description === 'string' && { description }), inputSchema }]
}

export function freeTextTool({ name, description, format }: Json): NonNullable<ModelRequest['tools']> {
  if (typeof name !== 'string') return []
  const inputSchema: JsonObject = {
    type: 'object',
    properties: { input: { type: 'string' } },
    required: ['input'],
    'x-free-text': isObject(format) ? (format as JsonObject) : true,
  }
  return [{ name, ...(typeof description === 'string' && { description }), inputSchema }]
}

// --- internal ---

const PARTS = new Set(['text', 'image_url', 'input_audio', 'file', 'refusal'])

/** Parts that only the provider can read: it keeps what they name. */
const OWN = new Set(['file', 'input_audio'])

function userPart(part: unknown): UserPart {
  if (typeof part === 'string') return { type: 'text', text: part }
  if (!isObject(part)) return { type: 'text', text: '' }
  if (part.type === 'image_url') return imageOf(part)
  if (part.type === 'refusal') return refusalPart(stringOf(part.refusal) ?? '')
  if (typeof part.text === 'string') return { type: 'text', text: part.text }
  if (OWN.has(String(part.type))) return fileOf(part)
  return { type: 'text', text: '', providerOptions: { unknown: { part: part as JsonObject } } }
}

/** An answer shows images as files. The API takes none of them back, so nothing is kept in its words. */
function answerPart(part: UserPart): TextPart | FilePart {
  if (part.type === 'text') return part
  if (part.type === 'image') return { type: 'file', data: part.image, mediaType: part.mediaType ?? 'image/png' }
  const { providerOptions: _, ...file } = part
  return file
}

function imageOf({ image_url }: Json): ImagePart {
  const url = stringOf(isObject(image_url) ? image_url.url : image_url) ?? ''
  const detail = isObject(image_url) ? stringOf(image_url.detail) : undefined
  return imagePart(url, detail === undefined ? undefined : { openai: { imageDetail: detail } })
}

function fileOf(part: Json): FilePart {
  const { input_audio: audio, file } = part
  if (isObject(audio) && typeof audio.data === 'string') {
    return { type: 'file', data: audio.data, mediaType: audio.format === 'mp3' ? 'audio/mpeg' : 'audio/wav' }
  }
  const named = isObject(file) && typeof file.filename === 'string' ? { filename: file.filename } : {}
  const bytes = isObject(file) && typeof file.file_data === 'string' ? bytesOf(file.file_data) : undefined
  if (bytes !== undefined) return { type: 'file', data: bytes.data, mediaType: bytes.mediaType ?? UNKNOWN, ...named }
  return {
    type: 'file',
    data: '',
    mediaType: UNKNOWN,
    ...named,
    providerOptions: { openai: { part: part as JsonObject } },
  }
}

const UNKNOWN = 'application/octet-stream'

function contentOf(part: unknown): ToolContent {
  const own = userPart(part)
  if (own.type === 'text') return { type: 'text', text: own.text }
  if (own.type === 'file') return { ...own, type: 'file-data' }
  return /^https?:/.test(own.image)
    ? { type: 'image-url', url: own.image }
    : { type: 'image-data', data: own.image, mediaType: own.mediaType ?? 'image/png' }
}
