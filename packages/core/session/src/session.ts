import { describe } from './admission.js'
import { SessionError } from './errors.js'
import { ColdLog, EventLog } from './event-log.js'
import type { EventMap, EventType, IntentOf, SessionEvent, SessionHeader } from './events.js'
import { sealHeader } from './header.js'
import { LandmarkIndex, type LandmarkType } from './landmark-index.js'
import type { SessionLandmarks, SurfaceMarker } from './landmarks.js'
import type { Message } from './messages.js'
import type { ModelRequest, RequestHeader } from './model.js'
import { type ErrorListener, Observers, type SessionListener } from './observers.js'
import { Projection } from './projection.js'
import { checkAgainst, checkVisible, eachGiven, indexLandmarks } from './resume-landmarks.js'
import { locate, sealEvent, sealStored } from './seal-event.js'
import {
  applySurface,
  foldSurface,
  planMarker,
  planSurface,
  type Surface,
  type SurfaceChange,
  SurfaceManager,
  viewSurface,
} from './surface.js'

interface LiveOptions {
  /** Epoch milliseconds; default `Date.now`. */
  now?: () => number
  /** Told when an observer throws; the default rethrows asynchronously, so that nothing is silent. */
  onListenerError?: ErrorListener
  /** Types of a stored log that this build does not know and that the caller takes as log-only. */
  acceptUnknown?: readonly string[]
}

export interface CreateOptions extends LiveOptions {
  id?: string
  header?: Partial<SessionHeader>
  /** Events from elsewhere: validated, copied and frozen like live ones. */
  seed?: readonly SessionEvent[]
}

export interface ResumeOptions extends LiveOptions {
  header: SessionHeader
  /** Events in the stored log. */
  length: number
  landmarks: SessionLandmarks
  /** The events of a half-open range: synchronous and exact. */
  load: (from: number, to: number) => readonly SessionEvent[]
  /** Says why, or just that, `append` is refused. */
  readOnly?: boolean | string
}

/**
 * One agent's history: an append-only, deeply immutable event log, and the surface derived from it.
 * Every other state is a fold of the log.
 */
export class Session {
  readonly #header: SessionHeader
  readonly #now: () => number
  readonly #acceptUnknown: ReadonlySet<string>
  readonly #log: EventLog
  readonly #landmarks: LandmarkIndex
  readonly #surface = new SurfaceManager()
  readonly #projection = new Projection()
  readonly #observers: Observers
  #busy = false
  #readOnly: string | undefined
  #request: ModelRequest | undefined
  #requestHeader: RequestHeader | undefined
  #view: Surface | undefined

  private constructor(header: SessionHeader, log: EventLog, landmarks: LandmarkIndex, options: LiveOptions) {
    this.#header = header
    this.#log = log
    this.#landmarks = landmarks
    this.#now = options.now ?? Date.now
    this.#acceptUnknown = new Set(options.acceptUnknown)
    this.#observers = new Observers(options.onListenerError)
    for (const marker of landmarks.markers) applySurface(this.#surface, planMarker(this.#surface, marker))
    this.#surface._lastProcessedSeq = log.length - 1
  }

  /** A new session, empty or from a seed. Throws the code of the first check that the seed fails, with its index. */
  static create(options: CreateOptions = {}): Session {
    const header = sealHeader(options.header, options.id, options.now ?? Date.now)
    const session = new Session(header, new EventLog(), new LandmarkIndex(), options)
    if (options.seed !== undefined) session.#admitSeed(options.seed)
    return session
  }

  /**
   * The way in for stores: opens at the cost of the landmarks. Other events are loaded when they are
   * asked for, pass the same seal as a seed and are kept; a load that fails is `HISTORY_UNREADABLE`
   * and changes nothing. Throws `SEED_INVALID` where the landmarks do not fit together.
   */
  static resume(options: ResumeOptions): Session {
    const { length, landmarks } = options
    const accepted = new Set(options.acceptUnknown)
    const index = indexLandmarks(landmarks, length)
    const seal = (source: unknown, seq: number) => {
      try {
        return checkAgainst(index, sealStored(source, seq, accepted))
      } catch (error) {
        throw locate(error, `event ${seq}`)
      }
    }
    const cold = new ColdLog(length, options.load, seal)
    eachGiven(landmarks, length, event => {
      if (!cold.has(event.seq)) cold.keep(seal(event, event.seq))
    })
    const session = new Session(sealHeader(options.header, undefined, Date.now), new EventLog(cold), index, options)
    checkVisible(session.#surface.seqs(), landmarks.surface)
    if (options.readOnly)
      session.makeReadOnly(typeof options.readOnly === 'string' ? options.readOnly : 'it was opened read-only')
    return session
  }

  get id(): string {
    return this.#header.id
  }

  get header(): SessionHeader {
    return this.#header
  }

  /** The live chain of visible events: one object per session, made when it is first asked for. */
  get surface(): Surface {
    this.#view ??= viewSurface(this.#surface)
    return this.#view
  }

  /** Events in the log, which is the next event's seq. */
  get length(): number {
    return this.#log.length
  }

  /**
   * Seals the data, checks the edit, then commits and tells the observers. A refused append throws a
   * `SessionError` and changes nothing. Returns the frozen event that is now in the log.
   */
  append<T extends EventType>(type: T, data: EventMap[T], ...intent: IntentOf<T>): SessionEvent<T> {
    if (this.#readOnly !== undefined) {
      throw new SessionError(
        'SESSION_READ_ONLY',
        `${this.id}: expected a session open for work, but ${this.#readOnly}; open it again, or fork it`,
      )
    }
    if (this.#busy) {
      throw new SessionError(
        'REENTRANT_APPEND',
        'expected no append while another one is under way (from an observer, a getter or now()); append after it returned',
      )
    }
    this.#busy = true
    try {
      const event = sealEvent(type, data, intent[0], this.length, this.#now())
      const change = planSurface(this.#surface, event, this.#toolCallIdAt)
      this.#commit(event, change)
      this.#observers.tell(event, this)
      return event as SessionEvent<T>
    } finally {
      this.#busy = false
    }
  }

  /** O(1), and the same object every time; `undefined` outside the log. */
  at(seq: number): SessionEvent | undefined {
    return this.#log.at(seq)
  }

  /** The half-open range, clamped to the log: a seq below 0 is 0; O(length of the range). Frozen. */
  slice(from = 0, to = this.length): readonly SessionEvent[] {
    const start = clamp(from, this.length)
    return Object.freeze(this.#log.slice(start, Math.max(start, clamp(to, this.length))))
  }

  /** All events: a frozen snapshot that never grows. Loads the whole of a stored log. */
  get events(): readonly SessionEvent[] {
    return this.#log.snapshot()
  }

  /** What the model sees now. Frozen, and the same array while nothing changed. */
  deriveMessages(): Message[] {
    return this.#projection.derive(this.#surface, this.#messageAt)
  }

  /** The visible seqs after the first `length` events. Throws a `RangeError` outside the log. */
  surfaceAt(length: number): readonly number[] {
    this.#checkLength(length)
    return length === this.length ? this.#surface.seqs() : foldSurface(this.#landmarks.markersBelow(length))
  }

  /** What the model saw after the first `length` events. */
  messagesAt(length: number): Message[] {
    if (length === this.length) return this.deriveMessages()
    const messages = this.surfaceAt(length).map(this.#messageAt)
    Object.freeze(messages)
    return messages
  }

  /** The request that the log's first `length` events make; `undefined` where they hold no request header. */
  requestAt(length: number): ModelRequest | undefined {
    this.#checkLength(length)
    const seq = this.#landmarks.lastSeqOf('request/header', length)
    if (seq === undefined) return undefined
    const header = this.#log.at(seq)!.data as RequestHeader
    const messages = this.messagesAt(length)
    if (this.#request?.messages === messages && this.#requestHeader === header) return this.#request
    const request = buildRequest(header, messages)
    if (length === this.length) [this.#request, this.#requestHeader] = [request, header]
    return request
  }

  /** The seq of the last event of a landmark type below `before`; reads nothing, O(log n). */
  lastSeqOf(type: LandmarkType, before = this.length): number | undefined {
    return this.#landmarks.lastSeqOf(type, before)
  }

  /** What every surface event and restore below `length` did, in log order, perhaps without its sources; reads nothing. Frozen. */
  markers(length = this.length): readonly SurfaceMarker[] {
    return Object.freeze(this.#landmarks.markersBelow(length))
  }

  /** Hears every event once it is in the log. Returns what takes the listener off. */
  on(listener: SessionListener): () => void {
    return this.#observers.add(listener)
  }

  /** A new session that shares the first `length` events. Costs the surface's nodes, not the log. */
  fork(options: { length?: number; id?: string } = {}): Session {
    const { length = this.length } = options
    this.#checkLength(length)
    const { cwd } = this.#header
    const parent = { id: this.id, length }
    const header = sealHeader(cwd === undefined ? { parent } : { cwd, parent }, options.id, this.#now)
    return new Session(header, new EventLog(this.#log.prefix(length)), this.#landmarks.upTo(length), {
      now: this.#now,
      acceptUnknown: [...this.#acceptUnknown],
    })
  }

  /** One way: from now on `append` throws `SESSION_READ_ONLY`, saying why. For stores that close. */
  makeReadOnly(reason: string): void {
    this.#readOnly ??= reason
  }

  // --- internal ---

  readonly #messageAt = (seq: number): Message => (this.#log.at(seq)!.data as { message: Message }).message

  readonly #toolCallIdAt = (seq: number): unknown => (this.#log.at(seq)!.data as { toolCallId?: unknown }).toolCallId

  #commit(event: SessionEvent, change: SurfaceChange | undefined): void {
    this.#log.push(event)
    this.#landmarks.note(event)
    if (change !== undefined) {
      this.#projection.follow(change, (event.data as { message?: Message }).message)
      applySurface(this.#surface, change)
    }
    this.#surface._lastProcessedSeq = event.seq
  }

  #admitSeed(seed: readonly SessionEvent[]): void {
    let seq = -1
    try {
      if (!Array.isArray(seed))
        throw new SessionError('SEED_INVALID', `expected an array of events, found ${describe(seed)}`)
      const { length } = seed
      for (seq = 0; seq < length; seq++) {
        const event = sealStored(seed[seq], seq, this.#acceptUnknown)
        this.#commit(event, planSurface(this.#surface, event, this.#toolCallIdAt))
      }
    } catch (error) {
      throw locate(error, seq < 0 ? 'seed' : `seed[${seq}]`)
    }
  }

  #checkLength(length: number): void {
    if (!Number.isInteger(length) || length < 0 || length > this.length) {
      throw new RangeError(`expected a length from 0 to ${this.length}, found ${describe(length)}`)
    }
  }
}

function buildRequest(header: RequestHeader, messages: Message[]): ModelRequest {
  const { model, settings, system, tools, rules } = header
  return Object.freeze({
    model,
    settings,
    ...(system !== undefined && { system }),
    ...(tools !== undefined && { tools }),
    ...(rules !== undefined && { rules }),
    messages,
  })
}

function clamp(index: number, length: number): number {
  return Math.min(Math.max(Math.trunc(index) || 0, 0), length)
}
