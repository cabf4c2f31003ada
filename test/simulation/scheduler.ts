import { crc32 } from 'node:zlib'
import type { Random } from './random.js'

/** Who waits for something: stopped with it, woken with it, dead with it. */
export interface Owner {
  readonly name: string
  state: 'running' | 'stopped' | 'dead'
}

/** Who only looks: no fault is meant for it. */
export const OBSERVER: Owner = { name: 'observer', state: 'running' }

/**
 * All that is asynchronous in a simulation waits here and is resolved one by one, in an order that the
 * seed decides. While one thing runs, and all that follows from it at once, `current` says whose it is.
 */
export class Scheduler {
  /** Virtual milliseconds. */
  now = 0
  current: Owner = NOBODY
  /** Of everything that happened so far. */
  hash = 0
  readonly #random: Random
  readonly #onNote: ((line: string) => void) | undefined
  #waiting: Entry[] = []

  constructor(random: Random, onNote?: (line: string) => void) {
    this.#random = random
    this.#onNote = onNote
  }

  /** Makes something part of what happened. */
  note(what: string): void {
    const line = `${this.now} ${this.current.name} ${what}`
    this.hash = crc32(line, this.hash)
    this.#onNote?.(line)
  }

  /** Runs `run` some time later, not before the delay is over. Returns what takes it back. */
  later(what: string, run: () => void, delayMs = 0): () => void {
    const entry = { what, run, owner: this.current, due: this.now + delayMs }
    this.#waiting.push(entry)
    return () => {
      const at = this.#waiting.indexOf(entry)
      if (at >= 0) this.#waiting.splice(at, 1)
    }
  }

  wait(what: string, delayMs?: number): Promise<void> {
    return new Promise(resolve => this.later(what, resolve, delayMs))
  }

  /** Runs something of `owner`, and all that follows from it at once. */
  async as(owner: Owner, run: () => void): Promise<void> {
    this.current = owner
    run()
    await new Promise(resolve => real.setImmediate(resolve))
    this.current = NOBODY
  }

  /** Looks at something without being part of what happens. */
  observe<T>(look: () => T): T {
    const { current } = this
    this.current = OBSERVER
    try {
      return look()
    } finally {
      this.current = current
    }
  }

  /** Lets one of the waiting go on; `false` where nobody waits who could. */
  async step(): Promise<boolean> {
    const entry = this.#next()
    if (entry === undefined) return false
    this.now += this.#random.below(3)
    this.current = entry.owner
    this.note(entry.what)
    await this.as(entry.owner, entry.run)
    return true
  }

  /** What waits, for whoever asks why nothing goes on. */
  waiting(): string[] {
    return this.#waiting.map(({ what, owner }) => `${owner.name} (${owner.state}): ${what}`)
  }

  /** Puts the timers and the clock of this thread under the scheduler until the function it returns is called. */
  install(): () => void {
    const timers = {
      setTimeout: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
        this.later(`timer of ${ms} ms`, () => run(...args), ms),
      clearTimeout: (cancel?: () => void) => cancel?.(),
    }
    Object.assign(globalThis, timers)
    performance.now = () => this.now
    return () => {
      Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout })
      performance.now = real.performanceNow
    }
  }

  // --- internal ---

  #next(): Entry | undefined {
    const alive = this.#waiting.filter(({ owner }) => owner.state !== 'dead')
    this.#waiting = alive
    const awake = alive.filter(({ owner }) => owner.state === 'running')
    if (awake.length === 0) return undefined
    let ready = awake.filter(({ due }) => due <= this.now)
    if (ready.length === 0) {
      this.now = Math.min(...awake.map(({ due }) => due))
      ready = awake.filter(({ due }) => due <= this.now)
    }
    const entry = this.#random.pick(ready)
    alive.splice(alive.indexOf(entry), 1)
    return entry
  }
}

// --- internal ---

interface Entry {
  readonly what: string
  readonly run: () => void
  readonly owner: Owner
  readonly due: number
}

const NOBODY: Owner = { name: '-', state: 'running' }

const real = { setImmediate, setTimeout, clearTimeout, performanceNow: performance.now }
