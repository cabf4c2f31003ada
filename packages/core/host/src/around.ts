import type { Chunk, FinishReason, JsonValue, ModelFailure, Session, Usage, UserMessage } from '@palimpsest/session'
import type { Agent } from './agent.js'

/** One attempt at a model request, as data. `seqs` are the logged chunks; a failure is never a rejection. */
export interface ModelOutcome {
  readonly chunks: readonly Chunk[]
  readonly seqs: readonly number[]
  readonly finishReason?: FinishReason
  readonly usage?: Usage
  readonly failure?: ModelFailure
}

export interface ModelRequestCall {
  readonly agent: Agent
  readonly session: Session
  readonly turn: number
  readonly step: number
  readonly signal: AbortSignal
}

/** The part of a tool that plugins may judge it by. A missing `effect` means `execute`. */
export interface ToolShape {
  readonly name: string
  readonly description?: string
  readonly effect?: 'read' | 'write' | 'execute'
  readonly parallelSafe?: boolean
}

/** `input` is the logged one, deeply frozen: what was logged is what runs. */
export interface ToolExecution extends ModelRequestCall {
  readonly tool: ToolShape
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JsonValue
}

export interface TurnAdmission {
  readonly agent: Agent
  readonly session: Session
  readonly turn: number
  readonly messages: readonly UserMessage[]
}

/**
 * What can be intercepted.
 * - `model/request`: each `next()` is one attempt at the request as the log then stands.
 * - `tool/execute`: throw before `next()` to deny, or answer without it.
 * - `turn/admit`: the messages that come out are the ones that are logged.
 */
export interface AroundMap {
  'model/request': { value: ModelRequestCall; result: ModelOutcome }
  'tool/execute': { value: ToolExecution; result: unknown }
  'turn/admit': { value: TurnAdmission; result: { readonly messages: readonly UserMessage[] } }
}

export type AroundName = keyof AroundMap & string

/** `next` without an argument passes `value` on as it is. */
export type AroundHandler<N extends AroundName> = (
  value: AroundMap[N]['value'],
  next: (value?: AroundMap[N]['value']) => Promise<AroundMap[N]['result']>,
) => AroundMap[N]['result'] | Promise<AroundMap[N]['result']>

// --- internal ---

export const AROUND_NAMES = Object.keys({
  'model/request': true,
  'tool/execute': true,
  'turn/admit': true,
} satisfies Record<AroundName, true>)
