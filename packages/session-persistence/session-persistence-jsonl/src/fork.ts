import type { SessionHeader } from '@palimpsest/session'
import { assertHeaderId, PersistenceError } from '@palimpsest/session-persistence'
import { reopenLog } from './acquire.js'
import { copyBytes } from './aside.js'
import { type Chain, mismatch, openChain, openOwnLog } from './chain.js'
import { createLog } from './create.js'
import {
  closeFile,
  createFile,
  discard,
  isErrno,
  O_APPEND,
  O_RDONLY,
  syncData,
  unlinkIfThere,
  writeAll,
} from './disk.js'
import type { JsonlLease } from './lease.js'
import { highestLock } from './lock.js'
import type { LogFile } from './log-file.js'
import type { Segment } from './segment.js'

/** Makes the session of `lease` share the first `length` events of `header.parent.id`: its file under another name, not its bytes. */
export async function forkLog(lease: JsonlLease, header: SessionHeader, length: number): Promise<void> {
  const { id } = lease.lock
  assertHeaderId(header, id)
  if (lease.chain !== undefined) {
    throw new PersistenceError('SESSION_EXISTS', `session "${id}" is already stored; fork into another id`)
  }
  const parentId = header.parent?.id ?? ''
  const parent = await openParent(lease, parentId)
  try {
    const available = parent.soundLength
    if (length > available) {
      throw new RangeError(
        `length: expected at most ${available}, the sound stored events of "${parentId}", found ${length}`,
      )
    }
    const crc = length === 0 ? undefined : parent.crcOf(length - 1)
    if (crc !== undefined && header.parent?.crc !== undefined && header.parent.crc !== crc)
      throw mismatch(header, `crc ${crc} on event ${length - 1}`)
    if (crc !== undefined) await placeBases(lease, parent)
    await createLog(lease, { ...header, parent: { id: parentId, length, ...(crc !== undefined && { crc }) } }, [])
  } finally {
    parent.close()
  }
  await reopenLog(lease)
}

// --- internal ---

/** No links at all, none across here, or no more of them. */
const NO_LINKS = ['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EACCES']

async function openParent({ lock: { directory } }: JsonlLease, id: string): Promise<Chain> {
  const own = openOwnLog(directory.disk, directory.paths, id, O_RDONLY)
  if (own === undefined) {
    throw new PersistenceError(
      'SESSION_NOT_FOUND',
      `there is no session "${id}" in this store; list() names what there is`,
    )
  }
  return openChain(directory.paths, own)
}

/** The parent's file, then the files below it, one name each; durable before the child has a log. */
async function placeBases(lease: JsonlLease, parent: Chain): Promise<void> {
  const { directory, id } = lease.lock
  const { disk, paths } = directory
  const files = parent.segments.toReversed()
  for (const [i, segment] of files.entries()) {
    const path = paths.base(id, i + 1)
    lease.assertCurrent()
    for (const stale of [path, `${path}.index`]) unlinkIfThere(disk, stale)
    const { end } = segment.current
    if (i > 0 || (await isTrusted(lease, parent.header.id, segment, end))) await share(lease, segment.file, path, end)
    else await copy(lease, segment.file, path, end)
    shareIndex(lease, segment, `${path}.index`)
  }
  await directory.sync()
}

/** Syncs the shared part. What a failed sync has left in memory only looks as if it were on the disk. */
async function isTrusted(lease: JsonlLease, parentId: string, { file }: Segment, end: number): Promise<boolean> {
  await syncData(file.disk, file.fd)
  const lock = await highestLock(lease.lock.directory, parentId)
  return end <= (lock?.state.unsynced ?? Number.POSITIVE_INFINITY)
}

async function share(lease: JsonlLease, file: LogFile, path: string, end: number): Promise<void> {
  const { disk } = lease.lock.directory
  try {
    disk.linkSync(file.path, path)
  } catch (error) {
    if (!isErrno(error, ...NO_LINKS)) throw error
    return copy(lease, file, path, end)
  }
  // A takeover or a removal may have put another file behind the name since it was opened.
  if (disk.statSync(path).ino === disk.fstatSync(file.fd).ino) return
  disk.unlinkSync(path)
  await copy(lease, file, path, end)
}

async function copy(lease: JsonlLease, file: LogFile, path: string, end: number): Promise<void> {
  const { directory, id, epoch } = lease.lock
  const { disk, paths } = directory
  const temporary = paths.temporary(id, epoch)
  const fd = createFile(disk, temporary, O_APPEND)
  try {
    copyBytes(file.read, 0, end, bytes => writeAll(disk, fd, bytes))
    await syncData(disk, fd)
    disk.renameSync(temporary, path)
  } catch (error) {
    discard(disk, temporary)
    throw error
  } finally {
    closeFile(disk, fd)
  }
}

/** Only a cache: without it the base is scanned. */
function shareIndex(lease: JsonlLease, { file, isIndexed }: Segment, path: string): void {
  if (!isIndexed) return
  try {
    lease.lock.directory.disk.linkSync(file.indexPath, path)
  } catch {}
}
