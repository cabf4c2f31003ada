import type { ReasoningPart } from '@palimpsest/session'
import { type Draft, type Entry, isOpaque, type Piece } from '../draft.js'
import { TARGETS } from '../request.js'
import type { Rule } from '../rule.js'

export const attemptsAreWhole: Rule = {
  name: 'attempts-are-whole',
  targets: TARGETS,
  codes: ['reasoning.superseded-attempt'],
  source: 'docs.claude.com/en/docs/build-with-claude/extended-thinking (thinking belongs to the answer that it led to)',
  healing: 'an answer of reasoning only, right before the one that replaced it, is not sent',
  heal(draft) {
    let next: Entry | undefined
    for (const entry of draft.entries.toReversed()) {
      if (entry.pieces.length === 0) continue
      if (next?.role !== 'assistant' || !isAttempt(entry, draft)) {
        next = entry
        continue
      }
      draft.report('reasoning.superseded-attempt', 'error', entry.origin)
      draft.lose('reasoning', 'of an attempt that another one replaced', entry.pieces.length)
      entry.pieces = []
      entry.isExplained = true
    }
  },
}

export const reasoningHasAPlace: Rule = {
  name: 'reasoning-has-a-place',
  targets: ['openai-chat'],
  codes: [],
  source: 'platform.openai.com/docs/api-reference/chat/create (assistant messages hold no reasoning)',
  healing: 'it is not sent, unless it bears no mark of a vendor and a port sends it that may know a place',
  heal(draft) {
    draft.filter('assistant', ({ part }, { given }) => {
      if (part.type !== 'reasoning') return true
      const isMarked = signerOf(part) !== undefined || given?.providerOptions?.palimpsest?.vendor !== undefined
      if (draft.options.byPort && !isMarked) return true
      draft.lose('reasoning', 'the target has no place for it')
      return false
    })
  },
}

export const reasoningHasNoReadableContent: Rule = {
  name: 'reasoning-has-no-readable-content',
  targets: ['openai-responses'],
  codes: ['reasoning.content-not-allowed'],
  source: 'openai/codex#36551 (array too long, maximum length 0)',
  healing: 'the item is not sent',
  heal(draft) {
    draft.filter('assistant', (piece, entry) => {
      const { content } = piece.part.providerOptions?.openai ?? {}
      if (piece.part.type !== 'reasoning' || !Array.isArray(content) || content.length === 0) return true
      return leaveOut(draft, piece, entry, 'reasoning.content-not-allowed', 'readable reasoning content')
    })
  },
}

export const reasoningIsOwn: Rule = {
  name: 'reasoning-is-own',
  targets: ['anthropic', 'openai-responses', 'gemini', 'deepseek'],
  codes: ['reasoning.foreign'],
  source:
    'openclaw/openclaw#84430, openai/codex#36551 (signatures and encrypted reasoning are read by their maker only)',
  healing: 'what another vendor signed is not sent',
  heal(draft) {
    draft.filter('assistant', (piece, entry) => {
      if (piece.part.type !== 'reasoning') return true
      const signer = signerOf(piece.part)
      if (signer === undefined || (signer === draft.facts.stateKey && isOwn(entry, draft))) return true
      return leaveOut(draft, piece, entry, 'reasoning.foreign', 'signed by another model')
    })
  },
}

export const reasoningIsSigned: Rule = {
  name: 'reasoning-is-signed',
  targets: ['anthropic', 'openai-responses'],
  codes: ['reasoning.unsigned', 'reasoning.hidden-text'],
  source:
    'openclaw/openclaw#84430 (Invalid signature in thinking block), openai/openai-agents-python#2020 (Item with id not found)',
  healing: 'without a signature it is not sent; signed it goes as stored, hidden text too',
  heal(draft) {
    draft.filter('assistant', (piece, entry) => {
      if (piece.part.type !== 'reasoning' || isOpaque(piece, draft.facts)) return true
      if (isSigned(piece.part, draft)) {
        const { signature } = piece.part.providerOptions?.anthropic ?? {}
        if (piece.part.text === '' && signature) draft.report('reasoning.hidden-text', 'info', piece.origin)
        return true
      }
      const members = { block: piece.origin.part ?? 0 }
      return leaveOut(draft, piece, entry, 'reasoning.unsigned', 'not signed', members)
    })
  },
}

/** Gemini shows summaries of its thoughts and wants none of them back; a signature on one is another matter. */
export const thoughtsAreSigned: Rule = {
  name: 'thoughts-are-signed',
  targets: ['gemini'],
  codes: [],
  source: 'ai.google.dev/gemini-api/docs/thought-signatures (what goes back is the signature)',
  healing: 'a thought without a signature is not sent',
  heal(draft) {
    draft.filter('assistant', piece => {
      if (piece.part.type !== 'reasoning' || isOpaque(piece, draft.facts)) return true
      if (isSignature(piece.part.providerOptions?.google?.thoughtSignature)) return true
      draft.lose('reasoning', 'a thought without a signature')
      return false
    })
  },
}

/** Text of base64 characters. */
export function isSignature(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9+/_=-]+$/.test(value)
}

/** Whether the message was written by one of the target's own models: an unmarked one counts as such. */
export function isOwn({ given }: Entry, { facts }: Draft): boolean {
  const { vendor, model } = given?.providerOptions?.palimpsest ?? {}
  return vendor === undefined || vendor === facts.vendor || (typeof model === 'string' && facts.models.test(model))
}

// --- internal ---

/** Reasoning and nothing else. The Responses API keeps it as items of their own, which other rules look at. */
function isAttempt({ role, pieces }: Entry, { target }: Draft): boolean {
  const reasoning = pieces.filter(({ part }) => part.type === 'reasoning')
  if (role !== 'assistant' || reasoning.length === 0) return false
  if (target === 'openai-responses' && reasoning.some(({ part }) => part.providerOptions?.openai)) return false
  return pieces.every(({ part }) => part.type === 'reasoning' || (part.type === 'text' && part.text === ''))
}

/** Under whose name the state stands that only its maker can read. */
function signerOf({ providerOptions = {} }: ReasoningPart): string | undefined {
  const { anthropic, openai, google } = providerOptions
  if (anthropic?.signature || anthropic?.redactedData) return 'anthropic'
  if (openai?.reasoningEncryptedContent || openai?.itemId || openai?.item) return 'openai'
  return google?.thoughtSignature ? 'google' : undefined
}

function isSigned({ providerOptions = {} }: ReasoningPart, { target }: Draft): boolean {
  const { anthropic, openai } = providerOptions
  const seal =
    target === 'anthropic' ? anthropic?.signature || anthropic?.redactedData : openai?.reasoningEncryptedContent
  return typeof seal === 'string' && seal !== ''
}

function leaveOut(
  draft: Draft,
  piece: Piece,
  entry: Entry,
  code: string,
  reason: string,
  members: Record<string, number> = {},
): false {
  draft.report(code, 'error', piece.origin, members)
  draft.lose('reasoning', reason)
  entry.isExplained = true
  return false
}
