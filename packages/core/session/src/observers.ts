import type { SessionEvent } from './events.js'
import type { Session } from './session.js'

export type SessionListener = (event: SessionEvent, session: Session) => void
export type ErrorListener = (error: unknown, event: SessionEvent) => void

/** The listeners of one session. One that throws stops neither the others nor the append. */
export class Observers {
  readonly #onError: ErrorListener
  #entries: readonly { listener: SessionListener }[] = []

  constructor(onError: ErrorListener = rethrowLater) {
    this.#onError = onError
  }

  add(listener: SessionListener): () => void {
    const entry = { listener }
    this.#entries = [...this.#entries, entry]
    return () => {
      this.#entries = this.#entries.filter(other => other !== entry)
    }
  }

  /** Whoever is taken off meanwhile is not told any more; whoever is added meanwhile hears the next event. */
  tell(event: SessionEvent, session: Session): void {
    for (const entry of this.#entries) {
      if (!this.#entries.includes(entry)) continue
      try {
        entry.listener(event, session)
      } catch (error) {
        this.#report(error, event)
      }
    }
  }

  #report(error: unknown, event: SessionEvent): void {
    try {
      this.#onError(error, event)
    } catch (failure) {
      rethrowLater(failure)
    }
  }
}

// --- internal ---

function rethrowLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
