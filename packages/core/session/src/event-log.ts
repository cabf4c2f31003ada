import { SessionError } from './errors.js'
import type { SessionEvent } from './events.js'

/** The part of a log that stands below the events held in an array: a parent's prefix, or a store's. */
export interface LogBase {
  readonly length: number
  at(seq: number): SessionEvent
  slice(from: number, to: number): SessionEvent[]
}

/** Events by seq. Grows at the end only. */
export class EventLog {
  readonly #base: LogBase | undefined
  readonly #baseLength: number
  readonly #own: SessionEvent[] = []
  #snapshot: readonly SessionEvent[] | undefined

  constructor(base?: LogBase) {
    this.#base = base
    this.#baseLength = base?.length ?? 0
  }

  get length(): number {
    return this.#baseLength + this.#own.length
  }

  push(event: SessionEvent): void {
    this.#snapshot = undefined
    this.#own.push(event)
  }

  at(seq: number): SessionEvent | undefined {
    if (seq >= this.#baseLength) return this.#own[seq - this.#baseLength]
    return Number.isInteger(seq) && seq >= 0 ? this.#base?.at(seq) : undefined
  }

  /** Half-open, both ends already inside the log. */
  slice(from: number, to: number): SessionEvent[] {
    const start = this.#baseLength
    if (from >= start) return this.#own.slice(from - start, to - start)
    const below = this.#base!.slice(from, Math.min(to, start))
    if (to <= start) return below
    for (let i = 0; i < to - start; i++) below.push(this.#own[i]!)
    return below
  }

  /** All events, frozen; the same array until the log grows. */
  snapshot(): readonly SessionEvent[] {
    this.#snapshot ??= Object.freeze(this.slice(0, this.length))
    return this.#snapshot
  }

  /** The first `length` events as the base of another log: shared, not copied. */
  prefix(length: number): LogBase {
    if (length <= this.#baseLength && this.#base !== undefined) return new Prefix(this.#base, length)
    return { length, at: seq => this.at(seq)!, slice: (from, to) => this.slice(from, to) }
  }
}

/**
 * A stored log, read when it is asked for. `load` is the store's; `seal` makes an event of what it
 * gave. Events are kept once read, so that `at(n) === at(n)`.
 */
export class ColdLog implements LogBase {
  readonly #known = new Map<number, SessionEvent>()

  constructor(
    readonly length: number,
    private readonly load: (from: number, to: number) => readonly unknown[],
    private readonly seal: (source: unknown, seq: number) => SessionEvent,
  ) {}

  has(seq: number): boolean {
    return this.#known.has(seq)
  }

  /** Puts in an event that came with the landmarks. */
  keep(event: SessionEvent): void {
    this.#known.set(event.seq, event)
  }

  at(seq: number): SessionEvent {
    return this.#known.get(seq) ?? this.#read(seq, seq + 1)[0]!
  }

  slice(from: number, to: number): SessionEvent[] {
    for (let seq = from; seq < to; ) {
      const start = seq
      while (seq < to && !this.#known.has(seq)) seq++
      if (seq > start) this.#read(start, seq)
      while (seq < to && this.#known.has(seq)) seq++
    }
    return Array.from({ length: Math.max(0, to - from) }, (_, i) => this.#known.get(from + i)!)
  }

  #read(from: number, to: number): SessionEvent[] {
    const events = this.#loadSealed(from, to)
    for (const event of events) this.keep(event)
    return events
  }

  #loadSealed(from: number, to: number): SessionEvent[] {
    try {
      const loaded = this.load(from, to)
      if (loaded.length !== to - from)
        throw new Error(`expected ${to - from} events from the store, found ${loaded.length}`)
      return loaded.map((source, i) => this.seal(source, from + i))
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new SessionError(
        'HISTORY_UNREADABLE',
        `events ${from}…${to - 1}: expected the store to read them, found: ${reason}; check the stored session with doctor`,
        { cause },
      )
    }
  }
}

// --- internal ---

/** A shorter look at a base. One of another is one of its base, so a line of idle forks stays flat. */
class Prefix implements LogBase {
  readonly #base: LogBase

  constructor(
    base: LogBase,
    readonly length: number,
  ) {
    this.#base = base instanceof Prefix ? base.#base : base
  }

  at(seq: number): SessionEvent {
    return this.#base.at(seq)
  }

  slice(from: number, to: number): SessionEvent[] {
    return this.#base.slice(from, to)
  }
}
