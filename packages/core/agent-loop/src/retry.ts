import type { ModelOutcome, Plugin } from '@palimpsest/host'
import { onAbort, untilStopped } from './until-stopped.js'

export interface RetryOptions {
  /** Attempts in all; default 4. */
  attempts?: number
  /** The first wait, doubled each time; default 1,000. */
  baseDelayMs?: number
  /** The longest wait, and the longest that a provider may ask for; default 60,000. */
  maxDelayMs?: number
  /** How to wait; for tests. A cancel does not wait for it. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>
}

/**
 * Asks again, with back-off, after a failure that says it is retryable. `retryAfterMs` is honoured: nothing is
 * sent earlier, and a provider that wants more than `maxDelayMs` has the last word.
 */
export function retry(options: RetryOptions = {}): Plugin {
  const { attempts = 4, baseDelayMs = 1000, maxDelayMs = 60_000, sleep = sleepFor } = options
  const delayOf = ({ failure }: ModelOutcome, attempt: number): number | undefined => {
    if (!failure?.retryable || attempt >= attempts) return undefined
    const delay = Math.max(failure.retryAfterMs ?? 0, Math.min(baseDelayMs * 2 ** (attempt - 1), maxDelayMs))
    return delay > maxDelayMs ? undefined : delay
  }
  return {
    name: 'retry',
    setup(ctx) {
      ctx.around('model/request', async ({ signal }, next) => {
        for (let attempt = 1; ; attempt++) {
          const outcome = await next()
          const delay = delayOf(outcome, attempt)
          if (delay === undefined) return outcome
          await untilStopped(sleep(delay, signal), signal)
        }
      })
    },
  }
}

// --- internal ---

function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(() => {
      off()
      resolve()
    }, ms)
    const off = onAbort(signal, () => clearTimeout(timer))
  })
}
