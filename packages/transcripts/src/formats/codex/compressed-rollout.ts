import { Decompress } from 'fzstd'

/**
 * The bytes of a rollout that Codex compressed when it grew old, as far as they are whole. `isTorn`: the file ends
 * before its last frame does, or holds more than any rollout.
 */
export function decompressed(bytes: Uint8Array): { bytes: Uint8Array; isTorn: boolean } {
  const chunks: Uint8Array[] = []
  let length = 0
  const stream = new Decompress(chunk => {
    length += chunk.length
    if (length > MOST_BYTES) throw new RangeError('compressed rollout: expected at most 512 MiB')
    // The stream uses its buffer again.
    chunks.push(chunk.slice())
  })
  let isTorn = false
  try {
    stream.push(bytes, true)
  } catch {
    isTorn = true
  }
  return { bytes: Buffer.concat(chunks), isTorn }
}

// --- internal ---

const MOST_BYTES = 512 * 1024 * 1024
