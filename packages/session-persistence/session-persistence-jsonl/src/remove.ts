import { PersistenceError } from '@palimpsest/session-persistence'
import type { Directory } from './directory.js'
import { unlinkIfThere } from './disk.js'
import { takeLock } from './lock.js'
import { lockEpoch } from './paths.js'

/**
 * Removes all files of a session but its highest lock, side files included: removing means that its
 * bytes are gone. The log goes first, so a removal that is cut short leaves no half session.
 */
export async function removeSession(directory: Directory, id: string): Promise<void> {
  const { disk, paths } = directory
  if (!(await directory.list()).of(id).includes(`${id}.jsonl`)) {
    throw new PersistenceError(
      'SESSION_NOT_FOUND',
      `there is no session "${id}" in this store; list() names what there is`,
    )
  }
  const lock = await takeLock(directory, id, { takeover: false, isNew: false })
  try {
    unlinkIfThere(disk, paths.log(id))
    await directory.sync()
    for (const name of (await directory.list()).of(id)) {
      if (lockEpoch(name) === undefined) unlinkIfThere(disk, paths.at(name))
    }
    await directory.sync()
  } finally {
    lock.note({ isReleased: true })
    lock.close()
  }
}
