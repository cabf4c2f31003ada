import { crc32 } from 'node:zlib'
import { type Damage, isDead, type Lease, ownerIn, PersistenceError, thisOwner } from '@palimpsest/session-persistence'
import type { Appended } from './append.js'
import type { Connection } from './connection.js'
import type { Handle } from './handle.js'
import { codedError } from './sqlite-error.js'

/** The right to write one session, as its row in `leases` has it. */
export class SqliteLease implements Lease {
  readonly damage: Damage[] = []
  /** The first seq of a hole: nothing may be written behind it. */
  holeAt: number | undefined
  last: Appended | undefined
  #failure: PersistenceError | undefined
  #released: Promise<void> | undefined

  constructor(
    readonly connection: Connection,
    readonly id: string,
    readonly epoch: number,
    readonly onRelease: (lease: SqliteLease) => void,
  ) {}

  /** Refuses a lease that was released, or failed. */
  assertUsable(): void {
    this.assertSound()
    if (this.#released !== undefined) throw this.fenced('it was released')
  }

  /** Refuses a lease that failed: it fails for ever, with the same error. */
  assertSound(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** After a failed write nobody can say what is in the file, so nothing more goes through this lease. */
  fail(error: PersistenceError): PersistenceError {
    this.#failure ??= error
    return this.#failure
  }

  fenced(reason = 'a later epoch has taken the session over'): PersistenceError {
    return new PersistenceError(
      'SESSION_FENCED',
      `epoch ${this.epoch} of session "${this.id}" may not write: ${reason}; open the session again`,
    )
  }

  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  // --- internal ---

  /** Behind the writes that were asked for earlier. */
  async #release(): Promise<void> {
    try {
      await this.connection.write(db => freeLease(db, this.id, this.epoch))
    } catch (error) {
      given.add(keyOf(this.connection.file, this.id, this.epoch))
      throw error instanceof PersistenceError ? error : codedError(`the lease of session "${this.id}"`, error)
    } finally {
      this.onRelease(this)
    }
  }
}

/**
 * Takes the next epoch. `SESSION_LOCKED` where somebody holds the session who is not certainly dead;
 * `takeover` passes that one too.
 */
export function takeLease(
  db: Handle,
  id: string,
  { takeover, isStored }: { takeover: boolean; isStored: boolean },
): number {
  const row = readLease(db, id)
  if (row !== undefined && !takeover && isHeld(db, id, row)) throw locked(id, row)
  const epoch = row?.isSound ? row.epoch + 1 : row === undefined && !isStored ? 1 : aboveAll(row?.epoch)
  writeLease(db, id, epoch, JSON.stringify(thisOwner()))
  return epoch
}

export function assertFree(db: Handle, id: string): void {
  const row = readLease(db, id)
  if (row !== undefined && isHeld(db, id, row)) throw locked(id, row)
}

// --- internal ---

interface LeaseRow {
  readonly epoch: number
  /** JSON text of an `Owner`; `null` once released. */
  readonly owner: string | null
  readonly isSound: boolean
}

function readLease(db: Handle, id: string): LeaseRow | undefined {
  const row = db
    .rows<[epoch: number, owner: string | null, crc: number]>('SELECT epoch, owner, crc FROM leases WHERE id = ?')
    .get(id)
  return row && { epoch: row[0], owner: row[1], isSound: crcOfLease(id, row[0], row[1]) === row[2] }
}

function writeLease(db: Handle, id: string, epoch: number, owner: string | null): void {
  db.run(
    'INSERT INTO leases (id, epoch, owner, crc) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, owner = excluded.owner, crc = excluded.crc',
    id,
    epoch,
    owner,
    crcOfLease(id, epoch, owner),
  )
}

function freeLease(db: Handle, id: string, epoch: number): void {
  db.run(
    'UPDATE leases SET owner = NULL, crc = ? WHERE id = ? AND epoch = ? AND owner IS NOT NULL',
    crcOfLease(id, epoch, null),
    id,
    epoch,
  )
}

/**
 * Leases that this process gave up although the database, full or busy, could not be told. To others they are
 * held until this process acquires the session again, or ends.
 */
const given = new Set<string>()

function keyOf(file: string, id: string, epoch: number): string {
  return `${epoch} ${id} ${file}`
}

function isHeld(db: Handle, id: string, { epoch, owner, isSound }: LeaseRow): boolean {
  if (!isSound) return true
  if (owner === null) return false
  const isOurs = owner === JSON.stringify(thisOwner())
  if (isOurs && given.has(keyOf(db.db.name, id, epoch))) return false
  const holder = ownerIn(owner)
  return holder === undefined || !isDead(holder)
}

/** Of a row that is gone or fails its checksum nobody knows the epoch. The clock is above any that was ever counted. */
function aboveAll(epoch = 0): number {
  return Math.max(Date.now(), Number.isSafeInteger(epoch + 1) ? epoch + 1 : 0)
}

function locked(id: string, { epoch, owner, isSound }: LeaseRow): PersistenceError {
  const parsed = isSound && owner !== null ? ownerIn(owner) : undefined
  const holder = parsed === undefined ? 'somebody unknown' : `process ${parsed.pid} on ${parsed.host}`
  return new PersistenceError(
    'SESSION_LOCKED',
    `session "${id}" is held by ${holder} (epoch ${epoch}); close it there, or take it over`,
  )
}

function crcOfLease(id: string, epoch: number, owner: string | null): number {
  return crc32(`${id} ${epoch} ${owner}`)
}
