import { setTimeout as pause } from 'node:timers/promises'
import { type Handle, openHandle } from './handle.js'
import { isBusy, storeBusy } from './sqlite-error.js'

/**
 * The one connection of a backend. Every piece of work runs synchronously in one transaction; while
 * another process is in the way it is tried again, with pauses in which the event loop goes on.
 */
export class Connection {
  #handle: Handle | undefined
  /** Writers wait in one line, so that only the first of them blocks the loop while the database is busy. */
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  private constructor(
    readonly file: string,
    readonly busyMs: number,
    handle?: Handle,
  ) {
    this.#handle = handle
  }

  /** Waits for other processes that make or recover the database, at most `busyMs`, blocking: there is no store before. */
  static openNow(file: string, busyMs: number): Connection {
    return new Connection(file, busyMs, openHandle(file, busyMs))
  }

  /** Waits in the same way, while the event loop goes on. */
  static async open(file: string, busyMs: number): Promise<Connection> {
    const connection = new Connection(file, busyMs)
    await connection.#retry(performance.now() + busyMs, handle => {
      connection.#handle = handle
    })
    return connection
  }

  /**
   * In the order of the calls; at once where nothing is in the way. `work` must change nothing but the
   * database: it is run again where it met a lock.
   */
  async write<T>(work: (handle: Handle) => T): Promise<T> {
    const transaction = (handle: Handle) => handle.transaction(work)
    if (this.#waiting > 0) return this.#queue(transaction)
    try {
      return this.use(transaction)
    } catch (error) {
      if (!isBusy(error)) throw error
      return this.#queue(transaction)
    }
  }

  read<T>(work: (handle: Handle) => T): Promise<T> {
    return this.#retry(performance.now() + this.busyMs, handle => handle.snapshot(work))
  }

  /** For callers that cannot wait; a lock in the way is their error. */
  readNow<T>(work: (handle: Handle) => T): T {
    return this.use(handle => handle.snapshot(work))
  }

  /** Without a transaction of its own. */
  use<T>(work: (handle: Handle) => T): T {
    if (this.#handle !== undefined) return work(this.#handle)
    const handle = openHandle(this.file, 0)
    try {
      return work(handle)
    } finally {
      if (this.#handle !== handle) handle.close()
    }
  }

  /** Checkpoints, and leaves no file open. What is asked for afterwards opens the database for just that. */
  close(): void {
    this.#handle?.close()
    this.#handle = undefined
  }

  // --- internal ---

  #queue<T>(work: (handle: Handle) => T): Promise<T> {
    const deadline = performance.now() + this.busyMs
    this.#waiting += 1
    const done = this.#last
      // Whatever was tried before this may have kept the loop for as long as it may be kept.
      .then(() => pause(SHORTEST_PAUSE_MS))
      .then(() => this.#retry(deadline, work))
      .finally(() => {
        this.#waiting -= 1
      })
    this.#last = done.catch(ignore)
    return done
  }

  async #retry<T>(deadline: number, work: (handle: Handle) => T): Promise<T> {
    for (;;) {
      try {
        return this.use(work)
      } catch (error) {
        if (!isBusy(error)) throw error
        if (performance.now() >= deadline) throw storeBusy(this.file, this.busyMs, error)
      }
      await pause(SHORTEST_PAUSE_MS + Math.random() * PAUSE_SPREAD_MS)
    }
  }
}

// --- internal ---

const SHORTEST_PAUSE_MS = 2
const PAUSE_SPREAD_MS = 18

const ignore = (): void => {}
