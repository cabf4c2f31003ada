import type { Plugin } from '@palimpsest/host'
import type { Message, Session } from '@palimpsest/session'
import { type PruneOptions, planPrune, prune } from './prune.js'
import { type CountTokens, estimateTokens, totalTokens } from './tokens.js'

export interface ToolResultPruneOptions extends PruneOptions {
  /**
   * Tokens appended since the last pass before the next one: each pass breaks the prefix that a provider
   * has cached. Default 50,000.
   */
  everyTokens?: number
  /** The part of the request that a pass must save. Default 0.2. */
  minShare?: number
}

/** The automatic policy: before a request, prunes in batches, when enough has come and enough would be saved. */
export function toolResultPrune(options: ToolResultPruneOptions = {}): Plugin {
  return {
    name: 'tool-result-prune',
    setup(ctx) {
      const isDue = createSchedule(options)
      ctx.around('model/request', (call, next) => {
        if (isDue(call.session)) prune(call.session, options)
        return next()
      })
    },
  }
}

// --- internal ---

/** Whether a pass is worth its break of the cached prefix, by session. */
function createSchedule(options: ToolResultPruneOptions = {}): (session: Session) => boolean {
  const { everyTokens = 50_000, minShare = 0.2, countTokens = estimateTokens } = options
  return session => {
    const seq = lastPass(session)
    if (seq !== undefined && appendedSince(session, seq, countTokens) < everyTokens) return false
    const saved = planPrune(session, options).reduce((sum, { tokens }) => sum + tokens, 0)
    return saved > minShare * totalTokens(session.deriveMessages(), countTokens)
  }
}

/** The seq of the last stand-in, visible or not. */
function lastPass(session: Session): number | undefined {
  return session.markers().findLast(({ type, surfaceOp }) => type === 'tool/result' && surfaceOp !== 'append')?.seq
}

function appendedSince(session: Session, seq: number, countTokens: CountTokens): number {
  const appended = session.markers().filter(marker => marker.seq > seq && marker.surfaceOp === 'append')
  return totalTokens(
    appended.map(marker => (session.at(marker.seq)!.data as { message: Message }).message),
    countTokens,
  )
}
