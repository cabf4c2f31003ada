import type { ModelOutcome, ModelRequestCall, Plugin } from '@palimpsest/host'
import type { Session } from '@palimpsest/session'
import { type CompactOptions, compact } from './compact.js'
import { CompactionError } from './errors.js'
import { planCompaction } from './plan-compaction.js'
import { isOverflow, requestTokens } from './pressure.js'
import { estimateTokens } from './tokens.js'

export interface CompactionOptions extends Omit<CompactOptions, 'range' | 'signal'> {
  /** The model's context window in tokens, less what its answer may take; by model name where they differ. */
  window: number | ((model: string) => number)
  /** The part of the window from which on a request is compacted first. Default 0.8. */
  threshold?: number
}

/**
 * The automatic policy: before a request that would fill more than `threshold` of the window, and after
 * one that the provider refused for its length, the older part of the session is compacted. A compaction
 * that fails, or does not help, is reported and not tried again before the request has grown.
 */
export function compaction(options: CompactionOptions): Plugin {
  requireOptions(options)
  return {
    name: 'compaction',
    setup(ctx) {
      const policy = createPolicy(options, error => ctx.report(error))
      ctx.around('model/request', async (call, next) => {
        await policy.relieve(call)
        const outcome = await next()
        return (await policy.shrinkAfter(outcome, call)) ? next() : outcome
      })
    },
  }
}

// --- internal ---

function createPolicy(options: CompactionOptions, report: (error: unknown) => void) {
  const { countTokens = estimateTokens, threshold = 0.8 } = options
  /** The size that a request must have outgrown before a session is compacted again. */
  const patience = new WeakMap<Session, number>()

  const shrink = async ({ session, signal }: ModelRequestCall, tokens: number): Promise<boolean> => {
    if (tokens <= (patience.get(session) ?? 0) || planCompaction(session, options) === undefined) return false
    try {
      await compact(session, { ...options, signal })
    } catch (error) {
      if (signal.aborted || !(error instanceof CompactionError)) throw error
      report(error)
      patience.set(session, tokens * REGROWN)
      return false
    }
    patience.set(session, requestTokens(session, countTokens) * REGROWN)
    return true
  }

  return {
    async relieve(call: ModelRequestCall): Promise<void> {
      const tokens = requestTokens(call.session, countTokens)
      if (tokens > threshold * windowOf(options, call.session)) await shrink(call, tokens)
    },
    /** Whether the refused request is shorter now and may be tried again, once. */
    async shrinkAfter({ failure }: ModelOutcome, call: ModelRequestCall): Promise<boolean> {
      if (failure === undefined || !isOverflow(failure)) return false
      return shrink(call, requestTokens(call.session, countTokens))
    },
  }
}

const REGROWN = 1.1

function windowOf({ window }: CompactionOptions, session: Session): number {
  if (typeof window === 'number') return window
  return window(session.requestAt(session.length)?.model ?? '')
}

function requireOptions({ summarize, window, threshold = 0.8 }: CompactionOptions): void {
  if (typeof summarize !== 'function') {
    throw new TypeError('compaction: expected a summarize function, found none; summarizeWith(model) makes one')
  }
  if (typeof window !== 'function' && !(window > 0)) {
    throw new RangeError(`compaction: expected window, the model's context in tokens, found ${window}`)
  }
  if (!(threshold > 0 && threshold <= 1)) {
    throw new RangeError(`compaction: expected a threshold above 0 and up to 1, found ${threshold}`)
  }
}
