import type { ToolCallPart } from '@palimpsest/session'
import { withDigest } from '../digest.js'
import type { Draft, Entry, Piece } from '../draft.js'
import { TARGETS } from '../request.js'
import type { Rule } from '../rule.js'
import { withoutLoneSurrogates } from '../surrogates.js'

export const callIdsAreLegal: Rule = {
  name: 'call-ids-are-legal',
  targets: ['anthropic', 'openai-chat', 'openai-responses'],
  codes: ['id.illegal-for-target', 'id.too-long-for-target'],
  source:
    'maximhq/bifrost#5097, tailcallhq/forgecode#1142 (characters), vercel/ai#5171, NousResearch/hermes-agent#73492 (length)',
  healing: 'an id that the target refuses becomes one made of the digest of all of it, at call and result alike',
  heal(draft) {
    const { legal, limit } = draft.facts.callId
    for (const { piece } of draft.calls()) {
      const id = piece.part.toolCallId
      const { length } = id
      // One that is both becomes legal by what makes it short.
      if (length > limit) draft.report('id.too-long-for-target', 'error', piece.origin, { length, limit })
      else if (!legal.test(id))
        draft.report('id.illegal-for-target', 'error', piece.origin, { id, target: draft.target })
      else continue
      rename(piece, withDigest(id, limit))
    }
  },
}

/** What is reported of calls that share an id, pairing has reported. */
export const callIdsAreUnique: Rule = {
  name: 'call-ids-are-unique',
  targets: TARGETS,
  codes: [],
  source:
    'HKUDS/nanobot#4442, anthropics/claude-code#29779, vercel/ai#13307 (in the request), can1357/oh-my-pi#2055 (in a message)',
  healing: 'the later call, and its result, get a suffix',
  heal(draft) {
    const { scope, limit } = draft.facts.callId
    const messages = sentTogether(draft)
    let used = new Set<string>()
    let last: Entry | undefined
    for (const { piece, entry } of draft.calls()) {
      const message = messages.get(entry)
      if (scope === 'message' && message !== last) used = new Set()
      last = message
      const id = unused(withoutLoneSurrogates(piece.part.toolCallId), used, limit)
      used.add(id)
      rename(piece, id)
    }
  },
}

// --- internal ---

/** Of each answer the one that it goes out with, where neighbours are one message: the first of its run. */
function sentTogether(draft: Draft): Map<Entry, Entry> {
  const messages = new Map<Entry, Entry>()
  for (const run of draft.runs()) for (const entry of run) messages.set(entry, draft.facts.joins ? run[0]! : entry)
  return messages
}

function unused(id: string, used: ReadonlySet<string>, limit: number): string {
  for (let n = 1; ; n++) {
    const suffix = n === 1 ? '' : `_${n}`
    const candidate = id.slice(0, limit - suffix.length) + suffix
    if (!used.has(candidate)) return candidate
  }
}

function rename(piece: Piece<ToolCallPart>, toolCallId: string): void {
  if (piece.part.toolCallId === toolCallId) return
  piece.part = { ...piece.part, toolCallId }
  if (piece.answer) piece.answer.part = { ...piece.answer.part, toolCallId }
}
