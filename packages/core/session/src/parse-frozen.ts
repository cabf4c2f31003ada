import { areIndices, isLosslessNumber, MAX_DEPTH } from './admission.js'

/**
 * `JSON.parse`, with the result deeply frozen where it stands. What comes out of a text has no getter, no
 * Proxy and no other owner, so an event that a store parses with this goes into a session as it is,
 * where others are copied. What JSON loses (`-0`, `1e999`) or nests too deep is not vouched for: the seal
 * then looks at it as at any other value, and refuses it with its place. Throws what `JSON.parse` throws.
 * `complete` may put in values that were parsed as well, before anything is frozen.
 */
export function parseFrozen(text: string, complete?: (value: unknown) => void): unknown {
  const value: unknown = JSON.parse(text)
  complete?.(value)
  if (typeof value === 'object' && value !== null && freezeParsed(value, 0)) vouched.add(value)
  return value
}

/** Whether `value` is the result of a `parseFrozen`: lossless JSON, deeply frozen. */
export function isParsedFrozen(value: unknown): value is object {
  return vouched.has(value as object)
}

/** Whether `value` is a list of small whole numbers, as seqs are, in the result of a `parseFrozen`. */
export function isParsedIndices(value: unknown): value is readonly number[] {
  return indices.has(value as object)
}

// --- internal ---

const vouched = new WeakSet<object>()
/** Lists that may be as long as the log: they are looked through once. */
const indices = new WeakSet<object>()

/** `level` counts as the seal does, which sees an event's members, never the event: that is level 0. */
function freezeParsed(container: object, level: number): boolean {
  if (level > MAX_DEPTH) return false
  const values: readonly unknown[] = Array.isArray(container) ? container : Object.values(container)
  if (values === container && areIndices(values)) indices.add(container)
  else {
    for (let i = 0; i < values.length; i++) {
      const value = values[i]
      if (typeof value === 'number') {
        if (!isLosslessNumber(value)) return false
      } else if (typeof value === 'object' && value !== null && !freezeParsed(value, level + 1)) return false
    }
  }
  Object.freeze(container)
  return true
}
