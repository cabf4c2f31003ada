import type { AssistantPart, FilePart, ImagePart, ProviderOptions, ToolContent, ToolOutput } from '@palimpsest/session'
import { isObject, type Json, objectsOf, stringOf } from '../../json/shapes.js'
import { inputOfText, inputOfValue } from '../../tool-input.js'

/** What the model said or asked for, `undefined` for a part that it did not make. */
export function assistantPart(part: Json, rawInput: () => string | undefined): AssistantPart | undefined {
  if (part.type === 'text') return { type: 'text', text: stringOf(part.text) ?? '', ...optionsOf(part) }
  if (part.type === 'reasoning') return { type: 'reasoning', text: stringOf(part.text) ?? '', ...optionsOf(part) }
  if (part.type !== 'tool') return undefined
  const state = isObject(part.state) ? part.state : {}
  // While the call streams its arguments are text.
  const isStreaming = state.status === 'pending' && typeof state.raw === 'string' && state.raw !== ''
  return {
    type: 'tool-call',
    toolCallId: stringOf(part.callID) ?? '',
    toolName: stringOf(part.tool) ?? '',
    ...(isStreaming ? inputOfText(String(state.raw)) : inputOfValue(state.input, rawInput())),
    ...(part.providerExecuted === true && { providerExecuted: true }),
    ...optionsOf(part),
  }
}

/** The outcome of a tool part; `undefined` while it waits or runs, which it does for ever after a crash. */
export function toolOutput({ state }: Json): ToolOutput | undefined {
  if (!isObject(state)) return undefined
  if (state.status === 'error') return { type: 'error-text', value: stringOf(state.error) ?? 'The tool failed.' }
  if (state.status !== 'completed') return undefined
  if (isObject(state.time) && typeof state.time.compacted === 'number') return { type: 'text', value: CLEARED }
  const text = typeof state.output === 'string' ? state.output : JSON.stringify(state.output ?? '')
  const media = objectsOf(state.attachments).flatMap(([, file]) => attachment(file))
  return media.length === 0
    ? { type: 'text', value: text }
    : { type: 'content', value: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...media] }
}

/** Whether the call was asked for and never began: the program says so of one that runs. */
export function isWaiting({ type, state, providerExecuted }: Json): boolean {
  return type === 'tool' && providerExecuted !== true && isObject(state) && state.status === 'pending'
}

/** `undefined`: the bytes lie outside the export. */
export function filePart({ mime, url, filename }: Json): FilePart | ImagePart | undefined {
  const address = stringOf(url) ?? ''
  if (!/^(data|https?):/.test(address)) return undefined
  const mediaType = stringOf(mime) ?? 'application/octet-stream'
  const data = address.startsWith('data:') ? address.slice(address.indexOf(',') + 1) : address
  if (mediaType.startsWith('image/')) return { type: 'image', image: data, mediaType }
  return { type: 'file', data, mediaType, ...(typeof filename === 'string' && { filename }) }
}

/** Files whose content the program puts beside them as text. */
export function isInlined({ mime }: Json): boolean {
  return mime === 'text/plain' || mime === 'application/x-directory'
}

// --- internal ---

/** What the program itself shows the model in place of an output that it pruned. */
const CLEARED = '[Old tool result content cleared]'

/** Hosts of other makers' models, whose state those makers read too. */
const MAKERS: Readonly<Record<string, string>> = { vertex: 'google', bedrock: 'anthropic' }

/** The provider's state, in the AI SDK's form. */
function optionsOf({ metadata }: Json): { providerOptions?: ProviderOptions } {
  if (!isObject(metadata)) return {}
  const own = Object.entries(metadata).flatMap(([name, value]): [string, Json][] =>
    isObject(value) ? [[MAKERS[name] ?? name, value]] : [],
  )
  return own.length === 0 ? {} : { providerOptions: Object.fromEntries(own) as ProviderOptions }
}

function attachment(file: Json): ToolContent[] {
  const part = filePart(file)
  if (part === undefined) return [{ type: 'text', text: `[${stringOf(file.filename) ?? 'file'}: not in this export]` }]
  const [data, mediaType] = part.type === 'image' ? [part.image, part.mediaType ?? ''] : [part.data, part.mediaType]
  if (/^https?:/.test(data)) return [{ type: part.type === 'image' ? 'image-url' : 'file-url', url: data }]
  return [{ type: part.type === 'image' ? 'image-data' : 'file-data', data, mediaType }]
}
