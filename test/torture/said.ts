import type { StoreName } from './stores.js'

/** What a worker is told to do, as JSON in its first argument. */
export type Command = { store: StoreName; place: string; isUnsynced?: true; busyMs?: number } & (
  | WorkCommand
  | RaceCommand
  | StopCommand
  | HoldCommand
)

/** Works on a store, mostly by `target`, until it is killed. */
export interface WorkCommand {
  role: 'work'
  seed: number
  target: Target
  /** The session that it works on; made when missing. */
  main: string
  /** A session with a hole. */
  damaged: string
  /** Waits for a line on its standard input before it begins. */
  isWaiting?: true
}

/** Takes a session over again and again, and writes until it is fenced; ends after `takeovers`. */
export interface RaceCommand {
  role: 'race'
  seed: number
  id: string
  takeovers: number
}

/** Stops itself before the n-th call of an operation, in a session of its own for each n, for every n there is. */
export interface StopCommand {
  role: 'stop'
  operation: StopOperation
}

/** Opens a session, writes a turn for each line on its standard input, and says what became of it. */
export interface HoldCommand {
  role: 'hold'
  id: string
  takeover?: true
}

export const TARGETS = ['append', 'pack', 'fork', 'mend', 'takeover', 'remove'] as const
export type Target = (typeof TARGETS)[number]

export const STOP_OPERATIONS = ['append', 'pack', 'create', 'takeover', 'fork', 'remove'] as const
export type StopOperation = (typeof STOP_OPERATIONS)[number]

/** What a worker says, one line of JSON each, written before it goes on. */
export interface Said {
  /** When, in nanoseconds of the clock that all processes of the machine share and nobody sets. */
  at?: number
  /** It begins; everything that it makes by this is whole or absent. */
  doing?: string
  making?: string
  acknowledged?: Acknowledged
  /** Only behind `making`: what the new session shares with another one. */
  forked?: { id: string; parent: string; length: number }
  removing?: string
  removed?: string
  /** It is about to stop itself. */
  stopping?: string
  /** How it ended: a code, or what was acknowledged. */
  outcome?: { code?: string; acknowledged?: Acknowledged }
  /** No call is left to stop before. */
  finished?: number
  fenced?: number
  /** The pid of an owner belongs to another process now. */
  reused?: boolean
  /** A code, or the stack of what has none. */
  failed?: string
}

/** Stored for good: the events of `id` from `from` to before `to`, with the digest of their JSON. */
export interface Acknowledged {
  id: string
  from: number
  to: number
  digest: number
  epoch: number
}
