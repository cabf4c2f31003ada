import type { LogBuilder, Replaced } from '../../log-builder.js'
import type { Place } from '../../place.js'

/**
 * Which nodes the events of a conversation became, so that a set of events can be forgotten: what it names stands in
 * no order, and the summary takes the place of the longest stretch of the surface that holds nothing else.
 */
export class Condensation {
  readonly #log: LogBuilder
  readonly #nodes = new Map<unknown, number[]>()

  constructor(log: LogBuilder) {
    this.#log = log
  }

  /** Runs what an event writes, and notes the nodes that came of it. */
  noting(id: unknown, write: () => void): void {
    const before = this.#log.surface.length
    write()
    const made = this.#log.surface.slice(before)
    if (made.length > 0) this.#nodes.set(id, [...(this.#nodes.get(id) ?? []), ...made])
  }

  forget(ids: readonly unknown[], summary: string, place: Place): void {
    const forgotten = new Set(ids.flatMap(id => this.#nodes.get(id) ?? []))
    const replacing = this.#stretch(forgotten)
    if (replacing === undefined && summary === '') return
    const text = summary === '' ? 'Earlier events were removed.' : summary
    this.#log.context([{ type: 'text', text }], 'condensation', place, replacing ? { replacing } : {})
  }

  // --- internal ---

  #stretch(nodes: ReadonlySet<number>): Replaced | undefined {
    let best: number[] = []
    let run: number[] = []
    for (const seq of this.#log.surface) {
      run = nodes.has(seq) ? [...run, seq] : []
      if (run.length > best.length) best = run
    }
    return best.length === 0 ? undefined : { start: best[0]!, end: best.at(-1)! }
  }
}
