import { type Damage, type Lease, PersistenceError } from '@palimpsest/session-persistence'
import type { Chain } from './chain.js'
import { writeCheckpoint } from './checkpoint.js'
import type { HeldLock } from './lock.js'
import { writeFailed } from './write-failed.js'

/** The right to write one session, and the files it is written through. One operation at a time. */
export class JsonlLease implements Lease {
  readonly damage: Damage[] = []
  /** The log, once there is one. */
  chain: Chain | undefined
  /** A header that says nothing: creating the session puts it aside. */
  headerDamage: Damage | undefined
  #failure: PersistenceError | undefined
  #isReleased = false
  #released: Promise<void> | undefined
  #last: Promise<unknown> = Promise.resolve()
  readonly #onRelease: (lease: JsonlLease) => void

  constructor(
    readonly lock: HeldLock,
    onRelease: (lease: JsonlLease) => void,
  ) {
    this.#onRelease = onRelease
  }

  get id(): string {
    return this.lock.id
  }

  get epoch(): number {
    return this.lock.epoch
  }

  /** Runs `work` behind what was asked for earlier. A lease that failed fails for ever, with the same error. */
  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isReleased) return Promise.reject(this.fenced('it was released'))
    const done = this.#last.then(() => {
      if (this.#failure !== undefined) throw this.#failure
      return work()
    })
    this.#last = done.catch(ignore)
    return done
  }

  /** After a failed write nobody can say what is in the file, so nothing more goes through this lease. */
  fail(error: PersistenceError): PersistenceError {
    this.#failure ??= error
    return this.#failure
  }

  /** What an operation that found the lease lost rejects with. */
  fenced(reason = 'a later epoch has taken the session over'): PersistenceError {
    return new PersistenceError(
      'SESSION_FENCED',
      `epoch ${this.epoch} of session "${this.id}" may not write: ${reason}; open the session again`,
    )
  }

  /** Refuses to go on under a higher epoch. Called after every write, before it is acknowledged. */
  assertCurrent(): void {
    if (!this.lock.isCurrent()) throw this.fail(this.fenced())
  }

  /** Tells the next owner that the log from `offset` on may be on no disk. */
  noteUnsynced(offset: number): void {
    const { unsynced = offset } = this.lock.state
    const state = { ...this.lock.state, unsynced: Math.min(offset, unsynced) }
    try {
      this.lock.note(state)
    } catch {
      // The release says it once more. Where that fails too the lock stays held, until its process ends or a takeover.
      this.lock.state = state
    }
  }

  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  // --- internal ---

  async #release(): Promise<void> {
    this.#isReleased = true
    await this.#last
    this.#onRelease(this)
    try {
      if (this.#failure === undefined && this.chain !== undefined) writeCheckpoint(this.lock.directory, this.chain.own)
      this.lock.note({ ...this.lock.state, isReleased: true })
    } catch (cause) {
      throw writeFailed(this.id, cause)
    } finally {
      this.chain?.close()
      this.lock.close()
    }
  }
}

// --- internal ---

const ignore = (): void => {}
