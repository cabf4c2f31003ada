import type { Plugin } from '@palimpsest/host'
import type { Message, Session } from '@palimpsest/session'
import { requestTokens } from './pressure.js'
import { type PruneOptions, planPrune, prune } from './prune.js'
import { type CountTokens, estimateTokens, messageTokens } from './tokens.js'

export interface ToolResultPruneOptions extends PruneOptions {
  /**
   * Each pass breaks the prefix that a provider has cached: one is allowed for each so many tokens appended, begun
   * ones too. Default 50,000.
   */
  everyTokens?: number
  /** A pass must save this part of the request. Default 0.5. */
  minShare?: number
  /** Or so many tokens, where that is less. Default 20,000. */
  enoughTokens?: number
}

/**
 * The automatic policy: prunes before a request, in batches. A pass is due when it takes off half of the request or
 * 20,000 tokens, whichever is less, and there was less than one pass for each 50,000 tokens appended.
 */
export function toolResultPrune(options: ToolResultPruneOptions = {}): Plugin {
  requireOptions(options)
  return {
    name: 'tool-result-prune',
    setup(ctx) {
      ctx.around('model/request', ({ session }, next) => {
        if (isDue(session, options)) prune(session, options)
        return next()
      })
    },
  }
}

// --- internal ---

/** Whether a pass is worth its break of the cached prefix. All that it asks for is in the log. */
function isDue(session: Session, options: ToolResultPruneOptions): boolean {
  const { everyTokens = 50_000, minShare = 0.5, enoughTokens = 20_000, countTokens = estimateTokens } = options
  if (!hasAppended(session, countPasses(session) * everyTokens, countTokens)) return false
  const saved = planPrune(session, options).reduce((sum, each) => sum + each.tokensBefore - each.tokensAfter, 0)
  return saved > 0 && saved >= Math.min(enoughTokens, minShare * requestTokens(session, countTokens))
}

/** Stand-ins, visible or not, stand behind one another in the log as their pass wrote them. */
function countPasses(session: Session): number {
  const standIns = session.markers().filter(({ type, surfaceOp }) => type === 'tool/result' && surfaceOp !== 'append')
  return standIns.filter(({ seq }, index) => standIns[index - 1]?.seq !== seq - 1).length
}

/** Whether more than `tokens` were appended. Counts from the newest on, so that a long log is read no further than needed. */
function hasAppended(session: Session, tokens: number, countTokens: CountTokens): boolean {
  let left = tokens
  for (const { seq, surfaceOp } of session.markers().toReversed()) {
    if (surfaceOp === 'append')
      left -= messageTokens((session.at(seq)!.data as { message: Message }).message, countTokens)
    if (left < 0) return true
  }
  return false
}

function requireOptions({ everyTokens = 1, minShare = 1, enoughTokens = 0 }: ToolResultPruneOptions): void {
  if (!(everyTokens > 0)) throw new RangeError(`everyTokens: expected a number above 0, found ${everyTokens}`)
  if (!(minShare >= 0 && minShare <= 1))
    throw new RangeError(`minShare: expected a part from 0 to 1, found ${minShare}`)
  if (!(enoughTokens >= 0)) throw new RangeError(`enoughTokens: expected a number from 0 on, found ${enoughTokens}`)
}
