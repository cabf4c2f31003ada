import type { Finding, Source } from '@palimpsest/transcripts'

/** What is wrong with a file that holds nothing but zeros and white space; `undefined` for one that holds something. */
export function emptiness(source: Source): Finding | undefined {
  let zeros = 0
  for (let from = 0; from < source.size; from += STEP) {
    for (const byte of source.read(from, Math.min(source.size, from + STEP))) {
      if (byte === 0) zeros += 1
      else if (!BLANK.has(byte)) return undefined
    }
  }
  if (zeros > 0) return { code: 'file.nul-run', severity: 'error', where: 'file', bytes: zeros }
  return { code: 'file.empty', severity: 'error', where: 'file' }
}

// --- internal ---

const STEP = 1 << 20
/** White space, and the bytes of a byte order mark. */
const BLANK = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf])
