import { isDead, PersistenceError, thisOwner } from '@palimpsest/session-persistence'
import type { Directory } from './directory.js'
import { closeFile, createFile, discard, isErrno, NO_THROW, unlinkIfThere, writeAll } from './disk.js'
import { encodeLock, encodeState, type Lock, type LockState, readLock } from './lock-file.js'
import { LAST_EPOCH, lockEpoch, temporaryEpoch } from './paths.js'

/** A lock that this process has made, and that nobody has overtaken unless `isCurrent` says so. */
export class HeldLock {
  /** Whether the owner before let go of it in order: what he had written was then synced. */
  wasReleased = true
  /** Whether the session may have had a log once the lock was there: an earlier owner may just be putting one in place. */
  hasLog = true
  readonly #path: string
  readonly #nextPath: string

  constructor(
    readonly directory: Directory,
    readonly id: string,
    readonly epoch: number,
    readonly fd: number,
    /** While `fd` is open its number is not given away. */
    readonly inode: number,
    readonly stateOffset: number,
    public state: LockState,
  ) {
    this.#path = directory.paths.lock(id, epoch)
    this.#nextPath = directory.paths.lock(id, epoch + 1)
  }

  /**
   * Whether this still is the highest epoch. The next lock is looked for first: locks go in ascending
   * order, so if the next one has come and gone, then this one went before it.
   */
  isCurrent(): boolean {
    const { disk } = this.directory
    // Not existsSync, which calls what it cannot look at absent.
    if (disk.statSync(this.#nextPath, NO_THROW) !== undefined) return false
    return disk.statSync(this.#path, NO_THROW)?.ino === this.inode
  }

  /** Rewrites the state in place. */
  note(state: LockState): void {
    const bytes = encodeState(state)
    const written = this.directory.disk.writeSync(this.fd, bytes, 0, bytes.length, this.stateOffset)
    if (written !== bytes.length)
      throw new Error(`expected to write ${bytes.length} bytes of lock state, wrote ${written}`)
    this.state = state
  }

  close(): void {
    closeFile(this.directory.disk, this.fd)
  }

  /** Takes back a lock that lost, so that it stands in nobody's way. */
  drop(): void {
    const { disk } = this.directory
    try {
      if (disk.statSync(this.#path, NO_THROW)?.ino === this.inode) unlinkIfThere(disk, this.#path)
    } catch {
      this.note({ ...this.state, isReleased: true })
    } finally {
      this.close()
    }
  }
}

export interface LockOptions {
  readonly takeover: boolean
  /** No log of this id was seen, so probably no lock either: one listing less. */
  readonly isNew: boolean
}

/**
 * Makes the next epoch's lock. `SESSION_LOCKED` where the highest is held by an owner that is not
 * certainly dead; `takeover` passes that one too, but not an owner who came in between.
 */
export async function takeLock(directory: Directory, id: string, options: LockOptions): Promise<HeldLock> {
  let { takeover } = options
  let names = options.isNew ? undefined : (await directory.list()).of(id)
  for (;;) {
    const highest = highestEpoch(names ?? [])
    const before = highest === 0 ? undefined : readLock(directory.disk, directory.paths.lock(id, highest))
    if (highest > 0 && before === undefined) {
      names = (await directory.list()).of(id)
      continue
    }
    if (before !== undefined && !takeover && !isFree(before)) throw locked(id, highest, before)
    if (highest >= LAST_EPOCH) throw usedUp(directory.paths.lock(id, highest))
    const lock = placeLock(directory, id, highest + 1, stateAfter(before))
    const seen = await listAndSync(directory, lock)
    if (lock !== undefined && highestEpoch(seen.of(id)) === lock.epoch) {
      lock.hasLog = seen.of(id).some(name => name.endsWith('.jsonl') || temporaryEpoch(name) !== undefined)
      lock.wasReleased = before?.state.isReleased ?? true
      return swept(lock, seen.of(id))
    }
    lock?.drop()
    // Somebody else was faster; he is not the owner whom the caller wanted to replace.
    if (names !== undefined) takeover = false
    names = seen.of(id)
  }
}

/** The session's highest lock, for who only looks. */
export async function highestLock(directory: Directory, id: string): Promise<(Lock & { epoch: number }) | undefined> {
  for (;;) {
    const highest = highestEpoch((await directory.list()).of(id))
    if (highest === 0) return undefined
    const lock = readLock(directory.disk, directory.paths.lock(id, highest))
    if (lock !== undefined) return { ...lock, epoch: highest }
  }
}

/** Whether the lock stops nobody: it was released, or its owner is certainly dead. */
export function isFree({ owner, state }: Lock): boolean {
  return state.isReleased || (owner !== undefined && isDead(owner))
}

export function highestEpoch(names: readonly string[]): number {
  return names.reduce((highest, name) => Math.max(highest, lockEpoch(name) ?? 0), 0)
}

// --- internal ---

/** What the log's next owner owes it: a rewrite, until it is done, passes from lock to lock. */
function stateAfter(before: Lock | undefined): LockState {
  if (before === undefined) return { isReleased: false }
  const { unsynced } = before.state
  if (unsynced !== undefined) return { isReleased: false, unsynced }
  return isFree(before) ? { isReleased: false } : { isReleased: false, unsynced: 0 }
}

/** Written whole under another name, then linked: nobody sees half a lock. `undefined`: the epoch is taken. */
function placeLock(directory: Directory, id: string, epoch: number, state: LockState): HeldLock | undefined {
  const { disk, paths } = directory
  const { bytes, stateOffset } = encodeLock(thisOwner(), state)
  const temporary = paths.temporary(id, epoch)
  const fd = createFile(disk, temporary)
  try {
    writeAll(disk, fd, bytes)
    const lock = new HeldLock(directory, id, epoch, fd, disk.fstatSync(fd).ino, stateOffset, state)
    disk.linkSync(temporary, paths.lock(id, epoch))
    return lock
  } catch (error) {
    closeFile(disk, fd)
    // ENOENT: whoever got the epoch has swept our temporary away.
    if (isErrno(error, 'EEXIST', 'ENOENT')) return undefined
    throw error
  } finally {
    discard(disk, temporary)
  }
}

async function listAndSync(directory: Directory, lock: HeldLock | undefined) {
  const [listing, sync] = await Promise.allSettled([directory.list(), lock && directory.sync()])
  if (listing.status === 'fulfilled' && sync.status === 'fulfilled') return listing.value
  lock?.drop()
  throw listing.status === 'rejected' ? listing.reason : (sync as PromiseRejectedResult).reason
}

/**
 * Removes the temporaries of earlier owners, which stops those who still sleep over one: that must not
 * fail. Lower locks go in ascending order; the next owner removes what stays.
 */
function swept(lock: HeldLock, names: readonly string[]): HeldLock {
  const { directory, id, epoch } = lock
  const { disk, paths } = directory
  try {
    for (const name of names) if ((temporaryEpoch(name) ?? epoch + 1) <= epoch) unlinkIfThere(disk, paths.at(name))
  } catch (error) {
    lock.drop()
    throw error
  }
  const lower = names.map(name => lockEpoch(name) ?? epoch).filter(other => other < epoch)
  lower.sort((a, b) => a - b).every(other => discard(disk, paths.lock(id, other)))
  return lock
}

function usedUp(path: string): PersistenceError {
  return new PersistenceError(
    'SESSION_LOCKED',
    `${path} holds the last epoch that there is, which no use of the store reaches; remove that file if nobody works on the session`,
  )
}

function locked(id: string, epoch: number, { owner }: Lock): PersistenceError {
  const who = owner === undefined ? 'somebody whose lock cannot be read' : `process ${owner.pid} on host ${owner.host}`
  return new PersistenceError(
    'SESSION_LOCKED',
    `session "${id}" is held by ${who} (epoch ${epoch}); close it there, or take it over if that owner is gone or may be cut off`,
  )
}
