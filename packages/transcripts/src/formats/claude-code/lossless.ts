import type { Json } from '../../json/shapes.js'

/** The record as an event can hold it: numbers that no double holds become `null`, minus zero zero; what nests too deep its text. */
export function losslessObject(record: Json): Json {
  return lossless(record, 0) as Json
}

// --- internal ---

/** Below the kernel's limit, with room for what an event puts around it. */
const DEPTH = 900

function lossless(value: unknown, depth: number): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (value === null || typeof value !== 'object') return value
  if (depth > DEPTH) return '(nested too deep)'
  if (Array.isArray(value)) return value.map(each => lossless(each, depth + 1))
  const copy: Json = {}
  for (const [name, each] of Object.entries(value)) {
    Object.defineProperty(copy, name, {
      value: lossless(each, depth + 1),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return copy
}
