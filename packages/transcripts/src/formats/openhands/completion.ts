import type { AssistantPart, Usage } from '@palimpsest/session'
import { isObject, type Json, listOf, numberOf, objectsOf, stringOf } from '../../json/shapes.js'
import { inputOfText, inputOfValue } from '../../tool-input.js'
import { assistantPart } from '../anthropic-blocks.js'
import { textOf } from '../chat-content.js'

/** The raw completion that an action was taken from, in the Chat Completions form. */
export interface Completion {
  readonly id: string | undefined
  readonly model: string | undefined
  readonly usage: Usage | undefined
  /** What was said and thought, without the calls. */
  readonly said: AssistantPart[]
  readonly calls: AssistantPart[]
}

export function completionOf(response: unknown): Completion | undefined {
  if (!isObject(response)) return undefined
  const [choice] = listOf(response.choices)
  const message = isObject(choice) && isObject(choice.message) ? choice.message : undefined
  if (message === undefined) return undefined
  return {
    id: stringOf(response.id),
    model: stringOf(response.model),
    usage: usageOf(response.usage),
    said: [...thoughts(message), ...textParts(message.content)],
    calls: objectsOf(message.tool_calls).map(([, call]) => callOf(call)),
  }
}

export function textParts(content: unknown): AssistantPart[] {
  const text = textOf(content)
  return text === '' ? [] : [{ type: 'text', text }]
}

export function thoughts({ thinking_blocks: blocks, reasoning_content: reasoning }: Json): AssistantPart[] {
  const signed = objectsOf(blocks).map(([, block]) => assistantPart(block, inputOfValue(undefined)))
  if (signed.length > 0) return signed
  return typeof reasoning === 'string' && reasoning !== '' ? [{ type: 'reasoning', text: reasoning }] : []
}

// --- internal ---

function callOf(call: Json): AssistantPart {
  const named = isObject(call.function) ? call.function : call
  const { arguments: args } = named
  return {
    type: 'tool-call',
    toolCallId: stringOf(call.id) ?? '',
    toolName: stringOf(named.name) ?? '',
    ...inputOfText(typeof args === 'string' ? args : JSON.stringify(args ?? {})),
  }
}

function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const [input, output, total] = [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens].map(numberOf)
  return {
    ...(input !== undefined && { inputTokens: input }),
    ...(output !== undefined && { outputTokens: output }),
    ...(total !== undefined && { totalTokens: total }),
  }
}
