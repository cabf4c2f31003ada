import type { LogBuilder, Replaced } from '../../log-builder.js'
import type { SessionTree } from './session-tree.js'

interface Step {
  readonly id: string
  /** Nodes on the surface once it is written. */
  length: number
}

/**
 * Which entries beside the path can stand in the log as what was in view then: those that go on from the path's end so
 * far, up to a message of the path that takes their place. A branch that goes on from further up cannot.
 */
export class LeftBranches {
  /** For each entry: 1 where the next message of the path can take the place of what stands before it. */
  readonly #canLeave: Uint8Array
  /** The end of the path so far, and what goes on from it beside the path. */
  #steps: Step[] = [{ id: '', length: 0 }]
  #entering: { id: string; isOnPath: boolean } | undefined

  constructor(
    private readonly tree: SessionTree,
    private readonly log: Pick<LogBuilder, 'surface'>,
  ) {
    this.#canLeave = new Uint8Array(tree.entries.length)
    let next = 0
    for (let i = tree.entries.length - 1; i >= 0; i--) {
      this.#canLeave[i] = next
      const { shows } = tree.entries[i]!
      if (tree.places[i]! >= 0 && shows !== undefined) next = shows === 'message' ? 1 : 0
    }
  }

  /** `undefined`: it can only be a note. `leaves`: what its message takes the place of. */
  enter(index: number, at: number | undefined): { leaves?: Replaced } | undefined {
    const { id, parentId, shows } = this.tree.entries[index]!
    const isOnPath = at !== undefined
    const from = isOnPath ? 0 : this.#parentStep(parentId)
    if (!isOnPath && (!this.#canLeave[index] || from < 0 || shows === 'compaction')) return undefined
    const leaves = this.#leftBehind(this.#steps[from]!.length)
    if (!isOnPath && leaves !== undefined && shows === 'result') return undefined
    this.#steps.length = from + 1
    this.#entering = { id, isOnPath }
    return leaves === undefined ? {} : { leaves }
  }

  /** After the entry is written; `pending` is the first node of what still waits to be replaced. */
  entered(pending: number | undefined): void {
    const { surface } = this.log
    const length = pending === undefined ? surface.length : surface.indexOf(pending)
    const { id, isOnPath } = this.#entering!
    if (isOnPath) this.#steps = [{ id, length }]
    else this.#steps.push({ id, length })
  }

  // --- internal ---

  #parentStep(parentId: string | null | undefined): number {
    if (parentId === undefined) return -1
    return this.#steps.findLastIndex(({ id }) => id === (parentId ?? ''))
  }

  #leftBehind(length: number): Replaced | undefined {
    const { surface } = this.log
    return surface.length > length ? { start: surface[length]!, end: surface.at(-1)! } : undefined
  }
}
