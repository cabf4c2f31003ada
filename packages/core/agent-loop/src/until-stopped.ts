/** A longer timer fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** The turn was told to stop, and what it waited for is left behind. Never leaves this package. */
export class Stopped extends Error {
  override readonly name = 'Stopped'

  constructor() {
    super('the turn was stopped')
  }
}

/** Whether this is a stop. What a port or a tool throws may be anything, also what throws when it is looked at. */
export function isStopped(error: unknown): boolean {
  try {
    return error instanceof Stopped
  } catch {
    return false
  }
}

/**
 * Waits for `promise`, or rejects with `Stopped` once `signal` is aborted and `graceMs` has passed.
 * What is left behind may still settle; nobody hears of it.
 */
export function untilStopped<T>(promise: Promise<T>, signal: AbortSignal, graceMs: () => number = none): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const leave = () => reject(new Stopped())
    const stop = () => {
      const wait = graceMs()
      if (wait > 0) timer = setTimeout(leave, wait)
      else leave()
    }
    const off = onAbort(signal, stop)
    const release = () => {
      clearTimeout(timer)
      off()
    }
    promise.then(
      value => {
        release()
        resolve(value)
      },
      error => {
        release()
        reject(error)
      },
    )
  })
}

export function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new Stopped()
}

/** A controller that follows `parent` until it is released. */
export function childController(parent: AbortSignal): { controller: AbortController; release: () => void } {
  const controller = new AbortController()
  return { controller, release: onAbort(parent, () => controller.abort(parent.reason)) }
}

/**
 * Runs `run` when `signal` is aborted, or now if it is. Answers what takes it off. However many wait, the
 * signal itself has one listener: Node warns of a leak at the eleventh.
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) {
    run()
    return none
  }
  const waiting = listeners.get(signal) ?? listen(signal)
  waiting.add(run)
  return () => waiting.delete(run)
}

// --- internal ---

const none = () => 0
const listeners = new WeakMap<AbortSignal, Set<() => void>>()

function listen(signal: AbortSignal): Set<() => void> {
  const waiting = new Set<() => void>()
  listeners.set(signal, waiting)
  signal.addEventListener('abort', () => {
    for (const run of waiting) run()
  })
  return waiting
}
