import type { JsonObject, JsonValue } from './json.js'

/**
 * What a provider wants back byte for byte (signatures, encrypted reasoning), by provider name.
 * The shape of the Vercel AI SDK's `providerOptions`.
 */
export type ProviderOptions = Record<string, JsonObject>

interface WithProviderOptions {
  providerOptions?: ProviderOptions
}

export interface TextPart extends WithProviderOptions {
  type: 'text'
  text: string
}

/** `data`: base64 text or a URL. */
export interface FilePart extends WithProviderOptions {
  type: 'file'
  data: string
  mediaType: string
  filename?: string
}

/** `image`: base64 text or a URL. */
export interface ImagePart extends WithProviderOptions {
  type: 'image'
  image: string
  mediaType?: string
}

export interface ReasoningPart extends WithProviderOptions {
  type: 'reasoning'
  text: string
}

/**
 * `input` is the parsed argument object. `rawInput` is the model's own text, kept only where
 * `JSON.stringify(input)` would not give it back (white space, big numbers, text that is no JSON).
 */
export interface ToolCallPart extends WithProviderOptions {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  input: JsonValue
  rawInput?: string
  providerExecuted?: boolean
}

export interface ToolResultPart extends WithProviderOptions {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: ToolOutput
}

/** One piece of a mixed tool output. `data` is base64 text. */
export type ToolContent =
  | ({ type: 'text'; text: string } & WithProviderOptions)
  | ({ type: 'media'; data: string; mediaType: string } & WithProviderOptions)
  | ({ type: 'file-data'; data: string; mediaType: string; filename?: string } & WithProviderOptions)
  | ({ type: 'file-url'; url: string } & WithProviderOptions)
  | ({ type: 'file-id'; fileId: string | Record<string, string> } & WithProviderOptions)
  | ({ type: 'image-data'; data: string; mediaType: string } & WithProviderOptions)
  | ({ type: 'image-url'; url: string } & WithProviderOptions)
  | ({ type: 'image-file-id'; fileId: string | Record<string, string> } & WithProviderOptions)
  | ({ type: 'custom' } & WithProviderOptions)

/** The Vercel AI SDK's tool result output. */
export type ToolOutput =
  | ({ type: 'text'; value: string } & WithProviderOptions)
  | ({ type: 'json'; value: JsonValue } & WithProviderOptions)
  | ({ type: 'execution-denied'; reason?: string } & WithProviderOptions)
  | ({ type: 'error-text'; value: string } & WithProviderOptions)
  | ({ type: 'error-json'; value: JsonValue } & WithProviderOptions)
  | { type: 'content'; value: ToolContent[] }

export type UserPart = TextPart | FilePart | ImagePart
export type AssistantPart = TextPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart
export type Part = UserPart | AssistantPart

export interface UserMessage extends WithProviderOptions {
  role: 'user'
  content: UserPart[]
}

export interface AssistantMessage extends WithProviderOptions {
  role: 'assistant'
  content: AssistantPart[]
}

export interface ToolMessage extends WithProviderOptions {
  role: 'tool'
  content: ToolResultPart[]
}

/** Deeply frozen at run time; the types stay mutable so that the AI SDK takes them as they are. */
export type Message = UserMessage | AssistantMessage | ToolMessage
