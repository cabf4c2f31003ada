import type { SessionEvent, SessionHeader } from '@palimpsest/session'
import { type Damage, PersistenceError } from '@palimpsest/session-persistence'
import { keepAside } from './aside.js'
import { encodeBatch } from './batch.js'
import { Chain, openOwnFile } from './chain.js'
import { closeFile, createFile, discard, isErrno, O_APPEND, O_RDONLY, writeAll } from './disk.js'
import type { JsonlLease } from './lease.js'
import { LogFile } from './log-file.js'
import { Segment } from './segment.js'
import { takeAway } from './take-away.js'

/**
 * Makes the log of a new session: header and first batch whole under another name, synced, and linked
 * into place. Who finds the name taken has lost: `SESSION_EXISTS`, or `SESSION_FENCED` under a later epoch.
 */
export async function createLog(
  lease: JsonlLease,
  header: SessionHeader,
  events: readonly SessionEvent[],
): Promise<void> {
  const { directory, id, epoch } = lease.lock
  const { disk, paths } = directory
  if (lease.headerDamage !== undefined) await moveAside(lease, lease.headerDamage)
  const { scratch } = directory
  const temporary = paths.temporary(id, epoch)
  const fd = createFile(disk, temporary, O_APPEND)
  try {
    // Checked once the temporary stands: who takes over after this removes it, so the link fails.
    lease.assertCurrent()
    scratch.reset()
    const crc = scratch.add(header)
    const end = scratch.length
    const records = encodeBatch(directory, end, events)
    writeAll(disk, fd, scratch.bytes)
    await directory.syncFile(fd)
    link(lease, temporary)
    const file = new LogFile(disk, paths.log(id), paths.index(id), fd)
    const line = { header, crc, end, isTerminated: true }
    lease.chain = new Chain([Segment.made(file, line, records)])
  } catch (error) {
    closeFile(disk, fd)
    throw error
  } finally {
    discard(disk, temporary)
  }
  await syncName(lease)
  lease.assertCurrent()
  // All of the log is new and synced, whatever was in doubt when the lock was taken over.
  if (lease.lock.state.unsynced !== undefined) lease.lock.note({ isReleased: false })
}

// --- internal ---

/** Keeps the bytes that never became a session. */
async function moveAside(lease: JsonlLease, damage: Damage): Promise<void> {
  const { directory, id } = lease.lock
  const { disk, paths } = directory
  const own = openOwnFile(disk, paths, id, O_RDONLY)
  if (own === undefined) return
  try {
    const { fd, path } = own.file
    damage.kept = await keepAside(directory, id, own.file.read, 0)
    lease.assertCurrent()
    if (!takeAway(lease.lock, { path, inode: disk.fstatSync(fd).ino })) throw lease.fail(lease.fenced())
  } finally {
    own.file.close()
  }
  lease.headerDamage = undefined
}

function link(lease: JsonlLease, temporary: string): void {
  const { directory, id } = lease.lock
  try {
    directory.disk.linkSync(temporary, directory.paths.log(id))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) throw lease.fail(lease.fenced())
    if (!isErrno(error, 'EEXIST')) throw error
    lease.assertCurrent()
    throw new PersistenceError('SESSION_EXISTS', `session "${id}" is already stored; open it, or choose another id`, {
      cause: error,
    })
  }
}

async function syncName(lease: JsonlLease): Promise<void> {
  try {
    await lease.lock.directory.sync()
  } catch (error) {
    lease.noteUnsynced(0)
    throw error
  }
}
