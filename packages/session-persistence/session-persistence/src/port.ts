import type { SessionEvent, SessionHeader, SessionLandmarks } from '@palimpsest/session'

/** What a store found wrong, where, how much, and where the bytes were put (`null`: left where they are). */
export interface Damage {
  /** A `DamageCode`, or one that only this backend knows. */
  code: string
  where: { line?: number; offset?: number; seq?: number }
  bytes: number
  kept: string | null
  /** Of `RECORD_DAMAGED`: the bad bytes form a whole line, so they may once have been acknowledged. */
  mayHaveBeenAcknowledged?: true
}

/** What any store may find. */
export type DamageCode =
  | 'RECORD_TORN'
  | 'RECORD_DAMAGED'
  | 'RECORD_GLUED'
  | 'SEQ_REPEATED'
  | 'LOG_HOLE'
  | 'HEADER_TORN'
  | 'HEADER_DAMAGED'

/** The right to write one session. `epoch` rises for ever, over release, reopen and death. */
export interface Lease {
  readonly id: string
  readonly epoch: number
  /** What `acquire` found at the end of the log and put aside. */
  readonly damage?: readonly Damage[]
  /** Safe to call twice. */
  release(): Promise<void>
}

/** The trusted events of the half-open range asked for; seqs jump at a hole. `length` counts the whole log. */
export interface StoredLog {
  header: SessionHeader
  events: SessionEvent[]
  length: number
  damage: Damage[]
}

/** One line of a listing. A bad session is listed with `damage` or `error`, never thrown, never left out. */
export interface SessionSummary {
  id: string
  header?: SessionHeader
  length?: number
  /** The first user text, at most 80 characters. */
  title?: string
  /** Epoch milliseconds. */
  updatedAt?: number
  bytes?: number
  /** Only if asked for, and where it stands near enough to the end. `turn` is 0 where none was begun. */
  lastTurn?: { turn: number; isOpen: boolean }
  damage?: Damage[]
  error?: { code: string; message: string }
}

/**
 * A stored session whose events are read when they are asked for. Where the log has a hole this is
 * the part before it: `length` is the seq of the first lost event, and `damage` holds a `LOG_HOLE`.
 */
export interface LazyLog {
  header: SessionHeader
  length: number
  landmarks: SessionLandmarks
  /** The events of the half-open range, read synchronously and exactly; throws where it cannot. */
  load(from: number, to: number): SessionEvent[]
  damage: Damage[]
  /** Events without `ignorable` whose type this build does not know, in log order; none where left out. */
  unknown?: readonly { readonly seq: number; readonly type: string }[]
}

/** What `scan` found beside the events that it handed on. */
export interface ScannedLog {
  /** Missing where it cannot be trusted; `damage` then begins with what is wrong with it. */
  header?: SessionHeader
  /** One more than the last trusted event's seq. */
  length: number
  damage: Damage[]
}

/** One kind of what a session takes in its store. */
export interface BytePart {
  /** An event type, or what else the store keeps: `header`, `index`, `lock`, `torn`, `text`, … */
  readonly what: string
  readonly bytes: number
  /** How many events these are; none where they are no events. */
  readonly events?: number
  /** Other sessions use these bytes too, and they stay when this one is removed. */
  readonly isShared?: true
}

/** A reader that goes along with a log, across takeovers. Holds no lease. */
export interface Follower {
  /**
   * The next events that are in the log for good as far as a reader can know, in order and without a gap;
   * none where nothing is new. `SESSION_NOT_FOUND` once the session was removed; a hole in front of it is
   * `HISTORY_UNREADABLE`, never skipped.
   */
  next(): Promise<SessionEvent[]>
  /** Resolves when something may be new (soon after it is; false alarms are allowed), or when `signal` aborts. Never rejects. */
  changed(signal: AbortSignal): Promise<void>
  close(): void
}

/** The storage port. A backend is one package; `testBackend` of the conformance kit is its contract. */
export interface SessionBackend {
  /** `lazyEvents`: the backend has `open`, so opening costs the landmarks and not the log. */
  readonly supports: { readonly lazyEvents: boolean }
  /**
   * Takes the one writer's lease; a torn tail is cut and kept aside here and nowhere else.
   * `takeover` takes it from an owner that is, or may be, alive.
   */
  acquire(id: string, options?: { takeover?: boolean }): Promise<Lease>
  /**
   * Durable when resolved. The first batch of a new session writes its header. Events go on at the
   * stored length, or the batch is refused whole (`APPEND_CONFLICT`). A lease that is released or
   * overtaken is `SESSION_FENCED`.
   */
  append(lease: Lease, header: SessionHeader, events: readonly SessionEvent[]): Promise<void>
  /** Needs no lease. `undefined` where there is no such session. */
  read(id: string, range?: { from?: number; to?: number }): Promise<StoredLog | undefined>
  /**
   * Makes the session of `lease` (a new one, else `SESSION_EXISTS`) share the first `length` events of
   * `header.parent.id`. A backend with checksums completes `header.parent.crc` in what it writes.
   */
  fork(lease: Lease, header: SessionHeader, length: number): Promise<void>
  /** `turns` asks for `lastTurn`, of stores that can tell it at little cost. */
  list(options?: { turns?: boolean }): AsyncIterable<SessionSummary>
  /** `SESSION_NOT_FOUND` where there is none, `SESSION_LOCKED` while somebody holds its lease. */
  remove(id: string): Promise<void>
  /** Releases the leases that this backend still holds. */
  close(): Promise<void>
  /**
   * Only where a store can tell cheaply what is new: follows the log from seq `from` on, beside whoever
   * writes. `undefined` where there is no such session. A store without it is followed through `read`.
   */
  follow?(id: string, from: number): Promise<Follower | undefined>
  /**
   * Only where a log of any size can be looked through in little memory: hands its trusted events on in
   * order, in pieces, each once `onEvents` is done with the one before. Looks at every byte, whatever an
   * index says, and goes on behind a header that cannot be trusted. What `onEvents` throws ends it and comes
   * out as it is. Needs no lease; `undefined` where there is no such session. A store without it is looked through by ranges of `read`.
   */
  scan?(id: string, onEvents: (events: SessionEvent[]) => void | Promise<void>): Promise<ScannedLog | undefined>
  /** Where the bytes of a session are; `undefined` where there is no such session. Reads as much as it must, without a lease. */
  bytesOf?(id: string): Promise<BytePart[] | undefined>
  /** Only with `supports.lazyEvents`: the log as landmarks and a synchronous loader, for the holder of `lease`. */
  open?(lease: Lease): Promise<LazyLog | undefined>
  /** Only with `supports.lazyEvents`: the same for whoever only looks, without a lease. Writes nothing. */
  look?(id: string): Promise<LazyLog | undefined>
}
