import type { LanguageModelV2, LanguageModelV3 } from '@ai-sdk/provider'

/** What is used of spec V4, written down here so that V4 models are taken beside a V3 `@ai-sdk/provider`. */
export interface LanguageModelV4 {
  readonly specificationVersion: 'v4'
  readonly provider: string
  readonly modelId: string
  doStream(options: never): PromiseLike<StreamResult>
}

export type LanguageModel = LanguageModelV2 | LanguageModelV3 | LanguageModelV4
export type SpecVersion = LanguageModel['specificationVersion']

/** The least that models of all specs have in common; `options` are built for the spec at run time. */
export interface AnyModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  doStream(options: CallOptions): PromiseLike<StreamResult>
}

export interface CallOptions {
  prompt: PromptMessage[]
  tools?: unknown[]
  toolChoice?: unknown
  headers?: Record<string, string | undefined>
  providerOptions?: Record<string, unknown>
  abortSignal: AbortSignal
  [setting: string]: unknown
}

export interface PromptMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | PromptPart[]
  providerOptions?: Record<string, unknown>
}

/** A part as the model's spec wants it. */
export interface PromptPart {
  type: string
  [member: string]: unknown
}

export interface StreamResult {
  stream: { getReader(): PartReader }
}

/** A `ReadableStreamDefaultReader`, as far as it is used. */
export interface PartReader {
  read(): Promise<{ done: boolean; value?: unknown }>
  cancel(reason?: unknown): Promise<void>
}

/** A part of a stream of any spec. Only `type` is certain; every reader checks what it takes. */
export interface StreamPart {
  type: string
  id?: string
  delta?: string
  toolCallId?: string
  toolName?: string
  input?: unknown
  result?: unknown
  isError?: boolean
  preliminary?: boolean
  providerExecuted?: boolean
  mediaType?: string
  data?: unknown
  kind?: string
  modelId?: string
  finishReason?: unknown
  usage?: unknown
  error?: unknown
  providerMetadata?: Record<string, unknown>
}
