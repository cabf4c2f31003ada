import { resolve } from 'node:path'
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
import { appendBatch, assertWritable, planBatch } from './append.js'
import { bytesOf } from './bytes.js'
import { Connection } from './connection.js'
import { followLog } from './follow.js'
import { forkLog } from './fork.js'
import type { Handle } from './handle.js'
import { lastTurnOf } from './last-turn.js'
import { SqliteLease } from './lease.js'
import { openLog } from './open.js'
import { readLog } from './read.js'
import { removeSession } from './remove.js'
import { scanWhole } from './scan-whole.js'
import { allSessions } from './session-row.js'
import { codedError } from './sqlite-error.js'
import { summaryOf } from './summary.js'

export interface SqliteBackendOptions {
  /** The database; made with its folder when missing, for its owner only. */
  file: string
  /** How long an operation is tried while other processes hold the lock, in milliseconds. Default 5000. */
  busyMs?: number
}

/**
 * The dense store: every session in one SQLite database, the chunks of closed turns packed, equal large
 * texts kept once. `docs/format.md` has the tables. Throws `DATABASE_FOREIGN`, `SCHEMA_VERSION_UNSUPPORTED` or
 * `WRITE_FAILED`; where another process makes or recovers the database, the first piece of work tells.
 */
export function createSqliteBackend({ file, busyMs = 5000 }: SqliteBackendOptions): SessionBackend {
  if (!(busyMs >= 0)) throw new RangeError(`busyMs: expected milliseconds from 0 on, found ${busyMs}`)
  return new SqliteBackend(Connection.openNow(resolve(file), busyMs))
}

// --- internal ---

class SqliteBackend implements SessionBackend {
  readonly supports = { lazyEvents: true }
  readonly #connection: Connection
  readonly #leases = new Set<SqliteLease>()
  readonly #followers = new Set<Follower>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  async acquire(id: string, options: { takeover?: boolean } = {}): Promise<Lease> {
    assertSessionId(id)
    const onRelease = (lease: SqliteLease) => this.#leases.delete(lease)
    const lease = await coded(id, () => acquireLease(this.#connection, id, options.takeover ?? false, onRelease))
    this.#leases.add(lease)
    return lease
  }

  async append(lease: Lease, header: SessionHeader, events: readonly SessionEvent[]): Promise<void> {
    const own = this.#own(lease)
    assertWritable(own, header)
    const batch = planBatch(header, events)
    own.last = await this.#write(own, db => appendBatch(db, own, batch))
  }

  async read(id: string, range: { from?: number; to?: number } = {}): Promise<StoredLog | undefined> {
    assertSessionId(id)
    return coded(id, () => readLog(this.#connection, id, range))
  }

  async fork(lease: Lease, header: SessionHeader, length: number): Promise<void> {
    const own = this.#own(lease)
    assertWritable(own, header)
    await this.#write(own, db => forkLog(db, own, header, length))
  }

  async *list(options: { turns?: boolean } = {}): AsyncIterable<SessionSummary> {
    const summaries = await coded('', () =>
      this.#connection.read(db =>
        allSessions(db).map(row => {
          const lastTurn = options.turns && typeof row !== 'string' ? lastTurnOf(db, row) : undefined
          return { ...summaryOf(row), ...(lastTurn !== undefined && { lastTurn }) }
        }),
      ),
    )
    yield* summaries
  }

  async remove(id: string): Promise<void> {
    assertSessionId(id)
    return coded(id, () => this.#connection.write(db => removeSession(db, id)))
  }

  async follow(id: string, from: number): Promise<Follower | undefined> {
    assertSessionId(id)
    const onClose = (closed: Follower) => this.#followers.delete(closed)
    const follower = await coded(id, () => followLog(this.#connection, id, from, onClose))
    if (follower !== undefined) this.#followers.add(follower)
    return follower
  }

  async bytesOf(id: string): Promise<BytePart[] | undefined> {
    assertSessionId(id)
    return coded(id, () => this.#connection.read(db => bytesOf(db, id)))
  }

  async close(): Promise<void> {
    for (const follower of this.#followers) follower.close()
    const released = await Promise.allSettled([...this.#leases].map(lease => lease.release()))
    this.#connection.close()
    const failed = released.find(result => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async open(lease: Lease): Promise<LazyLog | undefined> {
    const own = this.#own(lease)
    own.assertUsable()
    return coded(own.id, () => openLog(own))
  }

  async look(id: string): Promise<LazyLog | undefined> {
    assertSessionId(id)
    return coded(id, () => openLog({ connection: this.#connection, id }))
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
    return coded(id, () => scanWhole(this.#connection, id, handOn)).catch(error => {
      throw own === undefined ? error : own.error
    })
  }

  #own(lease: Lease): SqliteLease {
    if (lease instanceof SqliteLease && lease.connection === this.#connection) return lease
    throw new PersistenceError(
      'SESSION_FENCED',
      `the lease of session "${lease.id}" is not one of this store; acquire it here`,
    )
  }

  /** A raw error of SQLite ends the lease: nobody knows how far the work got. */
  async #write<T>(own: SqliteLease, work: (db: Handle) => T): Promise<T> {
    own.assertUsable()
    try {
      return await this.#connection.write(db => {
        own.assertSound()
        return work(db)
      })
    } catch (error) {
      if (isOurs(error)) throw error
      throw own.fail(codedError(`session "${own.id}"`, error))
    }
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
    throw codedError(id === '' ? 'the listing' : `session "${id}"`, error)
  }
}
