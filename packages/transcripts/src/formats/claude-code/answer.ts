import type { FinishReason, Usage } from '@palimpsest/session'
import { isObject, numberOf, stringOf } from '../../json/shapes.js'

/** The API says it on the last row of a message, older agents not at all. */
export function finishReasonOf(stopReasons: readonly unknown[]): FinishReason | undefined {
  const reason = stopReasons.findLast(each => typeof each === 'string')
  return reason === undefined ? undefined : (REASONS[stringOf(reason) ?? ''] ?? 'other')
}

/** Of the last row: early ones hold counts of a stream that still ran. Cached tokens are input, too. */
export function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const input = numberOf(usage.input_tokens) ?? 0
  const written = numberOf(usage.cache_creation_input_tokens) ?? 0
  const cached = numberOf(usage.cache_read_input_tokens) ?? 0
  const output = numberOf(usage.output_tokens) ?? 0
  const inputTokens = input + written + cached
  return { inputTokens, outputTokens: output, totalTokens: inputTokens + output, cachedInputTokens: cached }
}

// --- internal ---

const REASONS: Record<string, FinishReason> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content-filter',
}
