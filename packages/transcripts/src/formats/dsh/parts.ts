import type {
  AssistantPart,
  ProviderOptions,
  ToolContent,
  ToolOutput,
  ToolResultPart,
  UserPart,
} from '@palimpsest/session'
import { isObject, type Json, objectsOf, stringOf } from '../../json/shapes.js'
import { inputOfText } from '../../tool-input.js'

/** What a part holds whose bytes lie outside the log. */
export type Lost = (reason: string) => void

export function userParts(content: unknown, lost: Lost): UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return objectsOf(content).map(([, part]): UserPart => {
    if (typeof part.text === 'string') return { type: 'text', text: part.text }
    const image = imageOf(part)
    return image === undefined ? { type: 'text', text: outside(part, lost) } : { type: 'image', ...image }
  })
}

export function assistantParts(content: unknown, lost: Lost): AssistantPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return objectsOf(content).map(([, part]): AssistantPart => {
    if (part.type === 'tool-call') return callPart(part)
    if (part.type === 'reasoning') return { type: 'reasoning', text: stringOf(part.text) ?? '', ...signature(part) }
    return { type: 'text', text: stringOf(part.text) ?? outside(part, lost) }
  })
}

/** The result parts of a `tool/result`: of a message now, of the event itself in older logs. */
export function resultParts(data: Json, nameOf: (callId: string) => string, lost: Lost): ToolResultPart[] {
  const inMessage = isObject(data.message) ? objectsOf(data.message.content) : []
  const found = inMessage.flatMap(([, part]) => (part.type === 'tool-result' ? [part] : []))
  const given: Json[] = found.length > 0 ? found : [{ ...data, toolCallId: data.callId }]
  return given.map(part => {
    const toolCallId = stringOf(part.toolCallId) ?? stringOf(data.callId) ?? ''
    return { type: 'tool-result', toolCallId, toolName: nameOf(toolCallId), ...outputOf(part, lost) }
  })
}

// --- internal ---

function callPart(part: Json): AssistantPart {
  const { arguments: args } = part
  return {
    type: 'tool-call',
    toolCallId: stringOf(part.id) ?? '',
    toolName: stringOf(part.name) ?? '',
    ...inputOfText(typeof args === 'string' ? args : JSON.stringify(args ?? {})),
  }
}

function signature({ signature }: Json): { providerOptions?: ProviderOptions } {
  return typeof signature === 'string' ? { providerOptions: { anthropic: { signature } } } : {}
}

function outputOf({ content, isError }: Json, lost: Lost): { output: ToolOutput; providerOptions?: ProviderOptions } {
  if (typeof content === 'string') return { output: { type: isError === true ? 'error-text' : 'text', value: content } }
  if (content === null || content === undefined || !Array.isArray(content)) {
    return { output: { type: isError === true ? 'error-json' : 'json', value: (content ?? null) as never } }
  }
  const parts = objectsOf(content).map(([, part]): ToolContent => {
    if (typeof part.text === 'string') return { type: 'text', text: part.text }
    const image = imageOf(part)
    if (image === undefined) return { type: 'text', text: outside(part, lost) }
    return { type: 'image-data', data: image.image, mediaType: image.mediaType ?? 'image/png' }
  })
  const [only] = parts
  if (parts.length === 1 && only?.type === 'text') {
    return { output: { type: isError === true ? 'error-text' : 'text', value: only.text } }
  }
  return {
    output: { type: 'content', value: parts },
    ...(isError === true && { providerOptions: { palimpsest: { isError: true } } }),
  }
}

function imageOf({ type, data, mediaType }: Json): { image: string; mediaType?: string } | undefined {
  if (type !== 'image' || typeof data !== 'string') return undefined
  return { image: data, ...(typeof mediaType === 'string' && { mediaType }) }
}

/** The log names an attachment and keeps its bytes elsewhere. */
function outside({ type, attachment }: Json, lost: Lost): string {
  const { name, mediaType } = isObject(attachment) ? attachment : ({} as Json)
  lost('kept outside the log')
  return `[${[stringOf(type) ?? 'part', stringOf(name), stringOf(mediaType)].filter(Boolean).join(' ')}: not in this log]`
}
