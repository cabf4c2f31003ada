import type { SessionEvent } from './events.js'

/**
 * Which events of an open turn are still visible, told from the turn alone. The order of its own nodes is
 * known. A replacement that reaches back before the turn stands before them, and shadows them up to where
 * its range ends. Among several of those the order is not known, but each names all that it shadows.
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
    else this.#replace(seq, surfaceOp, sourceEventSeqs)
  }

  // --- internal ---

  #replace(seq: number, { start, end }: { start: number; end: number }, sources: readonly number[]): void {
    const from = this.#own.indexOf(start)
    const to = this.#own.indexOf(end)
    if (from >= 0) {
      this.#below.set(seq, { own: this.#own.splice(from, to - from + 1, seq), reachingBack: [] })
      return
    }
    const isShadowed = (node: number) => sources.includes(node)
    this.#below.set(seq, { own: this.#own.splice(0, to + 1), reachingBack: this.#reachingBack.filter(isShadowed) })
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
