import type { AssistantPart, Usage } from '@palimpsest/session'
import { type Json, numberOf } from '../../json/shapes.js'
import type { Place } from '../../place.js'

/** Items of one answer: what the model gave before the first output, message or end of its usage report. */
export interface Answer {
  readonly parts: AssistantPart[]
  readonly wheres: string[]
  readonly place: Place
  readonly by: { model?: string | undefined; vendor?: string | undefined }
  usage?: Usage
  /** Its request is over: a further item is of the next one. */
  isOver: boolean
}

/** A call that lies before a compaction. */
export interface CutCall {
  readonly item: Json
  readonly place: Place
}

/** What follows an answer's own message, and is no call, is of another answer. */
export function isNextAnswer({ parts }: Answer, { type }: Json): boolean {
  const isCall = type !== 'message' && type !== 'reasoning'
  return parts.length > PARTS_LIMIT || (!isCall && parts.at(-1)?.type === 'text')
}

/** What one request cost, as its report has it. */
export function usageOf(last: Json): Usage {
  const usage = {
    inputTokens: numberOf(last.input_tokens),
    outputTokens: numberOf(last.output_tokens),
    totalTokens: numberOf(last.total_tokens),
    cachedInputTokens: numberOf(last.cached_input_tokens),
    reasoningTokens: numberOf(last.reasoning_output_tokens),
  }
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined)) as Usage
}

// --- internal ---

const PARTS_LIMIT = 500
