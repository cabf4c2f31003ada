/**
 * One piece of work that serves all who ask before it starts. Who asks while it runs is served by the
 * next one, as what they want seen or synced may have come too late for this one.
 */
export class Shared<T> {
  readonly #work: () => Promise<T>
  #running: Promise<T> | undefined
  #next: Promise<T> | undefined

  constructor(work: () => Promise<T>) {
    this.#work = work
  }

  request(): Promise<T> {
    if (this.#running === undefined) return this.#start()
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    )
    return this.#next
  }

  // --- internal ---

  #start(): Promise<T> {
    this.#next = undefined
    const running = this.#work()
    this.#running = running
    const end = () => {
      if (this.#running === running) this.#running = undefined
    }
    running.then(end, end)
    return running
  }
}
