import type { JsonObject, Message, ModelPort, ModelRequest } from '@palimpsest/session'
import type { Summarize, SummaryInput } from './compact.js'

export interface SummarizeWithOptions {
  /** What the model is asked, behind the messages. */
  instruction?: string
  /** Settings of the request; default: those of the log's last header if it names the same model. */
  settings?: JsonObject
}

/**
 * A summariser that asks a model. Where the log's last request went to the same model, the request begins
 * with the same system text, tools and messages, so that a provider which caches prefixes finds it warm.
 */
export function summarizeWith(model: ModelPort, options: SummarizeWithOptions = {}): Summarize {
  return async input => {
    let text = ''
    for await (const chunk of model.stream(requestOf(model, input, options), input.signal)) {
      if (chunk.type === 'text-delta') text += chunk.text
      if (chunk.type === 'error') throw new Error(`${chunk.error.code}: ${chunk.error.message}`)
      if (chunk.type === 'finish' && chunk.finishReason === 'length') {
        throw new Error('the model stopped at its output limit; raise it, or take a shorter range')
      }
      if (chunk.type === 'finish') return text
    }
    throw new Error('the stream ended without a final chunk')
  }
}

// --- internal ---

const INSTRUCTION = [
  'The conversation above is about to be replaced by your answer to this message. Write what is needed to go on without it:',
  'the goal and the constraints as the user gave them, decisions and why, what was done and found (with names of files,',
  'commands and errors as they are), what is not finished, and the next step. Be short. Call no tools. Answer with the text only.',
].join('\n')

function requestOf(model: ModelPort, { messages, header }: SummaryInput, options: SummarizeWithOptions): ModelRequest {
  const { instruction = INSTRUCTION } = options
  const warm = header?.model === model.model ? header : undefined
  const question: Message = { role: 'user', content: [{ type: 'text', text: instruction }] }
  return Object.freeze({
    ...warm,
    model: model.model,
    settings: options.settings ?? warm?.settings ?? {},
    messages: Object.freeze([...messages, question]) as Message[],
  })
}
