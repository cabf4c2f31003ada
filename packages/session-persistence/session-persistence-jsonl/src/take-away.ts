import { PersistenceError } from '@palimpsest/session-persistence'
import { closeFile, type Disk, isErrno, NO_THROW, O_RDONLY, openFile, unlinkIfThere } from './disk.js'
import type { HeldLock } from './lock.js'

/** A file as it was while the lock was held. Open where it can be, so that no other one gets its inode. */
export interface HeldFile {
  readonly path: string
  readonly fd: number | undefined
  readonly inode: number
}

/** `undefined` where there is no such file. A folder is refused before anything is moved: nobody could unlink it again. */
export function holdFile({ directory: { disk } }: HeldLock, path: string): HeldFile | undefined {
  let fd: number | undefined
  try {
    fd = openFile(disk, path, O_RDONLY)
  } catch {
    // A link, or nothing that may be read: it goes all the same.
  }
  let inode: number | undefined
  try {
    const found = disk.lstatSync(path, NO_THROW)
    if (found?.isDirectory()) throw notAFile(path)
    inode = found?.ino
  } finally {
    if (inode === undefined && fd !== undefined) closeFile(disk, fd)
  }
  return inode === undefined ? undefined : { path, fd, inode }
}

/**
 * Removes the very file that was held, or gives `false`: a later owner's stands under its name, and
 * stays there. Who sleeps before an unlink cannot know what it will hit, so the file is moved first,
 * to a name of which the next owner knows that nobody needs it, and looked at there.
 */
export function takeAway(
  { directory, id, epoch }: HeldLock,
  { path, inode }: Pick<HeldFile, 'path' | 'inode'>,
): boolean {
  const { disk, paths } = directory
  const temporary = paths.temporary(id, epoch)
  try {
    disk.renameSync(path, temporary)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return true
    throw error
  }
  const moved = disk.lstatSync(temporary, NO_THROW)?.ino
  const isLaterOwners = moved !== undefined && moved !== inode
  if (isLaterOwners) linkBack(disk, temporary, path)
  unlinkIfThere(disk, temporary)
  return !isLaterOwners
}

// --- internal ---

function notAFile(path: string): PersistenceError {
  return new PersistenceError(
    'HEADER_DAMAGED',
    `${path}: expected a file, found a folder, which is none of this store's; move it away, then remove the session again`,
  )
}

/** Where that owner has put yet another file in its place, this one is not needed any more. */
function linkBack(disk: Disk, temporary: string, path: string): void {
  try {
    disk.linkSync(temporary, path)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
}
