import type { Loss, LossKind } from '../finding.js'

/** Losses of one kind and reason as one entry, in the order in which each was met first. */
export class LossCount {
  readonly #counts = new Map<string, Loss>()

  add(kind: LossKind, count: number, reason: string): void {
    if (count === 0) return
    const key = `${kind} ${reason}`
    const loss = this.#counts.get(key) ?? { kind, count: 0, reason }
    loss.count += count
    this.#counts.set(key, loss)
  }

  list(): Loss[] {
    return [...this.#counts.values()]
  }
}
