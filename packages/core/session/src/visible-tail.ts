import type { SessionEvent } from './events.js'

/**
 * Which events of an open turn are still visible, told from the turn alone. Between two of its own
 * nodes the order is known. Of a replacement that reaches back before the turn it is not, but that one
 * names all that it shadows among its sources, and stands before the turn's own nodes.
 */
export class VisibleTail {
  #own: number[] = []
  readonly #reachingBack = new Set<number>()
  readonly #below = new Map<number, readonly number[]>()

  has(seq: number): boolean {
    return this.#own.includes(seq) || this.#reachingBack.has(seq)
  }

  fold({ seq, surfaceOp, sourceEventSeqs = [] }: SessionEvent): void {
    if (surfaceOp === undefined) return
    if (surfaceOp === 'append') this.#own.push(seq)
    else if (surfaceOp.op === 'restore') this.#restore(surfaceOp.node)
    else this.#replace(seq, this.#own.indexOf(surfaceOp.start), this.#own.indexOf(surfaceOp.end), sourceEventSeqs)
  }

  // --- internal ---

  #replace(seq: number, from: number, to: number, sources: readonly number[]): void {
    if (from >= 0 && to >= from) {
      this.#below.set(seq, this.#own.splice(from, to - from + 1, seq))
      return
    }
    const shadowed = [...this.#reachingBack, ...this.#own].filter(node => sources.includes(node))
    for (const node of shadowed) this.#reachingBack.delete(node)
    this.#own = this.#own.filter(node => !shadowed.includes(node))
    this.#reachingBack.add(seq)
    this.#below.set(seq, shadowed)
  }

  /** What a reaching one had shadowed of the turn's own was the beginning of them. */
  #restore(node: number): void {
    const below = this.#below.get(node) ?? []
    const at = this.#own.indexOf(node)
    if (at >= 0) {
      this.#own.splice(at, 1, ...below)
      return
    }
    this.#reachingBack.delete(node)
    this.#own.unshift(...below.filter(seq => !this.#below.has(seq)))
    for (const seq of below) if (this.#below.has(seq)) this.#reachingBack.add(seq)
  }
}
