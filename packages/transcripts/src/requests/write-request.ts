import { anthropicBody } from './anthropic.js'
import { deepseekBody } from './deepseek.js'
import { geminiBody } from './gemini.js'
import { chatBody } from './openai-chat.js'
import { responsesBody } from './openai-responses.js'
import type { Outgoing, RequestBody } from './outgoing.js'

const WRITERS: Record<string, (request: Outgoing) => RequestBody> = {
  anthropic: anthropicBody,
  'openai-chat': chatBody,
  'openai-responses': responsesBody,
  gemini: geminiBody,
  deepseek: deepseekBody,
}

/** Targets whose bodies can be written. */
export const REQUEST_TARGETS: readonly string[] = Object.keys(WRITERS)

/**
 * The provider's own request body, ready to send once `model`, `max_tokens`, `stream` and credentials are added. The
 * request is taken as the target's rules left it. `RangeError` for a target without a writer.
 */
export function writeRequest(target: string, request: Outgoing): RequestBody {
  const write = WRITERS[target]
  if (write === undefined)
    throw new RangeError(`target: expected one of ${REQUEST_TARGETS.join(', ')}, found ${target}`)
  return write(request)
}
