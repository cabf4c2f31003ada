import { closeInterruptedTurn, isKnownType, Session, type SessionEvent } from '@palimpsest/session'
import { isGiven } from './recording.js'

/** Where the replayed log first is not the recorded one. `undefined`: nothing stands there. */
export interface Difference {
  readonly seq: number
  readonly expected: SessionEvent | undefined
  readonly found: SessionEvent | undefined
  /** Why the replay could not go on, in words. */
  readonly reason?: string
}

/**
 * The log that is being written anew beside the recorded one: it has its clock, what others put into it,
 * and the eye that sees the first difference.
 */
export class Stage {
  session: Session
  difference: Difference | undefined
  given = 0
  #isHalted = false
  readonly #listeners = new Set<() => void>()
  #waiters: { seq: number; resolve: () => void; reject: (error: Error) => void }[] = []

  constructor(
    readonly recorded: Session,
    readonly until: number,
  ) {
    this.session = this.#begin([])
  }

  get length(): number {
    return this.session.length
  }

  get isOver(): boolean {
    return this.difference !== undefined || this.length >= this.until
  }

  /** The recorded event that comes next. */
  get next(): SessionEvent | undefined {
    return this.recorded.at(this.length)
  }

  /** Called behind each append, at once. */
  onAppend(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves when the log is `seq` long: whoever wrote the recorded event `seq` was at work then. Rejects when the replay is over. */
  reach(seq: number): Promise<void> {
    if (this.isOver || this.#isHalted) return Promise.reject(new ReplayOver())
    if (this.length >= seq) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiters.push({ seq, resolve, reject }))
  }

  /** Appends what the recording says that somebody else than the loop appended. */
  give(event: SessionEvent): void {
    const { type, data, surfaceOp, sourceEventSeqs, ignorable } = event
    const intent =
      surfaceOp !== undefined ? { surfaceOp, ...(sourceEventSeqs && { sourceEventSeqs }) } : ignorable && { ignorable }
    const append = this.session.append.bind(this.session) as (...args: unknown[]) => SessionEvent
    append(type, data, ...(intent ? [intent] : []))
    this.given += 1
  }

  /** All that others appended at this place. */
  giveAll(): void {
    for (let next = this.next; !this.isOver && next !== undefined && isGiven(next); next = this.next) this.give(next)
  }

  /** The recorded process died here: what is in the log is opened again, and closed as a store closes it. */
  crash(turnStart: number): void {
    const events = this.session.slice()
    this.session = this.#begin(events)
    for (const event of closeInterruptedTurn(events.slice(turnStart))) if (!this.isOver) this.give(event)
  }

  /** The loop ends without the recorded event. */
  fail(reason: string): void {
    this.difference ??= { seq: this.length, expected: this.next, found: undefined, reason }
    this.halt()
  }

  /** Nothing more gets into this log, and whoever waits is told. */
  halt(): void {
    this.#isHalted = true
    this.session.makeReadOnly('the replay is over')
    for (const { reject } of this.#waiters.splice(0)) reject(new ReplayOver())
  }

  // --- internal ---

  #begin(seed: readonly SessionEvent[]): Session {
    const { recorded } = this
    this.#isHalted = false
    const last = recorded.at(recorded.length - 1)?.time ?? 0
    const session: Session = Session.create({
      header: recorded.header,
      seed,
      now: () => recorded.at(session.length)?.time ?? last,
      acceptUnknown: recorded.events.map(({ type }) => type).filter(type => !isKnownType(type)),
    })
    session.on(event => this.#follow(event))
    return session
  }

  #follow(found: SessionEvent): void {
    const expected = this.recorded.at(found.seq)
    if (this.difference === undefined && JSON.stringify(expected) !== JSON.stringify(found)) {
      this.difference = { seq: found.seq, expected, found }
    }
    if (this.isOver) {
      this.halt()
      return
    }
    for (const listener of this.#listeners) listener()
    // What others append stands between what the loop appends, so it has to be there before the loop goes on.
    queueMicrotask(() => this.#goOn())
  }

  #goOn(): void {
    if (this.#isHalted) return
    this.giveAll()
    const ready = this.#waiters.filter(({ seq }) => this.length >= seq)
    this.#waiters = this.#waiters.filter(waiter => !ready.includes(waiter))
    for (const { resolve } of ready) resolve()
  }
}

// --- internal ---

/** Ends whatever of the loop still waits. */
class ReplayOver extends Error {
  override readonly name = 'ReplayOver'
}
