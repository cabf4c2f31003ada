import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import type { Source } from '@palimpsest/transcripts'
import { EXIT } from '../exit-codes.js'
import { CommandError } from '../failure.js'

export interface FileSource extends Source {
  close(): void
}

/** A file, read range by range and never written. A file that grows meanwhile is read as it was when it was opened. */
export function fileSource(path: string): FileSource {
  const fd = openThere(path)
  const stats = fstatSync(fd)
  if (!stats.isFile()) {
    closeSync(fd)
    throw unreadable(path, `${stats.isDirectory() ? 'a folder' : 'a pipe or a device'}; name a file`)
  }
  const { size } = stats
  return {
    size,
    read(from, to) {
      const bytes = new Uint8Array(to - from)
      for (let at = 0; at < bytes.length; ) {
        const read = readSync(fd, bytes, at, bytes.length - at, from + at)
        if (read === 0) return bytes.subarray(0, at)
        at += read
      }
      return bytes
    },
    close: () => closeSync(fd),
  }
}

/** Opens a file for as long as `use` takes. */
export async function withSource<T>(path: string, use: (source: Source) => T | Promise<T>): Promise<T> {
  const source = fileSource(path)
  try {
    return await use(source)
  } finally {
    source.close()
  }
}

// --- internal ---

/** `TRANSCRIPT_NOT_FOUND` and `TRANSCRIPT_UNREADABLE` in place of the system's own words. A pipe is not waited for. */
function openThere(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') throw unreadable(path, `${message}; check who may read it`)
    throw new CommandError('TRANSCRIPT_NOT_FOUND', `expected a file or a folder at ${path}, found none; check the path`)
  }
}

function unreadable(path: string, found: string): CommandError {
  return new CommandError(
    'TRANSCRIPT_UNREADABLE',
    `expected a file that can be read at ${path}, found ${found}`,
    EXIT.usage,
  )
}
