import type { JsonObject, Part } from '@palimpsest/session'
import { isOpaque, type Piece } from '../draft.js'
import type { Rule } from '../rule.js'

export const itemIdsAreUnique: Rule = {
  name: 'item-ids-are-unique',
  targets: ['openai-responses'],
  codes: ['item.duplicate-id', 'item.illegal-id'],
  source:
    'vercel/ai#13307, VoltAgent/voltagent#1121 (Duplicate item found with id), nodetool-ai/nodetool#4252 (prefix)',
  healing: 'of two items with one id the later one goes out without it; an equal one not at all',
  heal(draft) {
    const seen = new Map<string, string>()
    draft.filter('assistant', (piece, entry) => {
      const id = itemIdOf(piece)
      if (id === undefined || isOpaque(piece, draft.facts)) return true
      if (!isLegal(id, piece.part)) {
        draft.report('item.illegal-id', 'info', piece.origin, { id })
        dropId(piece)
        return true
      }
      const content = JSON.stringify(piece.part)
      const first = seen.get(id)
      if (first === undefined) {
        seen.set(id, content)
        return true
      }
      const isEqual = first === content && piece.part.type !== 'tool-call'
      const action = isEqual ? 'collapsed' : 'id-dropped'
      // The text of an item that stands alone is the whole item.
      const { origin } = entry.pieces.length === 1 ? entry : piece
      draft.report('item.duplicate-id', 'error', origin, { id, action })
      if (isEqual) entry.isExplained = true
      else dropId(piece)
      return !isEqual
    })
  },
}

export const itemIdsStandBesideReasoning: Rule = {
  name: 'item-ids-stand-beside-reasoning',
  targets: ['openai-responses'],
  codes: ['reasoning.item-id-without-reasoning'],
  source: 'laravel/ai#1052, 0xPlaygrounds/rig#751 (function_call without its required reasoning item)',
  healing: "a call's item id is not sent where its reasoning is not",
  heal(draft) {
    for (const run of draft.runs()) {
      let hasReasoning = false
      for (const piece of run.flatMap(({ pieces }) => pieces)) {
        const id = itemIdOf(piece)
        if (piece.part.type === 'reasoning') hasReasoning = true
        if (piece.part.type !== 'tool-call' || isOpaque(piece, draft.facts)) continue
        if (id === undefined || hasReasoning) continue
        draft.report('reasoning.item-id-without-reasoning', 'error', piece.origin, { id })
        dropId(piece)
      }
    }
  },
}

// --- internal ---

function itemIdOf({ part }: Piece): string | undefined {
  const id = part.providerOptions?.openai?.itemId
  return typeof id === 'string' ? id : undefined
}

function isLegal(id: string, part: Part): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id) && id.startsWith(prefixOf(part))
}

function prefixOf({ type, providerOptions }: Part): string {
  if (type === 'text') return 'msg'
  if (type === 'reasoning') return 'rs'
  return providerOptions?.openai?.type === 'custom' ? 'ctc' : 'fc'
}

function dropId(piece: Piece): void {
  const { openai, ...others } = piece.part.providerOptions ?? {}
  const { itemId: _, ...rest } = openai as JsonObject
  const { providerOptions: __, ...part } = piece.part
  const options = { ...others, ...(Object.keys(rest).length > 0 && { openai: rest }) }
  piece.part = { ...part, ...(Object.keys(options).length > 0 && { providerOptions: options }) } as Part
}
