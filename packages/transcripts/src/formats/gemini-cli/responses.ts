import type { JsonValue, ProviderOptions, ToolContent, ToolOutput } from '@palimpsest/session'
import { isObject, type Json, objectsOf, stringOf } from '../../json/shapes.js'

export interface Response {
  output: ToolOutput
  toolName?: string
  providerOptions?: ProviderOptions
}

/** What a `functionResponse` says: its one text where it holds one, else the object as it is. */
export function responseOf({ name, response, parts }: Json, beside: readonly Json[] = [], isFailed = false): Response {
  const media = [...objectsOf(parts).map(([, part]) => part), ...beside].flatMap(contentOf)
  const named = typeof name === 'string' && { toolName: name }
  const { text, isError } = textOf(response)
  const failed = isError || isFailed
  if (media.length > 0) {
    const lead: ToolContent[] = [{ type: 'text', text: text ?? JSON.stringify(response ?? null) }]
    return {
      ...named,
      output: { type: 'content', value: [...lead, ...media] },
      ...(failed && { providerOptions: { palimpsest: { isError: true } } }),
    }
  }
  if (text !== undefined) return { ...named, output: { type: failed ? 'error-text' : 'text', value: text } }
  return { ...named, output: { type: failed ? 'error-json' : 'json', value: (response ?? null) as JsonValue } }
}

/** The result that stands beside a call: a list of parts, or a plain text in early versions. */
export function recordedResult(result: unknown, isFailed: boolean): Response | undefined {
  if (typeof result === 'string') return { output: { type: isFailed ? 'error-text' : 'text', value: result } }
  const parts = objectsOf(isObject(result) ? [result] : result).map(([, part]) => part)
  const response = parts.find(part => isObject(part.functionResponse))
  if (response !== undefined) {
    const beside = parts.filter(part => part !== response)
    return responseOf(response.functionResponse as Json, beside, isFailed)
  }
  const content = parts.flatMap(contentOf)
  return content.length === 0 ? undefined : { output: { type: 'content', value: content } }
}

// --- internal ---

function textOf(response: unknown): { text?: string; isError: boolean } {
  if (typeof response === 'string') return { text: response, isError: false }
  if (!isObject(response)) return { isError: false }
  const keys = Object.keys(response)
  const isError = keys.length === 1 && keys[0] === 'error'
  const text = keys.length === 1 ? stringOf(response.output ?? response.error) : undefined
  return { isError, ...(text !== undefined && { text }) }
}

function contentOf(part: Json): ToolContent[] {
  if (typeof part.text === 'string') return [{ type: 'text', text: part.text }]
  if (isObject(part.inlineData) && typeof part.inlineData.data === 'string') {
    const mediaType = stringOf(part.inlineData.mimeType) ?? 'application/octet-stream'
    const type = mediaType.startsWith('image/') ? 'image-data' : 'file-data'
    return [{ type, data: part.inlineData.data, mediaType }]
  }
  if (isObject(part.fileData) && typeof part.fileData.fileUri === 'string') {
    return [{ type: 'file-url', url: part.fileData.fileUri }]
  }
  return []
}
