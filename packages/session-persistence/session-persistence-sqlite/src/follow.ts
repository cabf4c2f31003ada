import { setTimeout as pause } from 'node:timers/promises'
import { SessionError, type SessionEvent } from '@palimpsest/session'
import { type Follower, PersistenceError } from '@palimpsest/session-persistence'
import { notFound } from './chain.js'
import { Connection } from './connection.js'
import type { Handle } from './handle.js'
import { findLog } from './read.js'
import { scanLog } from './scan.js'
import { findSession } from './session-row.js'
import { codedError } from './sqlite-error.js'

/** `undefined` where there is no such session. */
export async function followLog(
  { file, busyMs }: Connection,
  id: string,
  from: number,
  onClose: (follower: Follower) => void,
): Promise<Follower | undefined> {
  // A connection of its own: SQLite tells each one what the others have changed, this process's too.
  const connection = await Connection.open(file, busyMs)
  try {
    const row = await connection.read(db => findSession(db, id))
    if (row !== undefined) return new SqliteFollower(connection, id, row.key, from, onClose)
  } catch (error) {
    connection.close()
    throw error
  }
  connection.close()
  return undefined
}

// --- internal ---

const POLL_MS = 50
/** So many events are handed out at once. */
const WINDOW = 5000

class SqliteFollower implements Follower {
  #seen: unknown
  #isClosed = false

  constructor(
    readonly connection: Connection,
    readonly id: string,
    readonly key: number,
    private seq: number,
    readonly onClose: (follower: Follower) => void,
  ) {}

  async next(): Promise<SessionEvent[]> {
    if (this.#isClosed) return []
    try {
      return await this.connection.read(db => this.#read(db))
    } catch (error) {
      if (error instanceof PersistenceError || error instanceof SessionError) throw error
      throw codedError(`session "${this.id}"`, error)
    }
  }

  async changed(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!this.#isClosed && this.#hasChanged()) return
      await pause(POLL_MS, undefined, { signal }).catch(() => {})
      if (this.#isClosed) return
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.connection.close()
    this.onClose(this)
  }

  // --- internal ---

  #read(db: Handle): SessionEvent[] {
    // Looked at first: what is committed while this reads is then seen as a change.
    this.#seen = versionOf(db)
    if (findSession(db, this.id)?.key !== this.key) throw notFound(this.id)
    const { chain, length } = findLog(db, this.id)!
    const to = Math.min(length, this.seq + WINDOW)
    const scan = scanLog(db, chain.parts, this.seq, to)
    const events = scan.events.slice(0, (scan.lostFrom ?? scan.end) - this.seq)
    if (events.length === 0 && this.seq < to) throw unreadable(this.id, this.seq)
    this.seq += events.length
    // More may be there already.
    if (this.seq < length) this.#seen = undefined
    return events
  }

  #hasChanged(): boolean {
    try {
      return this.connection.use(versionOf) !== this.#seen
    } catch {
      return true
    }
  }
}

function versionOf(db: Handle): unknown {
  return db.rows<[number]>('PRAGMA data_version').get()?.[0]
}

function unreadable(id: string, seq: number): SessionError {
  return new SessionError(
    'HISTORY_UNREADABLE',
    `event ${seq} of session "${id}" cannot be read from where it stands; check the session with doctor`,
  )
}
