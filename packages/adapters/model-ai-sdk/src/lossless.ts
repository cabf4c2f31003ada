import type { JsonObject, JsonValue, ProviderOptions } from '@palimpsest/session'

/**
 * The lossless JSON of what a provider gave: undefined members are dropped, bytes become base64
 * text, numbers that JSON lacks become null. Throws a `TypeError` on a cycle.
 */
export function jsonOf(value: unknown): JsonValue {
  const text = JSON.stringify(value, plain)
  return text === undefined ? null : JSON.parse(text)
}

/** `providerMetadata` as what goes back later as `providerOptions`; undefined where there is none. */
export function optionsOf(metadata: unknown): ProviderOptions | undefined {
  if (!isRecord(metadata)) return undefined
  const options = jsonOf(metadata) as JsonObject
  const providers = Object.entries(options).filter(([, own]) => isRecord(own))
  return providers.length > 0 ? (Object.fromEntries(providers) as ProviderOptions) : undefined
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

// --- internal ---

/** A replacer; it looks at the holder because `toJSON` of a Buffer or Date has already run on `value`. */
function plain(this: unknown, key: string, value: unknown): unknown {
  const own = (this as Record<string, unknown>)[key]
  if (own instanceof Uint8Array) return base64(own)
  if (typeof value === 'bigint') return String(value)
  return Object.is(value, -0) ? 0 : value
}
