import type { Directory } from './directory.js'
import { NO_THROW } from './disk.js'
import { highestLock, isFree } from './lock.js'
import { type Lock, readLock } from './lock-file.js'

/** What a reader sees of the session's highest lock. */
export interface Look {
  /** 0 where there is no lock. */
  readonly epoch: number
  /** From this byte on the log is not to be trusted yet. */
  readonly limit: number
  /** Nobody can be writing. */
  readonly isFree: boolean
}

/**
 * Looks again, cheaply while the lock of `last` still is the highest. The next one is looked for first:
 * locks go in ascending order, so if it has come and gone, then this one went before it.
 */
export async function lookAgain(directory: Directory, id: string, last: Look | undefined): Promise<Look> {
  const { disk, paths } = directory
  const epoch = last?.epoch ?? 0
  const isHighest = epoch > 0 && disk.statSync(paths.lock(id, epoch + 1), NO_THROW) === undefined
  const same = isHighest ? readLock(disk, paths.lock(id, epoch)) : undefined
  if (same !== undefined) return lookAt(epoch, same)
  const lock = await highestLock(directory, id)
  return lock === undefined ? UNLOCKED : lookAt(lock.epoch, lock)
}

// --- internal ---

const UNLOCKED: Look = { epoch: 0, limit: Number.POSITIVE_INFINITY, isFree: true }

/**
 * Where a sync has failed, or a takeover has not put its copy in place yet, `unsynced` says from where on
 * the log is in doubt. If nobody can be at work on it, the next owner will copy what reads show.
 */
function lookAt(epoch: number, lock: Lock): Look {
  const { unsynced = Number.POSITIVE_INFINITY } = lock.state
  return {
    epoch,
    get isFree() {
      return isFree(lock)
    },
    get limit() {
      return unsynced === Number.POSITIVE_INFINITY || isFree(lock) ? Number.POSITIVE_INFINITY : unsynced
    },
  }
}
