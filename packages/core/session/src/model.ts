import type { JsonObject } from './json.js'
import type { Message, ProviderOptions, ToolOutput } from './messages.js'

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'other'

/** Counts are tokens. `inputTokens` includes the cached ones. */
export interface Usage {
  inputTokens?: number
  outputTokens?: number
  totalTokens?: number
  cachedInputTokens?: number
  reasoningTokens?: number
}

/** A failed attempt, as data. `status` is HTTP's; `retryAfterMs` what the provider asked for. */
export interface ModelFailure {
  code: string
  message: string
  retryable: boolean
  status?: number
  retryAfterMs?: number
}

/**
 * One piece of a model's stream. Deltas of one kind and `id` make one part, in the order in which
 * the parts began. `finish` and `error` are final: nothing after them counts.
 */
export type Chunk =
  | { type: 'text-delta'; id: string; text: string; providerOptions?: ProviderOptions }
  | { type: 'reasoning-delta'; id: string; text: string; providerOptions?: ProviderOptions }
  /** For a viewer only; the call follows whole. */
  | { type: 'tool-input-delta'; toolCallId: string; toolName: string; text: string }
  /** `input` is the model's raw JSON text, whole. */
  | {
      type: 'tool-call'
      toolCallId: string
      toolName: string
      input: string
      providerExecuted?: true
      providerOptions?: ProviderOptions
    }
  /** The provider ran the tool itself. */
  | {
      type: 'tool-result'
      toolCallId: string
      toolName: string
      output: ToolOutput
      providerOptions?: ProviderOptions
    }
  | { type: 'file'; mediaType: string; data: string; providerOptions?: ProviderOptions }
  | {
      type: 'finish'
      finishReason: FinishReason
      usage?: Usage
      response?: { id?: string; model?: string }
      providerOptions?: ProviderOptions
    }
  | { type: 'error'; error: ModelFailure }

export interface ToolSchema {
  name: string
  description?: string
  inputSchema: JsonObject
}

/** What a request holds beside its messages; logged as `request/header` when it changes. */
export interface RequestHeader {
  model: string
  settings: JsonObject
  system?: string
  tools?: ToolSchema[]
  rules?: { target: string; version: string }
}

/** Deeply frozen at run time. Every request is a function of a log prefix. */
export interface ModelRequest extends RequestHeader {
  messages: Message[]
}

/** A model. `stream` never throws: a failure is a final `error` chunk. */
export interface ModelPort {
  readonly model: string
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<Chunk>
}
