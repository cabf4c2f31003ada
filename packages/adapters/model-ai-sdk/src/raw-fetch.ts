import { AsyncLocalStorage } from 'node:async_hooks'
import type { ModelRequest } from '@palimpsest/session'
import { inputOf } from './prompt.js'
import { type SentCall, spliceRawTexts } from './splice-raw-texts.js'

/**
 * A `fetch` for an AI SDK provider (`createAnthropic({ fetch: rawFetch() })`) that puts this
 * request's raw tool inputs into the body digit for digit, where the SDK would send `JSON.stringify`
 * of the parsed ones. Only the very values are replaced; a body that holds others is sent as it is.
 */
export function rawFetch(fetch?: typeof globalThis.fetch): typeof globalThis.fetch {
  return (input, init) => {
    const send = fetch ?? globalThis.fetch
    const calls = callsOfRequest.getStore()
    if (calls === undefined || typeof init?.body !== 'string') return send(input, init)
    return send(input, { ...init, body: spliceRawTexts(init.body, calls) })
  }
}

/** Runs `send` so that a `rawFetch` within it, and only there, knows the calls of `request`. */
export function withRawTexts<T>(request: ModelRequest, send: () => T): T {
  return callsOfRequest.run(callsOf(request), send)
}

// --- internal ---

/** Follows one request through the provider's awaits, so concurrent requests cannot see each other's texts. */
const callsOfRequest = new AsyncLocalStorage<SentCall[] | undefined>()

/** Undefined where no call has a raw text, as in most requests: then no body is looked at. */
function callsOf(request: ModelRequest): SentCall[] | undefined {
  const parts = request.messages.flatMap(message => (message.role === 'assistant' ? message.content : []))
  const calls = parts.filter(part => part.type === 'tool-call')
  if (calls.every(call => call.rawInput === undefined)) return undefined
  return calls.map(call => ({
    id: call.toolCallId,
    input: inputOf(call),
    ...(call.rawInput === undefined ? {} : { raw: call.rawInput }),
  }))
}
