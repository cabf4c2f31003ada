import type { Part } from '@palimpsest/session'
import { type Draft, type Entry, isOpaque, type Piece } from '../draft.js'
import { TARGETS } from '../request.js'
import type { Rule } from '../rule.js'

export const textsAreNotBlank: Rule = {
  name: 'texts-are-not-blank',
  targets: TARGETS,
  codes: ['content.blank', 'content.empty'],
  source: 'anthropics/claude-code#60837, anomalyco/opencode#31259, zuisong/gemini-openai-proxy#86',
  healing: 'a text without a character, or of white space where that is refused, is not sent',
  heal(draft) {
    const joined = new Set([...draft.runs()].filter(run => run.length > 1).flat())
    for (const entry of draft.entries) {
      if (entry.role === 'tool') continue
      const isRefused = refusesBlank(entry, draft, joined.has(entry))
      entry.pieces = entry.pieces.filter(piece => isSent(piece, entry, draft, isRefused))
    }
    if (draft.system !== undefined && !/\S/.test(draft.system)) draft.system = undefined
  },
}

/** What is left of a message when all else has been taken out of it: nothing that the target takes. */
export const messagesHoldSomething: Rule = {
  name: 'messages-hold-something',
  targets: TARGETS,
  codes: ['content.empty'],
  source: 'charmbracelet/crush#3794, docs.claude.com/en/api/messages, vercel/ai#3775 (content must be set)',
  healing: 'such a message is not sent',
  heal(draft) {
    const { reasoning } = draft.facts
    const isAlone = ({ part }: Piece) => part.type === 'reasoning' && !isSentAlone(part, draft)
    for (const run of draft.runs()) {
      const heldTogether = draft.facts.joins && run.some(({ pieces }) => pieces.some(piece => !isAlone(piece)))
      for (const entry of run) {
        if (heldTogether || !entry.pieces.every(isAlone)) continue
        if (entry.pieces.length > 0 && reasoning !== 'none')
          draft.lose('reasoning', 'nothing beside it', entry.pieces.length)
        entry.pieces = []
      }
    }
    for (const entry of draft.entries) if (entry.pieces.length === 0) tell(entry, draft)
    draft.entries = draft.entries.filter(({ pieces }) => pieces.length > 0)
  },
}

// --- internal ---

function isSent(piece: Piece, entry: Entry, draft: Draft, isBlankRefused: boolean): boolean {
  const { part, origin } = piece
  if (part.type !== 'text' || isOpaque(piece, draft.facts)) return true
  const { target, facts } = draft
  if (part.text === '') {
    if (target === 'gemini' && part.providerOptions?.google?.thoughtSignature) return true
    // A chat message's empty text beside calls or reasoning is its way to say that there is no text.
    if (facts.reasoning !== 'signed' && entry.role === 'assistant' && (entry.given?.content.length ?? 0) > 1)
      return false
    if (isForeignBlock(part)) draft.lose('record', "another provider's own block")
    else if (part.providerOptions?.google?.thoughtSignature) draft.lose('reasoning', 'signed by another model')
    else draft.report('content.empty', 'error', origin, { has: 'an empty text' })
    entry.isExplained = true
    return false
  }
  if (/\S/.test(part.text) || !isBlankRefused) return true
  draft.report('content.blank', 'error', origin)
  draft.lose('text', 'white space only')
  entry.isExplained = true
  return false
}

/** A chat message may hold white space as its one text beside calls; DeepSeek's may be joined with its neighbour's. */
function refusesBlank({ role, pieces }: Entry, { target }: Draft, isJoined: boolean): boolean {
  if (target === 'anthropic') return true
  if (target !== 'openai-chat' && target !== 'deepseek') return false
  if (role === 'user' || (target === 'deepseek' && isJoined)) return true
  const texts = pieces.filter(({ part }) => part.type === 'text')
  return texts.length > 1 || !pieces.some(({ part }) => part.type === 'tool-call')
}

function isForeignBlock({ providerOptions = {} }: Part): boolean {
  return Object.values(providerOptions).some(state =>
    ['block', 'item', 'part'].some(member => typeof state?.[member] === 'object'),
  )
}

/** Gemini and the Responses API take reasoning that nothing follows in its message, where a rule of theirs left it. */
function isSentAlone(_part: Part, { target }: Draft): boolean {
  return target === 'gemini' || target === 'openai-responses'
}

function tell(entry: Entry, draft: Draft): void {
  const content = (entry.given?.content ?? []) as Part[]
  if (entry.isExplained || entry.given === undefined) return
  const has = content.some(({ type }) => type === 'reasoning') ? 'reasoning only' : 'nothing'
  draft.report('content.empty', 'error', entry.origin, { has })
}
