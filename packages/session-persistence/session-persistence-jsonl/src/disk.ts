import * as fs from 'node:fs'

/** Every file-system call that the store makes, so that a test can fail the n-th of them. */
export type Disk = Pick<
  typeof fs,
  | 'chmodSync'
  | 'closeSync'
  | 'fchmodSync'
  | 'fdatasync'
  | 'fdatasyncSync'
  | 'fstatSync'
  | 'fsync'
  | 'fsyncSync'
  | 'ftruncateSync'
  | 'linkSync'
  | 'lstatSync'
  | 'mkdirSync'
  | 'openSync'
  | 'readSync'
  | 'readdir'
  | 'renameSync'
  | 'statSync'
  | 'unlinkSync'
  | 'writeSync'
>

export const nodeDisk: Disk = fs

/** A link, a pipe or a device in place of a file of ours is never followed and never waited for. */
export const SAFE_OPEN = (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0)
export const { O_APPEND, O_CREAT, O_RDONLY, O_RDWR } = fs.constants

export const NO_THROW = { throwIfNoEntry: false } as const

/** Private whatever the umask. */
export const FILE_MODE = 0o600
export const DIRECTORY_MODE = 0o700

export function isErrno(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}

/** Opens a file of ours, or `undefined` where there is none. */
export function openFile(disk: Disk, path: string, flags: number): number | undefined {
  // Asking first: an error that says ENOENT costs more than all else that is done with a new session.
  return disk.lstatSync(path, NO_THROW) === undefined ? undefined : openSeen(disk, path, flags)
}

/** The same for a name that was seen a moment ago. */
export function openSeen(disk: Disk, path: string, flags: number): number | undefined {
  try {
    return disk.openSync(path, flags | SAFE_OPEN)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Makes a file that was not there; only its owner may read it. */
export function createFile(disk: Disk, path: string, flags = 0): number {
  const fd = disk.openSync(path, flags | O_RDWR | O_CREAT | fs.constants.O_EXCL | SAFE_OPEN, FILE_MODE)
  try {
    disk.fchmodSync(fd, FILE_MODE)
    return fd
  } catch (error) {
    closeFile(disk, fd)
    throw error
  }
}

/** What was written is synced or given up by now, so an error here tells nobody anything. */
export function closeFile(disk: Disk, fd: number): void {
  try {
    disk.closeSync(fd)
  } catch {}
}

/** Completes short writes; a write that makes no progress fails. */
export function writeAll(disk: Disk, fd: number, bytes: Uint8Array, position?: number): void {
  let done = 0
  while (done < bytes.length) {
    const at = position === undefined ? null : position + done
    const written = disk.writeSync(fd, bytes, done, bytes.length - done, at)
    if (written <= 0) throw new Error(`expected to write ${bytes.length} bytes, stopped after ${done}: no progress`)
    done += written
  }
}

/** Fills `bytes` from `position`; fewer only at the end of the file. */
export function readFully(disk: Disk, fd: number, bytes: Uint8Array, position: number): number {
  let done = 0
  while (done < bytes.length) {
    const read = disk.readSync(fd, bytes, done, bytes.length - done, position + done)
    if (read === 0) break
    done += read
  }
  return done
}

/** `undefined` where there was nothing to remove. */
export function unlinkIfThere(disk: Disk, path: string): void {
  try {
    disk.unlinkSync(path)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

/** Removes what the next owner would remove too. */
export function discard(disk: Disk, path: string): boolean {
  try {
    unlinkIfThere(disk, path)
    return true
  } catch {
    return false
  }
}

export function syncData(disk: Disk, fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    disk.fdatasync(fd, error => (error ? reject(error) : resolve()))
  })
}

export function syncDirectory(disk: Disk, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let fd: number
    try {
      fd = disk.openSync(path, O_RDONLY)
    } catch (error) {
      reject(error)
      return
    }
    disk.fsync(fd, error => {
      closeFile(disk, fd)
      if (error) reject(error)
      else resolve()
    })
  })
}
