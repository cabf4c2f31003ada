import { RawJson } from '@palimpsest/transcripts'
import { isOpaque } from './opaque.js'
import { findSecrets, type Secret } from './secrets.js'

/** A copy in which each secret is named by its kind. What is opaque stays byte for byte. */
export async function redact<T>(value: T): Promise<T> {
  const texts: string[] = []
  replaceStrings(value, text => {
    texts.push(text)
    return text
  })
  const secrets = await findSecrets(texts.join('\n'))
  return secrets.length === 0 ? value : replaceStrings(value, text => redactText(text, secrets))
}

// --- internal ---

function redactText(text: string, secrets: readonly Secret[]): string {
  let redacted = text
  for (const { kind, text: secret } of secrets) redacted = redacted.replaceAll(secret, `[redacted:${kind}]`)
  return redacted
}

function replaceStrings<T>(value: T, replace: (text: string) => string): T {
  if (typeof value === 'string') return replace(value) as T
  if (value instanceof RawJson) return new RawJson(replace(value.text)) as T
  if (Array.isArray(value)) return value.map(each => replaceStrings(each, replace)) as T
  if (value === null || typeof value !== 'object') return value
  const copy = Object.entries(value).map(([key, each]) => [
    key,
    isOpaque(key, each) ? each : replaceStrings(each, replace),
  ])
  return Object.fromEntries(copy) as T
}
