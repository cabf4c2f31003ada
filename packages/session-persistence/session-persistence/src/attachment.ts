import type { Session } from '@palimpsest/session'
import type { Lease, SessionBackend } from './port.js'

export interface WriteBehindOptions {
  /** How long an event may wait for its batch, in milliseconds; `Infinity`: until a flush or a full batch. */
  maxDelayMs?: number
  /** How many waiting events make a batch go out at once; no batch is larger. */
  maxBatch?: number
}

/** Throws a `RangeError` for options that could never be kept. */
export function assertWriteBehind({ maxDelayMs = MAX_DELAY_MS, maxBatch = MAX_BATCH }: WriteBehindOptions): void {
  if (!(maxDelayMs >= 0)) throw new RangeError(`maxDelayMs: expected milliseconds from 0 on, found ${maxDelayMs}`)
  if (!(maxBatch >= 1)) throw new RangeError(`maxBatch: expected a count from 1 on, found ${maxBatch}`)
}

/**
 * Writes what a session appends behind its back, one batch at a time, through the lease it owns from
 * now on. The session's own log is the queue: `#durable` says how far it is stored.
 *
 * The first write that fails poisons the attachment: nothing is written any more, `flush` and `close`
 * reject with that very error, and the session goes on in memory.
 */
export class Attachment {
  readonly #session: Session
  readonly #backend: SessionBackend
  readonly #lease: Lease
  readonly #maxDelayMs: number
  readonly #maxBatch: number
  readonly #detach: () => void
  #durable: number
  #writing: Promise<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #poison: { readonly cause: unknown } | undefined
  #closing: Promise<void> | undefined

  /** Everything in the session so far is taken to be durable. */
  constructor(session: Session, backend: SessionBackend, lease: Lease, options: WriteBehindOptions = {}) {
    this.#session = session
    this.#backend = backend
    this.#lease = lease
    this.#maxDelayMs = options.maxDelayMs ?? MAX_DELAY_MS
    this.#maxBatch = Math.floor(options.maxBatch ?? MAX_BATCH)
    this.#durable = session.length
    this.#detach = session.on(() => this.#appended())
  }

  /** Resolves when everything appended before the call is durable. */
  flush(): Promise<void> {
    if (this.#poison !== undefined) return Promise.reject(this.#poison.cause)
    const pending = this.#session.length - this.#durable
    if (pending === 0) return DURABLE
    // One batch takes all of it: its own promise is the answer.
    if (this.#writing === undefined && pending <= this.#maxBatch) return this.#write()
    return this.#flushTo(this.#session.length)
  }

  /** Closes the session for appending, flushes, and frees the lease even if the flush fails. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  // --- internal ---

  #appended(): void {
    if (this.#session.length - this.#durable >= this.#maxBatch && this.#writing === undefined) this.#writeBehind()
    else if (this.#timer === undefined) this.#startTimer()
  }

  /**
   * A flush leaves the timer running: clearing and starting one for each event costs more than an early
   * batch. It keeps the process alive, so that one which just ends has still written what it appended.
   */
  #startTimer(): void {
    if (this.#maxDelayMs > LONGEST_TIMER_MS) return
    this.#timer = setTimeout(this.#timeout, this.#maxDelayMs)
  }

  readonly #timeout = (): void => {
    this.#timer = undefined
    if (this.#writing === undefined && this.#session.length > this.#durable) this.#writeBehind()
  }

  /** Nobody waits for this write, so nobody hears it fail: the next flush does. */
  #writeBehind(): void {
    this.#write().catch(ignore)
  }

  /** Starts the next batch; only while none is in flight and nothing has failed. */
  #write(): Promise<void> {
    this.#writing = this.#writeBatch()
    return this.#writing
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#session.slice(this.#durable, this.#durable + this.#maxBatch)
    try {
      await this.#backend.append(this.#lease, this.#session.header, batch)
    } catch (cause) {
      this.#poison = { cause }
      this.#stop()
      throw cause
    }
    this.#durable += batch.length
    this.#writing = undefined
    this.#goOn()
  }

  /** What came meanwhile and is due: a full batch, or events whose timer ran out during the write. */
  #goOn(): void {
    const pending = this.#session.length - this.#durable
    const isDue = this.#timer === undefined && this.#maxDelayMs <= LONGEST_TIMER_MS
    if (pending >= this.#maxBatch || (pending > 0 && isDue)) this.#writeBehind()
  }

  async #flushTo(length: number): Promise<void> {
    while (this.#durable < length) {
      if (this.#poison !== undefined) throw this.#poison.cause
      await (this.#writing ?? this.#write())
    }
  }

  async #close(): Promise<void> {
    this.#session.makeReadOnly(`session "${this.#session.id}" is closed; open it again to append`)
    this.#stop()
    try {
      await this.flush()
    } catch (cause) {
      await this.#lease.release().catch(ignore)
      throw cause
    }
    await this.#lease.release()
  }

  #stop(): void {
    this.#detach()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

const MAX_DELAY_MS = 50
const MAX_BATCH = 512
/** What a timer can hold; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
const DURABLE = Promise.resolve()
const ignore = (): void => {}
