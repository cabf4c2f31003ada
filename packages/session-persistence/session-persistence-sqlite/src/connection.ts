import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { type Handle, openHandle } from './handle.js'
import { isBusy, storeBusy } from './sqlite-error.js'

/**
 * The one connection of a backend. Every piece of work runs synchronously in one transaction; while
 * another process is in the way it is tried again, with pauses in which the event loop goes on.
 */
export class Connection {
  #handle: Handle | undefined
  #isClosed = false
  /** Writers wait in one line, so that only the first of them blocks the loop while the database is busy. */
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  /** What the next transaction will hold. */
  #group: Write[] = []

  private constructor(
    readonly file: string,
    readonly busyMs: number,
  ) {}

  /** Where others are making or recovering the database it is opened by the first piece of work that finds it free. */
  static openNow(file: string, busyMs: number): Connection {
    const connection = new Connection(file, busyMs)
    try {
      connection.#handle = openHandle(file)
    } catch (error) {
      if (!isBusy(error)) throw error
    }
    return connection
  }

  /** Waits in the same way, while the event loop goes on. */
  static async open(file: string, busyMs: number): Promise<Connection> {
    const connection = new Connection(file, busyMs)
    await connection.#retry(performance.now() + busyMs, () => {
      connection.#handle = openHandle(file)
    })
    return connection
  }

  /**
   * In the order of the calls. What is asked for before this turn of the microtasks ends goes into one
   * transaction, so that sessions which flush together share a commit. `work` must change nothing but the
   * database: it is run again where it met a lock, and by itself where another one beside it was refused.
   */
  write<T>(work: (handle: Handle) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#group.length === 0) SETTLED.then(this.#writeGroup)
      this.#group.push({ work, resolve: resolve as (result: unknown) => void, reject })
      if (this.#group.length === LARGEST_GROUP) this.#writeGroup()
    })
  }

  read<T>(work: (handle: Handle) => T): Promise<T> {
    return this.#retry(performance.now() + this.busyMs, () => this.use(handle => handle.snapshot(work)))
  }

  /** For callers that cannot wait; a lock in the way is their error. */
  readNow<T>(work: (handle: Handle) => T): T {
    return this.use(handle => handle.snapshot(work))
  }

  /** Without a transaction of its own. */
  use<T>(work: (handle: Handle) => T): T {
    if (this.#handle !== undefined) return work(this.#handle)
    const handle = openHandle(this.file)
    if (!this.#isClosed) this.#handle = handle
    try {
      return work(handle)
    } finally {
      if (this.#handle !== handle) handle.close()
    }
  }

  /** Checkpoints, and leaves no file open. What is asked for afterwards opens the database for just that. */
  close(): void {
    this.#isClosed = true
    this.#handle?.close()
    this.#handle = undefined
  }

  // --- internal ---

  readonly #writeGroup = (): void => {
    const writes = this.#group
    if (writes.length === 0) return
    this.#group = []
    try {
      if (this.#waiting === 0) this.#settle(writes)
    } catch (error) {
      if (!isBusy(error)) throw error
    }
    if (writes.length > 0) this.#queue(writes)
  }

  /** Takes out of `writes` what came to an end, good or bad; throws where a lock is in the way of the rest. */
  #settle(writes: Write[]): void {
    let isRefused = false
    const work = (handle: Handle) =>
      writes.map(write => {
        isRefused = true
        const result = write.work(handle)
        isRefused = false
        return result
      })
    try {
      const results = this.use(handle => handle.transaction(work))
      for (let i = 0; i < results.length; i++) writes[i]!.resolve(results[i])
      writes.length = 0
    } catch (error) {
      if (isBusy(error)) throw error
      if (isRefused && writes.length > 1) this.#settleEach(writes)
      else for (const write of writes.splice(0)) write.reject(error)
    }
  }

  /** What one of them was refused for, or failed of, is not the others' matter. */
  #settleEach(writes: Write[]): void {
    while (writes.length > 0) {
      const one = writes.slice(0, 1)
      this.#settle(one)
      writes.shift()
    }
  }

  #queue(writes: Write[]): void {
    const deadline = performance.now() + this.busyMs
    this.#waiting += 1
    this.#last = this.#last
      // Whatever was tried before this may have kept the loop for as long as it may be kept.
      .then(() => pause(SHORTEST_PAUSE_MS))
      .then(() => this.#retry(deadline, () => this.#settle(writes)))
      .catch(error => {
        for (const write of writes) write.reject(error)
      })
      .finally(() => {
        this.#waiting -= 1
      })
  }

  async #retry<T>(deadline: number, work: () => T): Promise<T> {
    for (;;) {
      try {
        return work()
      } catch (error) {
        if (!isBusy(error)) throw error
        if (performance.now() >= deadline) throw storeBusy(this.file, this.busyMs, error)
      }
      await pause(SHORTEST_PAUSE_MS + Math.random() * PAUSE_SPREAD_MS)
    }
  }
}

// --- internal ---

interface Write {
  readonly work: (handle: Handle) => unknown
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** More would keep others from the database for longer, and save no more. */
const LARGEST_GROUP = 64
/** A job of its own costs several times as much as waiting for a promise. */
const SETTLED = Promise.resolve()
const SHORTEST_PAUSE_MS = 2
const PAUSE_SPREAD_MS = 18
