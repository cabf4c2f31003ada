import type {
  AssistantPart,
  FilePart,
  ImagePart,
  JsonObject,
  JsonValue,
  ProviderOptions,
  ToolContent,
  ToolOutput,
  UserPart,
} from '@palimpsest/session'
import { isObject, type Json, objectsOf, stringOf } from '../json/shapes.js'
import { inputOfValue } from '../tool-input.js'

/** The members of a part or a tool under the names of the JSON API; `function_call` is `functionCall`. Values stay. */
export function camelCase(part: Json): Json {
  if (!Object.keys(part).some(key => key.includes('_'))) return part
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key.replace(/_(\w)/g, (_, letter) => letter.toUpperCase()), value]),
  )
}

export function isGeminiPart(part: Json): boolean {
  return !('type' in part) && Object.keys(camelCase(part)).some(key => DATA.has(key))
}

/** A part of the model's turn. `id`: of a call, or of what only the provider reads. */
export function modelPart(part: Json, { id, raw }: { id: string; raw?: string | undefined }): AssistantPart {
  const signature = stringOf(part.thoughtSignature)
  const signed = signature ? { thoughtSignature: signature } : {}
  const { functionCall: call, text } = part
  if (isObject(call)) {
    const named = { toolCallId: id, toolName: stringOf(call.name) ?? '', ...inputOfValue(call.args, raw) }
    return { type: 'tool-call', ...named, ...state({ ...signed, ...(!stringOf(call.id) && { withoutId: true }) }) }
  }
  if (part.thought === true) return { type: 'reasoning', text: stringOf(text) ?? '', ...state(signed) }
  if (typeof text === 'string') return { type: 'text', text, ...state(signed) }
  const media = mediaPart(part)
  if (media !== undefined) return { ...fileOf(media), ...state(signed) }
  const toolName = Object.keys(part).find(key => HOSTED.has(key) && isObject(part[key]))
  if (toolName === undefined) return { type: 'text', text: '' }
  const own = state({ part: part as JsonObject })
  return { type: 'tool-call', toolCallId: id, toolName, input: {}, providerExecuted: true, ...own }
}

export function userPart(part: Json): UserPart {
  if (typeof part.text === 'string') return { type: 'text', text: part.text }
  const isHosted = Object.keys(part).some(key => HOSTED.has(key) && isObject(part[key]))
  const own = isHosted ? state({ part: part as JsonObject }) : {}
  return mediaPart(part) ?? { type: 'text', text: '', ...own }
}

/** The members of a result part for a `functionResponse`. `raw`: the text of a response that a double would change. */
export function responseOf(
  { response, parts }: Json,
  raw: string | undefined,
): { output: ToolOutput; providerOptions?: ProviderOptions } {
  const output = outputOf(response, raw)
  const media = objectsOf(parts).flatMap(([, part]) => mediaPart(camelCase(part)) ?? [])
  if (media.length === 0) return { output }
  const isError = output.type.startsWith('error-')
  const text = 'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(response ?? {})
  return {
    output: { type: 'content', value: [{ type: 'text', text }, ...media.map(contentOf)] },
    ...(isError && { providerOptions: { palimpsest: { isError } } }),
  }
}

/** A schema in JSON's own words: Gemini's `OBJECT` is `object`. */
export function jsonSchema(schema: unknown, depth = 0): unknown {
  if (depth > 100) return {}
  if (Array.isArray(schema)) return schema.map(each => jsonSchema(each, depth + 1))
  if (!isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === 'type' && typeof value === 'string' ? value.toLowerCase() : jsonSchema(value, depth + 1),
    ]),
  )
}

// --- internal ---

const DATA = new Set([
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
])

/** What the provider ran itself: only it can read that again. */
const HOSTED = new Set(['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'])

function state(google: JsonObject): { providerOptions?: ProviderOptions } {
  return Object.keys(google).length === 0 ? {} : { providerOptions: { google } }
}

function mediaPart({ inlineData, fileData }: Json): ImagePart | FilePart | undefined {
  const source = isObject(inlineData) ? inlineData : isObject(fileData) ? fileData : undefined
  if (source === undefined) return undefined
  const { data, fileUri, mimeType } = camelCase(source)
  const bytes = stringOf(data) ?? stringOf(fileUri) ?? ''
  const mediaType = stringOf(mimeType)
  if (mediaType?.startsWith('image/')) return { type: 'image', image: bytes, mediaType }
  return { type: 'file', data: bytes, mediaType: mediaType ?? 'application/octet-stream' }
}

function fileOf(media: ImagePart | FilePart): FilePart {
  if (media.type === 'file') return media
  return { type: 'file', data: media.image, mediaType: media.mediaType ?? 'image/png' }
}

function contentOf(media: ImagePart | FilePart): ToolContent {
  if (media.type === 'file') return { ...media, type: 'file-data' }
  return { type: 'image-data', data: media.image, mediaType: media.mediaType ?? 'image/png' }
}

/** What the writer puts under `output` or `error` is the result; any other object is the result itself. */
function outputOf(response: unknown, raw: string | undefined): ToolOutput {
  const kept = raw === undefined ? {} : { providerOptions: { palimpsest: { raw } } }
  if (!isObject(response)) return { type: 'json', value: (response ?? null) as JsonValue, ...kept }
  const [only, ...more] = Object.keys(response)
  if (more.length === 0 && only === 'output' && typeof response.output === 'string') {
    return { type: 'text', value: response.output }
  }
  if (more.length === 0 && only === 'error') {
    return typeof response.error === 'string'
      ? { type: 'error-text', value: response.error }
      : { type: 'error-json', value: response as JsonObject, ...kept }
  }
  return { type: 'json', value: response as JsonObject, ...kept }
}
