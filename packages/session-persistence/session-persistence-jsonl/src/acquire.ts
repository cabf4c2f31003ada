import { copyBytes, keepAside } from './aside.js'
import { type Chain, openChain, openOwnFile, openOwnLog } from './chain.js'
import { isCheckpointDue, writeCheckpoint } from './checkpoint.js'
import type { Directory } from './directory.js'
import { closeFile, createFile, discard, isErrno, O_APPEND, O_RDWR, openFile, syncData, writeAll } from './disk.js'
import { JsonlLease } from './lease.js'
import { takeLock } from './lock.js'
import { assertHeaderLine, isHeaderDamage } from './log-file.js'
import type { Segment } from './segment.js'

/** Takes the lock, opens the log, cuts its torn tail, and rewrites it where its bytes cannot be trusted to be on the disk. */
export async function acquireLease(
  directory: Directory,
  id: string,
  takeover: boolean,
  onRelease: (lease: JsonlLease) => void,
): Promise<JsonlLease> {
  // A log of another version is refused before it gets a lock of ours.
  const isNew = !hasReadableLog(directory, id)
  const lease = new JsonlLease(await takeLock(directory, id, { takeover, isNew }), onRelease)
  try {
    await openLog(lease)
    return lease
  } catch (error) {
    await lease.release().catch(() => {})
    throw error
  }
}

/** Reads the log of a lease anew; `isWhole` looks at every byte and forgets the index. */
export async function reopenLog(lease: JsonlLease, options: { isWhole?: boolean } = {}): Promise<Chain> {
  const { directory, id } = lease.lock
  lease.chain?.close()
  const own = openOwnLog(directory.disk, directory.paths, id, O_RDWR | O_APPEND)
  if (own === undefined) throw lease.fail(lease.fenced())
  try {
    // Looked at once the file is open: a later owner's log, found under the name, must never be written to.
    lease.assertCurrent()
  } catch (error) {
    own.file.close()
    throw error
  }
  lease.chain = await openChain(directory.paths, own, options)
  return lease.chain
}

// --- internal ---

function hasReadableLog({ disk, paths }: Directory, id: string): boolean {
  const own = openOwnFile(disk, paths, id, O_RDWR | O_APPEND)
  if (own === undefined) return false
  own.file.close()
  if (!isHeaderDamage(own.line)) assertHeaderLine(own.line, id)
  return true
}

async function openLog(lease: JsonlLease): Promise<void> {
  const { directory, id, hasLog } = lease.lock
  const own = hasLog ? openOwnFile(directory.disk, directory.paths, id, O_RDWR | O_APPEND) : undefined
  own?.file.close()
  if (own === undefined) return
  if (isHeaderDamage(own.line)) {
    lease.headerDamage = own.line
    lease.damage.push(own.line)
    return
  }
  const chain = await reopenLog(lease)
  const end = await keepTail(lease, chain)
  if (lease.lock.state.unsynced !== undefined) await rewrite(lease, chain, end)
  else await settle(lease, chain, end)
  if (isCheckpointDue(chain.own)) writeCheckpoint(directory, chain.own)
}

/** Puts what follows the last good record aside. A log with a hole is left as it is. Gives where the log ends. */
async function keepTail(lease: JsonlLease, chain: Chain): Promise<number> {
  const { file, damage, tailFrom, scannedEnd } = chain.own
  const { size } = file.disk.fstatSync(file.fd)
  if (chain.isHoled || size <= scannedEnd) return size
  const kept = await keepAside(lease.lock.directory, lease.id, file.read, scannedEnd)
  for (const entry of damage.splice(tailFrom)) lease.damage.push({ ...entry, kept })
  return scannedEnd
}

/** Cuts the tail, and makes durable what a dead owner may have written and not synced. */
async function settle(lease: JsonlLease, { own, isHoled }: Chain, end: number): Promise<void> {
  const { disk, fd } = own.file
  const isCut = disk.fstatSync(fd).size > end
  if (!isCut && lease.lock.wasReleased) return
  lease.assertCurrent()
  if (isCut) disk.ftruncateSync(fd, end)
  try {
    if (!lease.lock.wasReleased && !isHoled) writeAgain(own, end)
    await syncData(disk, fd)
  } catch (error) {
    lease.noteUnsynced(0)
    throw error
  }
}

/**
 * Writes what is there once more. An owner that was killed right after a sync failed had no time to note
 * it: its pages look clean and are on no disk, and a sync alone would leave them there. What has a
 * checkpoint was synced before.
 */
function writeAgain({ file, current }: Segment, end: number): void {
  const { disk, path, read } = file
  // Not through the descriptor that appends wherever it is told to write.
  const fd = openFile(disk, path, O_RDWR)
  if (fd === undefined) return
  try {
    let at = current.offset
    copyBytes(read, at, end, bytes => {
      writeAll(disk, fd, bytes, at)
      at += bytes.length
    })
  } finally {
    closeFile(disk, fd)
  }
}

/**
 * Copies the log to a new file and puts that in its place: what the old owner still writes goes into a
 * file without a name. The next owner removes our temporary before he looks at the log, so a sleeper
 * cannot wake up and rename over his work.
 */
async function rewrite(lease: JsonlLease, { own }: Chain, end: number): Promise<void> {
  const { directory, id, epoch } = lease.lock
  const { disk, paths } = directory
  const temporary = paths.temporary(id, epoch)
  const fd = createFile(disk, temporary, O_APPEND)
  try {
    lease.assertCurrent()
    copyBytes(own.file.read, 0, end, bytes => writeAll(disk, fd, bytes))
    await syncData(disk, fd)
    lease.assertCurrent()
    disk.renameSync(temporary, paths.log(id))
    own.file.replace(fd)
  } catch (error) {
    closeFile(disk, fd)
    discard(disk, temporary)
    throw isErrno(error, 'ENOENT') ? lease.fenced() : error
  }
  await directory.sync()
  lease.assertCurrent()
  lease.lock.note({ isReleased: false })
}
