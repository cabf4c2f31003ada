import type {
  AssistantMessage,
  AssistantPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolContent,
  ToolResultPart,
  UserPart,
} from '@palimpsest/session'
import type { ExportEntry } from '../../export.js'
import { type Json, stringOf } from '../../json/shapes.js'
import { argumentsObject } from '../../requests/arguments.js'
import { mediaOf } from '../../requests/media.js'
import { isFailure, resultText } from '../../requests/result-text.js'
import type { LossCount } from '../loss-count.js'

/** Texts and images; what pi has no block for is counted. */
export function saidBlocks(content: readonly (UserPart | ToolContent)[], loss: LossCount): Json[] {
  return content.flatMap((part): Json[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }]
    const media = mediaOf(part)
    if (media?.isImage && 'data' in media) return [{ type: 'image', data: media.data, mimeType: media.mediaType }]
    loss.add('media', 1, 'neither text nor the bytes of an image')
    return [{ type: 'text', text: '[file left out]' }]
  })
}

/** The blocks of an answer, each with the state that `api` gave it. */
export function answerBlocks(content: readonly AssistantPart[], api: string, loss: LossCount): Json[] {
  return content.flatMap(part => {
    switch (part.type) {
      case 'text':
        return [textBlock(part, api)]
      case 'reasoning':
        return [thinkingBlock(part, api)]
      case 'tool-call':
        if (!part.providerExecuted) return [callBlock(part, api)]
        loss.add('call', 1, 'the provider ran the tool itself')
        return []
      case 'tool-result':
        loss.add('result', 1, 'the provider ran the tool itself')
        return []
      default:
        loss.add('media', 1, 'a file that the model made')
        return []
    }
  })
}

export function resultMessage(part: ToolResultPart, loss: LossCount): Json {
  const { toolCallId, toolName, output } = part
  const content = output.type === 'content' ? saidBlocks(output.value, loss) : textBlocks(resultText(output))
  return { role: 'toolResult', toolCallId, toolName, content, isError: isFailure(part) }
}

export function usageOf(event: ExportEntry['event']): Json {
  const usage = (event?.type === 'assistant/message' ? event.data.usage : undefined) ?? {}
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0 } = usage
  return {
    input: Math.max(0, inputTokens - cachedInputTokens),
    output: outputTokens,
    cacheRead: cachedInputTokens,
    cacheWrite: 0,
    totalTokens: usage.totalTokens ?? inputTokens + outputTokens,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  }
}

export function stopReasonOf({ content }: AssistantMessage, event: ExportEntry['event']): string {
  if (event?.type === 'assistant/message') {
    if (event.data.interrupted) return 'aborted'
    if (event.data.finishReason === 'length') return 'length'
  }
  return content.some(part => part.type === 'tool-call' && !part.providerExecuted) ? 'toolUse' : 'stop'
}

// --- internal ---

function textBlocks(text: string): Json[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function textBlock({ text, providerOptions }: TextPart, api: string): Json {
  const { itemId, phase } = providerOptions?.openai ?? {}
  const thought = stringOf(providerOptions?.google?.thoughtSignature)
  if (api.startsWith('google') && thought !== undefined) return { type: 'text', text, textSignature: thought }
  if (!api.includes('responses') || typeof itemId !== 'string') return { type: 'text', text }
  const told = typeof phase === 'string' ? JSON.stringify({ v: 1, id: itemId, phase }) : itemId
  return { type: 'text', text, textSignature: told }
}

/** A signature goes only to the API that gave it: another vendor's thought is a thought without one. */
function thinkingBlock(part: ReasoningPart, api: string): Json {
  const { text: thinking, providerOptions = {} } = part
  const { anthropic, openai, google } = providerOptions
  const signed = (thinkingSignature: unknown) => ({ type: 'thinking', thinking, thinkingSignature })
  if (/^(anthropic|bedrock)/.test(api) && anthropic !== undefined) {
    if (anthropic.redactedData === undefined) return signed(anthropic.signature)
    return { ...signed(anthropic.redactedData), redacted: true }
  }
  if (api.includes('responses') && openai !== undefined) return signed(JSON.stringify(reasoningItem(openai)))
  if (api.startsWith('google') && google !== undefined) return signed(google.thoughtSignature)
  return api === 'openai-completions' ? signed('reasoning_content') : { type: 'thinking', thinking }
}

function reasoningItem({ itemId, summary = [], content, reasoningEncryptedContent }: Json): Json {
  return {
    ...(itemId !== undefined && { id: itemId }),
    type: 'reasoning',
    summary,
    ...(content !== undefined && { content }),
    ...(reasoningEncryptedContent !== undefined && { encrypted_content: reasoningEncryptedContent }),
  }
}

function callBlock(part: ToolCallPart, api: string): Json {
  const { toolCallId: id, toolName: name, providerOptions = {} } = part
  const { google, pi, palimpsest } = providerOptions
  const thought = (api.startsWith('google') ? google : pi)?.thoughtSignature
  return {
    type: 'toolCall',
    id,
    name,
    arguments: argumentsObject(part),
    ...(thought !== undefined && { thoughtSignature: thought }),
    ...(palimpsest?.intent !== undefined && { intent: palimpsest.intent }),
  }
}
