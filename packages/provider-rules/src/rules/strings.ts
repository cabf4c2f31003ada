import type { JsonValue, Part } from '@palimpsest/session'
import type { Origin } from '../draft.js'
import { TARGETS } from '../request.js'
import type { Rule } from '../rule.js'
import { countLoneSurrogates, withoutLoneEscapes, withoutLoneSurrogates } from '../surrogates.js'

export const stringsAreUnicode: Rule = {
  name: 'strings-are-unicode',
  targets: TARGETS,
  codes: ['text.lone-surrogate'],
  source: 'anthropics/claude-code#56064, mksglu/context-mode#903, RFC 8259 section 8.2',
  healing: 'half a surrogate pair becomes U+FFFD, in every string',
  heal(draft) {
    const counts = new Map<number, { origin: Origin; count: number }>()
    for (const { pieces } of draft.entries) {
      for (const piece of pieces) {
        const [part, count] = cleaned(piece.part)
        if (count === 0) continue
        piece.part = part
        const { message } = piece.origin
        const known = counts.get(message)
        // In several parts: the message is the place.
        if (known) counts.set(message, { origin: { message }, count: known.count + count })
        else counts.set(message, { origin: piece.origin, count })
      }
    }
    for (const { origin, count } of counts.values()) draft.report('text.lone-surrogate', 'error', origin, { count })
    if (draft.system !== undefined) draft.system = withoutLoneSurrogates(draft.system)
    const tools = cleaned(draft.tools as unknown as JsonValue)
    if (tools[1] > 0) draft.tools = tools[0] as never
  },
}

// --- internal ---

/** The same value where nothing is wrong with it, which is nearly always. */
function cleaned<V extends Part | JsonValue>(value: V): [V, number] {
  let count = 0
  const clean = (each: unknown, key?: string): unknown => {
    if (typeof each === 'string') {
      // The text of arguments or of a value stands in the body as JSON: its escapes are halves too.
      const text = key === 'rawInput' || key === 'raw' ? withoutLoneEscapes(each) : each
      if (text !== each) count++
      count += countLoneSurrogates(text)
      return withoutLoneSurrogates(text)
    }
    if (each === null || typeof each !== 'object') return each
    const before = count
    if (Array.isArray(each)) {
      const list = each.map(item => clean(item))
      return count === before ? each : list
    }
    const pairs = Object.entries(each).map(([name, item]) => {
      count += countLoneSurrogates(name)
      return [withoutLoneSurrogates(name), clean(item, name)] as const
    })
    return count === before ? each : Object.fromEntries(pairs)
  }
  return [clean(value) as V, count]
}
