import type { Host, ModelOutcome } from '@palimpsest/host'
import type { Chunk, Fault, Session, TurnEnd } from '@palimpsest/session'
import type { Agent } from './agent.js'
import type { Config } from './config.js'
import type { Durability } from './durability.js'
import type { Inbox } from './inbox.js'

export interface Limits {
  readonly maxSteps: number
  readonly maxParallelToolCalls: number
  readonly cancelGraceMs: number
}

/** What one agent's turns share. */
export interface Loop {
  readonly agent: Agent
  readonly session: Session
  readonly host: Host
  readonly inbox: Inbox
  readonly durability: Durability
  readonly limits: Limits
  /** Replaced whole by `configure`; a step keeps the one that it began with. */
  config: Config
  /** The turn that `cancel` and `dispose` stop; one that has ended does not mind. */
  running?: Turn
}

export interface Turn {
  readonly loop: Loop
  readonly turn: number
  readonly signal: AbortSignal
  /** The first reason counts. */
  stop(end: TurnEnd): void
  /** Why it was stopped. */
  readonly stopped: TurnEnd | undefined
}

export interface Step {
  readonly loop: Loop
  readonly turn: number
  readonly step: number
  readonly signal: AbortSignal
  readonly config: Config
  /** The youngest attempt at the request: what a cancel keeps the shown prefix of. */
  attempt?: Attempt
  /** The log could not be made durable: no further tool begins, and the turn ends with this. */
  fault?: Fault
}

/** One attempt's stream as far as it is logged. */
export interface Attempt {
  readonly chunks: Chunk[]
  readonly seqs: number[]
  outcome?: ModelOutcome
}
