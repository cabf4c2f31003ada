import { PersistenceError } from '@palimpsest/session-persistence'
import type { Directory } from './directory.js'
import { closeFile } from './disk.js'
import { type HeldLock, takeLock } from './lock.js'
import { lockEpoch } from './paths.js'
import { type HeldFile, holdFile, takeAway } from './take-away.js'

/**
 * Removes all files of a session but its highest lock, side files included: removing means that its
 * bytes are gone. The log goes first, so a removal that is cut short leaves no half session.
 */
export async function removeSession(directory: Directory, id: string): Promise<void> {
  const { paths } = directory
  if (!(await directory.list()).of(id).includes(`${id}.jsonl`)) {
    throw new PersistenceError(
      'SESSION_NOT_FOUND',
      `there is no session "${id}" in this store; list() names what there is`,
    )
  }
  const lock = await takeLock(directory, id, { takeover: false, isNew: false })
  try {
    await removeFiles(lock, [paths.log(id)])
    const names = (await directory.list()).of(id).filter(name => lockEpoch(name) === undefined)
    await removeFiles(
      lock,
      names.map(name => paths.at(name)),
    )
  } finally {
    try {
      lock.note({ isReleased: true })
    } finally {
      lock.close()
    }
  }
}

// --- internal ---

async function removeFiles(lock: HeldLock, files: readonly string[]): Promise<void> {
  const { directory } = lock
  const held: HeldFile[] = []
  try {
    for (const path of files) {
      const file = holdFile(lock, path)
      if (file !== undefined) held.push(file)
    }
    // What was opened before this is the removed session's, and nothing else will be taken away.
    if (!lock.isCurrent() || !held.every(file => takeAway(lock, file))) throw overtaken(lock)
    await directory.sync()
  } finally {
    for (const { fd } of held) if (fd !== undefined) closeFile(directory.disk, fd)
  }
}

function overtaken({ id, epoch }: HeldLock): PersistenceError {
  return new PersistenceError(
    'SESSION_FENCED',
    `epoch ${epoch} of session "${id}" may not remove it: a later epoch has taken the session over; look what it holds now`,
  )
}
