import type { Finding } from '../../finding.js'
import { type Json, stringOf } from '../../json/shapes.js'

interface Compaction {
  id: string
  where: string
  order: number
  /** Those that ran when it began, and those that began while it ran. */
  readonly beside: Set<Compaction>
  isCommitted: boolean
  isReported: boolean
}

/** Compactions that run at the same time. The first whose replacement is committed wins; that is said where the second began. */
export class Compactions {
  readonly #open = new Set<Compaction>()
  readonly #all = new Map<string, Compaction>()

  start({ compactionId }: Json, where: string): void {
    const id = stringOf(compactionId) ?? ''
    const order = this.#all.size
    const compaction = { id, where, order, beside: new Set(this.#open), isCommitted: false, isReported: false }
    for (const other of this.#open) other.beside.add(compaction)
    this.#open.add(compaction)
    this.#all.set(id, compaction)
  }

  end({ compactionId }: Json): void {
    const compaction = this.#all.get(stringOf(compactionId) ?? '')
    if (compaction !== undefined) this.#open.delete(compaction)
  }

  commit(id: string): void {
    const compaction = this.#all.get(id)
    if (compaction !== undefined) compaction.isCommitted = true
  }

  /** A replacement came too late: whether another compaction over the same range is why. */
  refuse(id: string, report: (finding: Finding) => void): void {
    const late = this.#all.get(id)
    const winner = late && [...late.beside].find(other => other.isCommitted)
    if (late === undefined || winner === undefined) return
    const second = late.order > winner.order ? late : winner
    if (second.isReported) return
    second.isReported = true
    report({ code: 'compaction.overlap', severity: 'error', where: second.where, id: second.id })
  }
}
