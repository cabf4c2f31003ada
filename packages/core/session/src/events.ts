import type { JsonValue } from './json.js'
import type { AssistantMessage, ToolMessage, ToolOutput, UserMessage } from './messages.js'
import type { Chunk, FinishReason, RequestHeader, Usage } from './model.js'

/** A fault that the model or the user is told about, as data. */
export interface Fault {
  code: string
  message: string
}

export type TurnEnd =
  | { kind: 'completed' }
  | { kind: 'max-steps' }
  | { kind: 'aborted'; reason?: string }
  | { kind: 'error'; error: Fault }
  | { kind: 'interrupted' }
  | { kind: 'disposed' }

/** What an edit did to the part of the request that a provider may have cached. */
export interface CachedPrefix {
  messages: number
  tokens: number
  tokensBroken: number
}

/** The events that this build knows. Turns and steps count from 1. */
export interface BuiltInEventMap {
  'turn/start': { turn: number }
  'turn/end': { turn: number; reason: TurnEnd }
  'step/start': { turn: number; step: number }
  'step/end': { turn: number; step: number }
  'user/message': { turn?: number; message: UserMessage }
  /** Injected by a plugin, not typed by the user; `origin` names who did. */
  'context/message': { turn?: number; message: UserMessage; origin: string }
  /** Sent while a turn runs. */
  'steering/message': { turn: number; message: UserMessage }
  'assistant/chunk': { turn: number; step: number; chunk: Chunk }
  'assistant/message': {
    turn: number
    step: number
    message: AssistantMessage
    finishReason: FinishReason
    usage?: Usage
    interrupted?: boolean
  }
  /** A tool's body is about to start. `arguments` is the model's raw JSON text. */
  'tool/call': { turn: number; step: number; toolCallId: string; toolName: string; arguments: string }
  /** A result that must wait for the model's order, already safe. */
  'tool/settled': { turn: number; step: number; toolCallId: string; output: ToolOutput; error?: Fault }
  'tool/result': {
    turn: number
    step: number
    toolCallId: string
    message: ToolMessage
    error?: Fault
    /** Written by recovery for a result that nobody gave. */
    synthetic?: true
  }
  'request/header': RequestHeader
  /** A stretch that repair could not read. */
  'log/lost': { from: number; to: number; bytes: number; kept: string | null }
  'compaction/start': { start: number; end: number; seqs: number[] }
  'compaction/end': { start: number; node?: number; tokensSaved?: number; cachedPrefix?: CachedPrefix; error?: Fault }
  'prune/applied': { nodes: number[]; tokensSaved: number; cachedPrefix: CachedPrefix }
  'surface/restore': { reason?: string }
}

/**
 * Open by declaration merging. A type merged in by somebody else is always log-only and always
 * `ignorable: true`, so that a build without it can still read the log.
 */
export interface EventMap extends BuiltInEventMap {}

export type BuiltInType = keyof BuiltInEventMap
export type EventType = keyof EventMap & string
export type SurfaceEventType =
  | 'user/message'
  | 'context/message'
  | 'steering/message'
  | 'assistant/message'
  | 'tool/result'

/**
 * How a surface event enters the surface. `start` and `end` name visible nodes by seq, both
 * inclusive, and are read in surface order: after an edit a young node may stand at an old place.
 */
export type SurfaceOp = 'append' | { op: 'replace'; start: number; end: number }
/** Takes the replacement `node` off the surface and puts what it shadowed back in its place. */
export type RestoreOp = { op: 'restore'; node: number }

export interface SurfaceIntent {
  surfaceOp: SurfaceOp
  sourceEventSeqs?: readonly number[]
}
export interface RestoreIntent {
  surfaceOp: RestoreOp
  /** Exactly the restored node. */
  sourceEventSeqs: readonly number[]
}
export interface IgnorableIntent {
  ignorable: true
}

/** What `append` demands after the data of an event of type `T`. */
export type IntentOf<T extends EventType> = T extends SurfaceEventType
  ? [SurfaceIntent]
  : T extends 'surface/restore'
    ? [RestoreIntent]
    : T extends BuiltInType
      ? []
      : [IgnorableIntent]

/**
 * One entry of the log, deeply frozen. `seq` is its index in the log: 0, 1, 2 … without gaps.
 * `time` is epoch milliseconds. A union over `type`, so that `event.type === …` narrows `event.data`.
 */
export type SessionEvent<T extends EventType = EventType> = T extends EventType
  ? {
      readonly seq: number
      readonly time: number
      readonly type: T
      readonly data: EventMap[T]
      readonly sourceEventSeqs?: readonly number[]
      readonly surfaceOp?: SurfaceOp | RestoreOp
      readonly ignorable?: true
    }
  : never

/** Where a session was forked from; `crc` is the checksum of the last shared record, in stores that have one. */
export interface ParentRef {
  id: string
  length: number
  crc?: string
}

/** Storage metadata of a session, beside the log. Extra members are kept exactly. */
export interface SessionHeader {
  version: number
  id: string
  /** Epoch milliseconds. */
  createdAt: number
  cwd?: string
  parent?: ParentRef
  /** The parent session's call that started this one, for a subagent. */
  spawnedBy?: { id: string; seq: number }
  importedFrom?: { format: string; id: string }
  [extra: string]: JsonValue | undefined | ParentRef | { id: string; seq: number } | { format: string; id: string }
}
