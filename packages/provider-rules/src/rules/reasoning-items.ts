import type { JsonObject, JsonValue, ReasoningPart } from '@palimpsest/session'
import type { Piece } from '../draft.js'
import type { Rule } from '../rule.js'

/** Clients keep each summary of an item as a part of its own, the encrypted state often on the last one only. */
export const reasoningItemsAreWhole: Rule = {
  name: 'reasoning-items-are-whole',
  targets: ['openai-responses'],
  codes: [],
  source: 'vercel/ai#7099, ai-sdk.dev/providers/ai-sdk-providers/openai (the summaries of one item, a part for each)',
  healing: 'neighbouring parts of one item go out as that item',
  heal(draft) {
    for (const entry of draft.entries) {
      if (entry.role !== 'assistant') continue
      const pieces: Piece[] = []
      for (const piece of entry.pieces) {
        const last = pieces.at(-1)
        const part = last && joined(last, piece)
        if (part === undefined) pieces.push(piece)
        else pieces[pieces.length - 1] = { ...last!, part }
      }
      if (pieces.length < entry.pieces.length) entry.pieces = pieces
    }
  },
}

// --- internal ---

/** `undefined` for two items, and for one that is there twice. */
function joined({ part: one }: Piece, { part: other }: Piece): ReasoningPart | undefined {
  if (one.type !== 'reasoning' || other.type !== 'reasoning') return undefined
  const [first, second] = [one.providerOptions?.openai ?? {}, other.providerOptions?.openai ?? {}]
  const isOne = typeof first.itemId === 'string' && first.itemId === second.itemId
  if (!isOne || first.item !== undefined || JSON.stringify(one) === JSON.stringify(other)) return undefined
  const seals = [first.reasoningEncryptedContent, second.reasoningEncryptedContent].filter(isText)
  if (new Set(seals).size > 1) return undefined
  const openai: JsonObject = {
    ...first,
    ...second,
    summary: [...summaryOf(one), ...summaryOf(other)],
    ...(seals[0] !== undefined && { reasoningEncryptedContent: seals[0] }),
  }
  const text = [one.text, other.text].filter(isText).join('\n\n')
  return { ...one, text, providerOptions: { ...one.providerOptions, openai } }
}

function summaryOf({ text, providerOptions }: ReasoningPart): JsonValue[] {
  const { summary } = providerOptions?.openai ?? {}
  if (Array.isArray(summary)) return summary
  return text === '' ? [] : [{ type: 'summary_text', text }]
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
