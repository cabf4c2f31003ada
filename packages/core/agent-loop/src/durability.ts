import { faultOf } from './errors.js'
import type { Entry } from './inbox.js'

/** The session's flush, and the inputs that wait to hear that they are safe. */
export interface Durability {
  /** `entry` is logged as event `seq` and settles with the next flush. */
  logged(entry: Entry, seq: number): void
  /** Rejects with `FlushFailed`; the inputs that waited, with what the store threw. */
  flush(): Promise<void>
  /** At the end of a turn: what no flush has settled is flushed now, and nobody waits for it. */
  settle(): void
}

export function createDurability(flush: () => Promise<void> | void): Durability {
  let waiting: { entry: Entry; seq: number }[] = []
  const run = async () => {
    const batch = waiting
    waiting = []
    try {
      await flush()
    } catch (error) {
      for (const { entry } of batch) entry.reject(error)
      throw new FlushFailed(error)
    }
    for (const { entry, seq } of batch) entry.resolve(seq)
  }
  return {
    logged: (entry, seq) => waiting.push({ entry, seq }),
    flush: run,
    settle() {
      if (waiting.length > 0) run().catch(() => {})
    },
  }
}

// --- internal ---

/** The store did not take what has to be safe before the next effect. Keeps the store's own code. */
class FlushFailed extends Error {
  override readonly name = 'FlushFailed'
  readonly code: string

  constructor(cause: unknown) {
    const { code, message } = faultOf(cause, 'FLUSH_FAILED')
    super(message, { cause })
    this.code = code
  }
}
