import { SessionError, type SessionEvent, type SessionHeader } from '@palimpsest/session'
import {
  assertSessionId,
  type BytePart,
  type Follower,
  type LazyLog,
  type Lease,
  PersistenceError,
  type ScannedLog,
  type SessionBackend,
  type SessionSummary,
  type StoredLog,
} from '@palimpsest/session-persistence'
import { acquireLease } from './acquire.js'
import { appendEvents } from './append.js'
import { bytesOf } from './bytes.js'
import { Directory } from './directory.js'
import { type Disk, nodeDisk } from './disk.js'
import { followLog } from './follow.js'
import { forkLog } from './fork.js'
import { lookLazily, openLazily } from './lazy-log.js'
import { JsonlLease } from './lease.js'
import { idOf } from './paths.js'
import { readLog } from './read.js'
import { removeSession } from './remove.js'
import { scanLog } from './scan-log.js'
import { summarize } from './summary.js'
import { fileSystemFailed, writeFailed } from './write-failed.js'

export interface JsonlBackendOptions {
  /** Where the sessions' files are; made when missing, for its owner only. */
  directory: string
  /** @internal The file system, for tests that make it fail. */
  fs?: Disk
}

/** The transparent store: one file a session, one JSON record a line, a checksum on every line. `docs/format.md` has the format. */
export function createJsonlBackend({ directory, fs = nodeDisk }: JsonlBackendOptions): SessionBackend {
  const place = new Directory(fs, directory)
  try {
    place.make()
  } catch (cause) {
    throw fileSystemFailed(`the store ${directory}`, cause)
  }
  return new JsonlBackend(place)
}

// --- internal ---

class JsonlBackend implements SessionBackend {
  readonly supports = { lazyEvents: true }
  readonly #directory: Directory
  readonly #leases = new Set<JsonlLease>()

  constructor(directory: Directory) {
    this.#directory = directory
  }

  async acquire(id: string, options: { takeover?: boolean } = {}): Promise<Lease> {
    assertSessionId(id)
    const onRelease = (lease: JsonlLease) => this.#leases.delete(lease)
    const lease = await coded(id, () => acquireLease(this.#directory, id, options.takeover ?? false, onRelease))
    this.#leases.add(lease)
    return lease
  }

  async append(lease: Lease, header: SessionHeader, events: readonly SessionEvent[]): Promise<void> {
    return this.#write(lease, own => appendEvents(own, header, events))
  }

  async read(id: string, range: { from?: number; to?: number } = {}): Promise<StoredLog | undefined> {
    assertSessionId(id)
    return coded(id, () => readLog(this.#directory, id, range))
  }

  async fork(lease: Lease, header: SessionHeader, length: number): Promise<void> {
    return this.#write(lease, own => forkLog(own, header, length))
  }

  async *list(options: { turns?: boolean } = {}): AsyncIterable<SessionSummary> {
    const listing = await this.#directory.list().catch((cause: unknown) => {
      throw fileSystemFailed(`the store ${this.#directory.path}`, cause)
    })
    for (const name of listing.names) {
      const id = idOf(name)
      if (name !== `${id}.jsonl` || !isSessionId(id)) continue
      const summary = summarize(this.#directory, id, listing, options.turns)
      if (summary !== undefined) yield summary
    }
  }

  async remove(id: string): Promise<void> {
    assertSessionId(id)
    return coded(id, () => removeSession(this.#directory, id))
  }

  async close(): Promise<void> {
    const released = await Promise.allSettled([...this.#leases].map(lease => lease.release()))
    const failed = released.find(result => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async follow(id: string, from: number): Promise<Follower | undefined> {
    assertSessionId(id)
    const follower = await coded(id, () => followLog(this.#directory, id, from))
    if (follower === undefined) return undefined
    return {
      next: () => coded(id, () => follower.next()),
      changed: signal => follower.changed(signal),
      close: () => follower.close(),
    }
  }

  async open(lease: Lease): Promise<LazyLog | undefined> {
    const own = this.#own(lease)
    return own.run(() => coded(own.id, () => openLazily(own)))
  }

  async look(id: string): Promise<LazyLog | undefined> {
    assertSessionId(id)
    return coded(id, () => lookLazily(this.#directory, id))
  }

  async scan(id: string, onEvents: (events: SessionEvent[]) => void | Promise<void>): Promise<ScannedLog | undefined> {
    assertSessionId(id)
    let own: { error: unknown } | undefined
    const handOn = async (events: SessionEvent[]) => {
      try {
        await onEvents(events)
      } catch (error) {
        own = { error }
        throw error
      }
    }
    return coded(id, () => scanLog(this.#directory, id, handOn)).catch(error => {
      throw own === undefined ? error : own.error
    })
  }

  async bytesOf(id: string): Promise<BytePart[] | undefined> {
    assertSessionId(id)
    return coded(id, () => bytesOf(this.#directory, id))
  }

  #own(lease: Lease): JsonlLease {
    if (lease instanceof JsonlLease && lease.lock.directory === this.#directory) return lease
    throw new PersistenceError(
      'SESSION_FENCED',
      `the lease of session "${lease.id}" is not one of this store; acquire it here`,
    )
  }

  /** A raw error of the file system ends the lease: nobody knows how far the work got. */
  #write(lease: Lease, work: (own: JsonlLease) => Promise<void>): Promise<void> {
    const own = this.#own(lease)
    return own.run(async () => {
      try {
        await work(own)
      } catch (error) {
        if (isOurs(error)) throw error
        throw own.fail(writeFailed(own.id, error))
      }
    })
  }
}

function isOurs(error: unknown): boolean {
  return error instanceof PersistenceError || error instanceof SessionError || error instanceof RangeError
}

async function coded<T>(id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isOurs(error)) throw error
    throw writeFailed(id, error)
  }
}

function isSessionId(id: string): boolean {
  try {
    assertSessionId(id)
    return true
  } catch {
    return false
  }
}
