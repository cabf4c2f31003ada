import { argumentSites } from './argument-sites.js'

/** A call of the request: `input` is what the provider was given, `raw` the model's own text where that differs. */
export interface SentCall {
  id: string
  input: unknown
  raw?: string
}

/**
 * The JSON text `body` with each call's arguments replaced by its raw text: spliced in as JSON where
 * the target takes a value (Anthropic), as a JSON string where it takes text (OpenAI). A call is
 * found by its id beside the value and replaced only where that value is `JSON.parse(raw)`.
 * Calls that share an id are taken in the order of the request.
 */
export function spliceRawTexts(body: string, calls: readonly SentCall[]): string {
  const waiting = callsById(calls)
  let text = ''
  let from = 0
  for (const site of argumentSites(body, id => waiting.has(id))) {
    const sent = body.slice(site.start, site.end)
    const written = takeCall(waiting.get(site.id) ?? [], sent)
    if (written === undefined) continue
    text += body.slice(from, site.start) + written
    from = site.end
  }
  return text + body.slice(from)
}

// --- internal ---

function callsById(calls: readonly SentCall[]): Map<string, SentCall[]> {
  const byId = new Map<string, SentCall[]>()
  for (const call of calls) {
    const known = byId.get(call.id)
    if (known) known.push(call)
    else byId.set(call.id, [call])
  }
  return byId
}

/** How the first of `queue` that `sent` stands for is written; that call and those before it are taken off. */
function takeCall(queue: SentCall[], sent: string): string | undefined {
  const value: unknown = JSON.parse(sent)
  const inner = typeof value === 'string' ? parsed(value) : undefined
  for (const [at, { input, raw }] of queue.entries()) {
    const wrote = raw === undefined ? undefined : parsed(raw)
    const meant = wrote ?? { value: input }
    const isValue = isSame(value, meant.value)
    if (!isValue && !(inner && isSame(inner.value, meant.value))) continue
    queue.splice(0, at + 1)
    if (raw === undefined || wrote === undefined) return sent
    return isValue ? wellFormed(raw) : JSON.stringify(raw)
  }
  return undefined
}

/** UTF-8 has no lone surrogates; in JSON they can stand only within a string, where an escape means the same. */
function wellFormed(json: string): string {
  return json.replace(/\p{Surrogate}/gu, unit => `\\u${unit.charCodeAt(0).toString(16)}`)
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every(key => Object.hasOwn(b, key) && isSame(member(a, key), member(b, key)))
}

function member(holder: object, key: string): unknown {
  return (holder as Record<string, unknown>)[key]
}
