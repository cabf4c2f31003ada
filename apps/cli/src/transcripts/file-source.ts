import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Source } from '@palimpsest/transcripts'

export interface FileSource extends Source {
  close(): void
}

/** A file, read range by range and never written. A file that grows meanwhile is read as it was when it was opened. */
export function fileSource(path: string): FileSource {
  const fd = openSync(path, 'r')
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
