import { createHash } from 'node:crypto'

const LENGTH = 16

/** Stands for the whole text: two texts have the same one only by a collision of SHA-256 cut to 64 bits. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, LENGTH)
}

/** A legal name that keeps as much of `text` as fits, and ends with the digest of all of it. */
export function withDigest(text: string, limit: number): string {
  const kept = text.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, Math.min(limit, MOST) - LENGTH - 1)
  return `${kept === '' || /^[0-9-]/.test(kept) ? `_${kept.slice(1)}` : kept}_${digest(text)}`
}

/** Nobody reads more of it than this. */
const MOST = 64
