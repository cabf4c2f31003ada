import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Source } from '@palimpsest/transcripts'
import { CommandError } from '../failure.js'

export interface FileSource extends Source {
  close(): void
}

/** A file, read range by range and never written. A file that grows meanwhile is read as it was when it was opened. */
export function fileSource(path: string): FileSource {
  const fd = openThere(path)
  const { size } = fstatSync(fd)
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

/** `TRANSCRIPT_NOT_FOUND` in place of the system's own words. */
function openThere(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new CommandError('TRANSCRIPT_NOT_FOUND', `expected a file or a folder at ${path}, found none; check the path`)
  }
}
