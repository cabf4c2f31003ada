import type { Part, Session } from '@palimpsest/session'

export type AgentStatus = 'idle' | 'running' | 'disposed'

/** What `send`, `steer` and `inject` hand back: the seq of the logged message, once it is durable. */
export interface Admission {
  readonly admitted: Promise<number>
}

/** An input that never entered the log. */
export interface Input {
  readonly kind: 'send' | 'steer' | 'inject'
  readonly content: readonly Part[]
  readonly origin?: string
}

/**
 * The agent as plugins see it. The host knows this shape only: whoever drives a session and has these
 * verbs may announce itself with `host.emit('agent/created', agent)`.
 */
export interface Agent {
  /** Unique among the agents of a host. */
  readonly id: string
  readonly session: Session
  readonly status: AgentStatus
  send(content: string | readonly Part[]): Admission
  steer(content: string | readonly Part[]): Admission
  inject(content: string | readonly Part[], origin: string): Admission
  cancel(reason?: string): void
  idle(): Promise<void>
  dispose(): Promise<Input[]>
}
