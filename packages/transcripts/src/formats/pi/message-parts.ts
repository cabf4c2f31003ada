import type {
  AssistantPart,
  FinishReason,
  JsonObject,
  ProviderOptions,
  ToolContent,
  ToolOutput,
  Usage,
  UserPart,
} from '@palimpsest/session'
import { rawTextAt } from '../../json/raw-text.js'
import { parseJson } from '../../json/scan-json.js'
import { isObject, type Json, listOf, numberOf, objectsOf, stringOf } from '../../json/shapes.js'
import { inputOfValue } from '../../tool-input.js'

/** Text and images of a user, a tool, an extension. */
export function shownParts(content: unknown): UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return objectsOf(content).flatMap(([, block]): UserPart[] => {
    if (typeof block.text === 'string') return [{ type: 'text', text: block.text }]
    if (block.type !== 'image' || typeof block.data !== 'string') return []
    return [
      { type: 'image', image: block.data, ...(typeof block.mimeType === 'string' && { mediaType: block.mimeType }) },
    ]
  })
}

/** `text` is the record's own, for arguments that a double or a parser would change. */
export function answerParts(message: Json, text: string): AssistantPart[] {
  if (typeof message.content === 'string') return [{ type: 'text', text: message.content }]
  const api = stringOf(message.api) ?? ''
  return objectsOf(message.content).flatMap(([i, block]): AssistantPart[] => {
    if (block.type === 'thinking') return [thinkingPart(block, api)]
    if (block.type === 'toolCall') return [callPart(block, api, rawArguments(block.arguments, text, i))]
    if (typeof block.text !== 'string') return []
    return [{ type: 'text', text: block.text, ...textOptions(block.textSignature, api) }]
  })
}

export function resultOutput({ content, isError }: Json): { output: ToolOutput; providerOptions?: ProviderOptions } {
  const parts = shownParts(content)
  const [first] = parts
  if (parts.length === 0 || (parts.length === 1 && first?.type === 'text')) {
    const value = first?.type === 'text' ? first.text : ''
    return { output: { type: isError === true ? 'error-text' : 'text', value } }
  }
  return {
    output: { type: 'content', value: parts.map(contentOf) },
    ...(isError === true && { providerOptions: { palimpsest: { isError: true } } }),
  }
}

export function finishOf(stopReason: unknown): { finishReason: FinishReason; interrupted?: boolean } {
  switch (stopReason) {
    case 'length':
      return { finishReason: 'length' }
    case 'toolUse':
      return { finishReason: 'tool-calls' }
    case 'error':
    case 'aborted':
      return { finishReason: 'other', interrupted: true }
    default:
      return { finishReason: 'stop' }
  }
}

export function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const [input, output] = [numberOf(usage.input), numberOf(usage.output)]
  const [read, written, total] = [numberOf(usage.cacheRead), numberOf(usage.cacheWrite), numberOf(usage.totalTokens)]
  return {
    ...(input !== undefined && { inputTokens: input + (read ?? 0) + (written ?? 0) }),
    ...(output !== undefined && { outputTokens: output }),
    ...(total !== undefined && { totalTokens: total }),
    ...(read !== undefined && { cachedInputTokens: read }),
  }
}

// --- internal ---

/** A signature is what the API gave: a text that only it reads, a whole item, or the name of the field it came in. */
function thinkingPart({ thinking, thinkingSignature, redacted }: Json, api: string): AssistantPart {
  const text = stringOf(thinking) ?? ''
  const signature = stringOf(thinkingSignature)
  if (signature === undefined || signature === '') return { type: 'reasoning', text }
  const item = api.includes('responses') ? parseJson(signature)?.value : undefined
  if (isObject(item)) return { type: 'reasoning', text, providerOptions: { openai: itemOptions(item) } }
  if (api.startsWith('google')) return { type: 'reasoning', text, ...thought(signature) }
  if (!/^(anthropic|bedrock)/.test(api)) return { type: 'reasoning', text }
  if (redacted === true)
    return { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: signature } } }
  return { type: 'reasoning', text, providerOptions: { anthropic: { signature } } }
}

/** Looked for in the text only where writing them again does not give what stands there. */
function rawArguments(value: unknown, text: string, block: number): string | undefined {
  if (value === undefined || text.includes(JSON.stringify(value))) return undefined
  return rawTextAt(text, ['message', 'content', block, 'arguments'])
}

function itemOptions({ id, encrypted_content, summary, content }: Json): JsonObject {
  return {
    ...(typeof id === 'string' && { itemId: id }),
    ...(typeof encrypted_content === 'string' && { reasoningEncryptedContent: encrypted_content }),
    summary: listOf(summary) as JsonObject[],
    ...(listOf(content).length > 0 && { content: listOf(content) as JsonObject[] }),
  }
}

function callPart(
  { id, name, arguments: args, thoughtSignature, intent }: Json,
  api: string,
  raw?: string,
): AssistantPart {
  const signature = stringOf(thoughtSignature)
  const options: ProviderOptions = {
    ...(signature !== undefined && { [api.startsWith('google') ? 'google' : 'pi']: { thoughtSignature: signature } }),
    ...(typeof intent === 'string' && { palimpsest: { intent } }),
  }
  return {
    type: 'tool-call',
    toolCallId: stringOf(id) ?? '',
    toolName: stringOf(name) ?? '',
    ...inputOfValue(args, raw),
    ...(Object.keys(options).length > 0 && { providerOptions: options }),
  }
}

/** The id of the message's item, or a thought's signature. */
function textOptions(textSignature: unknown, api: string): { providerOptions?: ProviderOptions } {
  const signature = stringOf(textSignature)
  if (signature === undefined) return {}
  if (api.startsWith('google')) return thought(signature)
  if (!api.includes('responses')) return {}
  const told = parseJson(signature)?.value
  if (!isObject(told)) return { providerOptions: { openai: { itemId: signature } } }
  const { id, phase } = told
  return {
    providerOptions: {
      openai: { ...(typeof id === 'string' && { itemId: id }), ...(typeof phase === 'string' && { phase }) },
    },
  }
}

function thought(thoughtSignature: string): { providerOptions: ProviderOptions } {
  return { providerOptions: { google: { thoughtSignature } } }
}

function contentOf(part: UserPart): ToolContent {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const [data, mediaType] = part.type === 'image' ? [part.image, part.mediaType] : [part.data, part.mediaType]
  return { type: 'image-data', data, mediaType: mediaType ?? 'image/png' }
}
