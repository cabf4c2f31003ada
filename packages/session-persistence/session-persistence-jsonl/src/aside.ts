import { basename } from 'node:path'
import type { Directory } from './directory.js'
import { closeFile, createFile, discard, isErrno, syncData, writeAll } from './disk.js'
import type { ReadAt } from './lines.js'

/**
 * Copies the bytes from `offset` on into a side file of their own, durably, and gives its name. An
 * earlier side file is never written over.
 */
export async function keepAside(directory: Directory, id: string, read: ReadAt, offset: number): Promise<string> {
  const { disk } = directory
  const { path, fd } = createNext(directory, id, offset)
  try {
    copyBytes(read, offset, Number.POSITIVE_INFINITY, bytes => writeAll(disk, fd, bytes))
    await syncData(disk, fd)
    await directory.sync()
    return basename(path)
  } catch (error) {
    discard(disk, path)
    throw error
  } finally {
    closeFile(disk, fd)
  }
}

/** Hands `[from, to)` on in pieces; stops at the end of the file. */
export function copyBytes(read: ReadAt, from: number, to: number, write: (bytes: Buffer) => void): void {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES)
  for (let at = from; at < to; ) {
    const got = read(buffer.subarray(0, Math.min(PIECE_BYTES, to - at)), at)
    if (got === 0) return
    write(buffer.subarray(0, got))
    at += got
  }
}

// --- internal ---

const PIECE_BYTES = 256 * 1024

function createNext({ disk, paths }: Directory, id: string, offset: number): { path: string; fd: number } {
  for (let count = 1; ; count++) {
    const path = paths.torn(id, offset, count)
    try {
      return { path, fd: createFile(disk, path) }
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error
    }
  }
}
