import type { Message, ModelRequest } from '@palimpsest/session'

export const TARGETS = ['anthropic', 'openai-chat', 'openai-responses', 'gemini', 'deepseek'] as const

/** A provider's protocol. */
export type Target = (typeof TARGETS)[number]

/** What is to be sent, in the terms of the log. `seqs`: of each message, where it came from a log. */
export interface RequestToHeal extends Partial<Omit<ModelRequest, 'messages'>> {
  messages: readonly Message[]
  seqs?: readonly number[]
}

export interface HealOptions {
  /** `on`: the next request wants reasoning. `off`: it does not. `keep` (default): reasoning goes back wherever the target takes it. */
  thinking?: 'on' | 'off' | 'keep'
  /** `summary`: the request asks for a summary of the history. */
  purpose?: 'next' | 'summary'
  /** The source keeps results that are no text by design: their JSON text is no damage. */
  structuredResults?: boolean
  /** Ids of the calls that the source shows as begun and not as ended. Left out: it does not tell when a call begins. */
  started?: ReadonlySet<string>
  /**
   * A port sends the request that knows its provider: tools that the provider ran itself, and reasoning that some
   * chat servers want back, are the port's to tell. Else they are left out.
   */
  byPort?: boolean
}

/** What the target accepts, still in the terms of the log. */
export interface OutgoingRequest {
  messages: Message[]
  system?: string
  tools: NonNullable<ModelRequest['tools']>
  /** Said only where the target has to be told. */
  thinking?: 'enabled' | 'disabled'
  /** `none`: the tools are declared, and none may be called. */
  toolChoice?: 'none'
}
