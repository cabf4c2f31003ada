import type { CachedPrefix, Message, Session } from '@palimpsest/session'
import { type CountTokens, messageTokens, totalTokens } from './tokens.js'

/** What one edit did to the request, in tokens of all visible messages. */
export interface EditCost {
  tokensBefore: number
  tokensAfter: number
  tokensSaved: number
  /** `messages` and `tokens`: the leading part that stays as it was; `tokensBroken`: the rest of the old request. */
  cachedPrefix: CachedPrefix
}

/**
 * What an edit will do to the visible messages; `standIns` holds what comes in the place of each node that goes.
 * Counted before anything is appended, as a tokenizer may throw.
 */
export function planCost(
  session: Session,
  standIns: ReadonlyMap<number, readonly Message[]>,
  countTokens: CountTokens,
): EditCost {
  const before = session.deriveMessages()
  const after = session.surface.seqs().flatMap((seq, i) => standIns.get(seq) ?? [before[i]!])
  return compareMessages(before, after, countTokens)
}

export function compareMessages(
  before: readonly Message[],
  after: readonly Message[],
  countTokens: CountTokens,
): EditCost {
  const tokensBefore = totalTokens(before, countTokens)
  const tokensAfter = totalTokens(after, countTokens)
  const messages = equalPrefix(before, after)
  const tokens = before.slice(0, messages).reduce((sum, message) => sum + messageTokens(message, countTokens), 0)
  return {
    tokensBefore,
    tokensAfter,
    tokensSaved: tokensBefore - tokensAfter,
    cachedPrefix: { messages, tokens, tokensBroken: tokensBefore - tokens },
  }
}

// --- internal ---

/** One event gives one message object for ever, so equal text in another object is rare, and compared. */
function equalPrefix(before: readonly Message[], after: readonly Message[]): number {
  const end = Math.min(before.length, after.length)
  for (let i = 0; i < end; i++) {
    if (before[i] !== after[i] && JSON.stringify(before[i]) !== JSON.stringify(after[i])) return i
  }
  return end
}
