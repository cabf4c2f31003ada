import type { Part, ProviderOptions } from '@palimpsest/session'
import { type Entry, isClientCall, type Piece } from '../draft.js'
import type { Rule } from '../rule.js'
import { isOwn, isSignature } from './reasoning.js'

export const signaturesAreBase64: Rule = {
  name: 'signatures-are-base64',
  targets: ['gemini'],
  codes: ['signature.malformed'],
  source: 'brightwave-inc/tidebreak#1535 (thoughtSignature: bytes as base64 text)',
  healing: 'one that is none is not sent',
  heal(draft) {
    for (const { role, pieces } of draft.entries) {
      if (role !== 'assistant') continue
      for (const piece of pieces) {
        const { thoughtSignature } = piece.part.providerOptions?.google ?? {}
        if (thoughtSignature === undefined || isSignature(thoughtSignature)) continue
        draft.report('signature.malformed', 'info', piece.origin)
        piece.part = signedWith(piece.part, undefined)
      }
    }
  },
}

export const callsAreSigned: Rule = {
  name: 'calls-are-signed',
  targets: ['gemini'],
  codes: ['signature.skipped'],
  source:
    'rowboatlabs/rowboat#694, ai.google.dev/gemini-api/docs/thought-signatures (Gemini 3; the skip marker is documented there)',
  healing: 'the first call of a step that another model made gets the marker that skips the check',
  heal(draft) {
    if (!/gemini-3/i.test(draft.model)) return
    const current = draft.entries.findLastIndex(({ role }) => role === 'user')
    const open = new Set(draft.entries.slice(Math.max(0, current)))
    for (const run of draft.runs()) {
      const first = firstCall(run)
      if (first === undefined || first.piece.part.providerOptions?.google?.thoughtSignature !== undefined) continue
      if (isOwn(first.entry, draft) && !open.has(first.entry)) continue
      draft.report('signature.skipped', 'info', first.piece.origin)
      first.piece.part = signedWith(first.piece.part, SKIP)
    }
  },
}

// --- internal ---

const SKIP = 'skip_thought_signature_validator'

function firstCall(run: readonly Entry[]): { piece: Piece; entry: Entry } | undefined {
  for (const entry of run) for (const piece of entry.pieces) if (isClientCall(piece)) return { piece, entry }
  return undefined
}

function signedWith(part: Part, thoughtSignature: string | undefined): Part {
  const { thoughtSignature: _, ...rest } = part.providerOptions?.google ?? {}
  const google = { ...rest, ...(thoughtSignature !== undefined && { thoughtSignature }) }
  const providerOptions: ProviderOptions = { ...part.providerOptions, google }
  return { ...part, providerOptions } as Part
}
