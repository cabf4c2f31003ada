/** A longer timer fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** The turn was told to stop, and what it waited for is left behind. Never leaves this package. */
export class Stopped extends Error {
  override readonly name = 'Stopped'

  constructor() {
    super('the turn was stopped')
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
    const release = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
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
  const follow = () => controller.abort(parent.reason)
  if (parent.aborted) follow()
  else parent.addEventListener('abort', follow)
  return { controller, release: () => parent.removeEventListener('abort', follow) }
}

// --- internal ---

const none = () => 0
