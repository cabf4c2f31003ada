import { type JsonValue, MAX_DEPTH } from '@palimpsest/session'

/**
 * What `JSON.parse` gives as a log may hold it: the same value where nothing is in the way. A minus zero becomes zero,
 * a number past every double its sign and `Infinity` as text, what nests deeper than the kernel admits a short text.
 */
export function losslessJson(value: unknown, depth = 1): JsonValue {
  if (typeof value === 'number') return losslessNumber(value)
  if (value === undefined) return null
  if (value === null || typeof value !== 'object') return value as JsonValue
  if (depth > MAX_DEPTH) return '[nested too deep]'
  return Array.isArray(value) ? losslessList(value, depth) : losslessObject(value as Record<string, unknown>, depth)
}

// --- internal ---

function losslessNumber(value: number): JsonValue {
  if (Object.is(value, -0)) return 0
  return Number.isFinite(value) ? value : String(value)
}

function losslessList(list: readonly unknown[], depth: number): JsonValue {
  let changed: JsonValue[] | undefined
  for (let i = 0; i < list.length; i++) {
    const kept = losslessJson(list[i], depth + 1)
    if (kept === list[i] && !Object.is(list[i], -0)) continue
    changed ??= [...list] as JsonValue[]
    changed[i] = kept
  }
  return changed ?? (list as JsonValue)
}

function losslessObject(object: Record<string, unknown>, depth: number): JsonValue {
  let changed: Record<string, JsonValue> | undefined
  for (const key of Object.keys(object)) {
    const kept = losslessJson(object[key], depth + 1)
    if (kept === object[key] && !Object.is(object[key], -0)) continue
    changed ??= copyOf(object)
    define(changed, key, kept)
  }
  return changed ?? (object as JsonValue)
}

function copyOf(object: Record<string, unknown>): Record<string, JsonValue> {
  const copy: Record<string, JsonValue> = {}
  for (const key of Object.keys(object)) define(copy, key, object[key] as JsonValue)
  return copy
}

/** `__proto__` is a key like any other. */
function define(object: Record<string, JsonValue>, key: string, value: JsonValue): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}
