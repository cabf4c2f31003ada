import type { SessionEvent } from './events.js'

/**
 * Which events of an open turn are still visible, told from the turn alone. Between two of its own
 * nodes the order is known. Of a replacement that reaches back before the turn it is not, but that one
 * names all that it shadows among its sources, and stands before the turn's own nodes.
 */
export class VisibleTail {
  #own: number[] = []
  #reachingBack: number[] = []
  readonly #below = new Map<number, { own: number[]; reachingBack: number[] }>()

  has(seq: number): boolean {
    return this.#own.includes(seq) || this.#reachingBack.includes(seq)
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
      this.#below.set(seq, { own: this.#own.splice(from, to - from + 1, seq), reachingBack: [] })
      return
    }
    const isShadowed = (node: number) => sources.includes(node)
    this.#below.set(seq, { own: this.#own.filter(isShadowed), reachingBack: this.#reachingBack.filter(isShadowed) })
    this.#own = this.#own.filter(node => !isShadowed(node))
    this.#reachingBack = [...this.#reachingBack.filter(node => !isShadowed(node)), seq]
  }

  /** What a reaching one had shadowed of the turn's own was the beginning of them. */
  #restore(node: number): void {
    const { own, reachingBack } = this.#below.get(node) ?? { own: [], reachingBack: [] }
    const at = this.#own.indexOf(node)
    this.#own.splice(Math.max(at, 0), at < 0 ? 0 : 1, ...own)
    this.#reachingBack = [...this.#reachingBack.filter(other => other !== node), ...reachingBack]
  }
}
