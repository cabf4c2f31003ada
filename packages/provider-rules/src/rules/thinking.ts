import { type Draft, type Entry, isClientCall, type Piece } from '../draft.js'
import type { Rule } from '../rule.js'

/** The rules for thinking blocks inside one message of Anthropic's, which may be made of several answers. */
export const thinkingLeads: Rule = {
  name: 'thinking-leads',
  targets: ['anthropic'],
  codes: ['reasoning.not-leading'],
  source: 'anthropics/claude-code#20705 (if a message holds thinking, the first block must be thinking)',
  healing: 'thinking behind the beginning of a message that has none at its beginning is not sent',
  heal(draft) {
    for (const run of draft.runs()) {
      const pieces = run.flatMap(entry => entry.pieces)
      if (!pieces.some(isThinking) || isThinking(pieces[0]!)) continue
      for (const entry of run) {
        entry.pieces = entry.pieces.filter(piece => {
          if (!isThinking(piece)) return true
          draft.report('reasoning.not-leading', 'info', piece.origin)
          draft.lose('reasoning', 'not at the beginning of its message')
          entry.isExplained = true
          return false
        })
      }
    }
  },
}

export const thinkingIsFollowed: Rule = {
  name: 'thinking-is-followed',
  targets: ['anthropic', 'openai-responses'],
  codes: ['reasoning.unfollowed'],
  source:
    'tailcallhq/forgecode#2107 (the final block cannot be thinking), vercel/ai#7099 (without its required following item)',
  healing: 'reasoning that nothing follows is not sent',
  heal(draft) {
    for (const run of draft.runs()) {
      const pieces = run.flatMap(entry => entry.pieces.map(piece => ({ piece, entry })))
      const last = pieces.findLastIndex(({ piece }) => !isThinking(piece))
      // A message of Anthropic's that is nothing but thinking is told of as empty.
      if (last < 0 && draft.target === 'anthropic') continue
      for (const { piece, entry } of pieces.slice(last + 1)) {
        const id = piece.part.providerOptions?.openai?.itemId
        draft.report('reasoning.unfollowed', 'error', piece.origin, typeof id === 'string' ? { id } : {})
        draft.lose('reasoning', 'nothing follows it')
        entry.isExplained = true
        entry.pieces = entry.pieces.filter(each => each !== piece)
      }
    }
  },
}

/** Says on or off where the request has to, and off where the open loop cannot go on with thinking. */
export const thinkingCanGoOn: Rule = {
  name: 'thinking-can-go-on',
  targets: ['anthropic'],
  codes: ['reasoning.missing-lead'],
  source: 'anomalyco/opencode#3077 (thinking on: the open loop must begin with thinking)',
  healing: 'thinking is off for this request',
  heal(draft) {
    const { thinking = 'keep' } = draft.options
    if (thinking === 'keep') return
    draft.thinking = thinking === 'on' ? 'enabled' : 'disabled'
    if (thinking === 'off') return
    for (const run of openLoop(draft)) {
      const [first] = run.flatMap(({ pieces }) => pieces)
      if (!run.some(({ pieces }) => pieces.some(isClientCall)) || (first && isThinking(first))) continue
      draft.thinking = 'disabled'
      draft.report('reasoning.missing-lead', 'error', run[0]!.origin)
      return
    }
  },
}

/** In thinking mode DeepSeek wants the reasoning of every message with calls back. */
export const reasoningGoesBack: Rule = {
  name: 'reasoning-goes-back',
  targets: ['deepseek'],
  codes: ['reasoning.missing-lead'],
  source:
    'earendil-works/pi#3636, anomalyco/opencode#28714 (reasoning_content in the thinking mode must be passed back)',
  healing: 'where a message with calls has none, thinking is off for this request',
  heal(draft) {
    const { thinking = 'keep' } = draft.options
    const isThinker = thinking === 'on' || (thinking === 'keep' && /reasoner|r1/i.test(draft.model))
    if (thinking === 'off') draft.thinking = 'disabled'
    const callers = draft.entries.filter(({ pieces }) => pieces.some(isClientCall))
    const without = callers.find(({ pieces }) => !pieces.some(hasReasoningText))
    if (thinking === 'off' || (!isThinker && !callers.some(entry => entry !== without && hasReasoning(entry)))) return
    if (without === undefined) {
      if (isThinker) draft.thinking = 'enabled'
      return
    }
    draft.thinking = 'disabled'
    draft.report('reasoning.missing-lead', isThinker ? 'error' : 'info', without.origin)
  },
}

/** The assistant's runs since the last user message, where results stand last. */
export function openLoop(draft: Draft): Entry[][] {
  const { entries } = draft
  if (entries.at(-1)?.role !== 'tool') return []
  const from = entries.findLastIndex(({ role }) => role === 'user') + 1
  return [...draft.runs()].filter(([first]) => entries.indexOf(first!) >= from)
}

export function isThinking({ part }: Piece): boolean {
  return part.type === 'reasoning'
}

// --- internal ---

function hasReasoning({ pieces }: Entry): boolean {
  return pieces.some(hasReasoningText)
}

function hasReasoningText({ part }: Piece): boolean {
  return part.type === 'reasoning' && part.text !== ''
}
