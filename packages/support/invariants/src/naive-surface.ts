import type { SurfaceMarker } from '@palimpsest/session'

type Mark = Pick<SurfaceMarker, 'seq' | 'surfaceOp'>

/** The surface as a plain list, made from the log's markers one by one: what the kernel's chain must equal. */
export class NaiveSurface {
  seqs: number[] = []
  /** A marker named what was not on the surface: from there on nobody knows what is. */
  isLost = false
  readonly #below = new Map<number, readonly number[]>()

  fold({ seq, surfaceOp: op }: Mark): void {
    if (op === 'append') this.seqs.push(seq)
    else if (op.op === 'replace') this.#replace(this.seqs.indexOf(op.start), this.seqs.indexOf(op.end), seq)
    else this.#restore(this.seqs.indexOf(op.node), op.node)
  }

  /** Goes on from what is known to be there. */
  resume(seqs: readonly number[]): void {
    this.seqs = [...seqs]
    this.isLost = false
  }

  // --- internal ---

  #replace(first: number, last: number, seq: number): void {
    this.isLost ||= first < 0 || last < first
    if (this.isLost) return
    this.#below.set(seq, this.seqs.splice(first, last - first + 1, seq))
  }

  #restore(at: number, node: number): void {
    const below = this.#below.get(node)
    this.isLost ||= at < 0 || below === undefined
    if (this.isLost || below === undefined) return
    this.seqs = this.seqs.slice(0, at).concat(below, this.seqs.slice(at + 1))
    this.#below.delete(node)
  }
}
