import type { Message } from './messages.js'
import type { SurfaceChange, SurfaceManager, SurfaceNode } from './surface.js'

/**
 * The messages of the surface, kept up to date by what changed. The list is right up to `#clean`, the
 * last node whose `index` can be trusted; the rest is filled in by the next `derive`. So a new message
 * costs O(1), an edit costs what stands behind it, and nothing changed costs nothing.
 */
export class Projection {
  #messages: Message[] = []
  #clean: SurfaceNode | undefined
  #snapshot: Message[] | undefined

  /** Call before the change is applied, while the nodes still have their old neighbours. */
  follow(change: SurfaceChange, message: Message | undefined): void {
    this.#snapshot = undefined
    if (change.kind === 'append') return
    const first = change.kind === 'replace' ? change.first : change.node
    if (!this.#covers(first)) return
    if (change.kind === 'replace' && change.count === 1 && message !== undefined)
      this.#swap(first, change.node, message)
    else this.#cutBefore(first)
  }

  /** A frozen array of frozen messages: the same one while nothing changed. Throws what `messageAt` throws, and changes nothing then. */
  derive(surface: SurfaceManager, messageAt: (seq: number) => Message): Message[] {
    if (this.#snapshot !== undefined) return this.#snapshot
    const first = this.#clean === undefined ? surface.head : this.#clean.next
    const fresh: Message[] = [] // complete before anything changes: a half-moved end would make old indices look right
    for (let node = first; node !== undefined; node = node.next) fresh.push(messageAt(node.seq))
    let node = first
    for (const message of fresh) {
      node!.index = this.#messages.push(message) - 1
      node = node!.next
    }
    this.#clean = surface.tail
    this.#snapshot = this.#messages.slice()
    Object.freeze(this.#snapshot)
    return this.#snapshot
  }

  // --- internal ---

  /** A node behind the clean end has an index that is no smaller, however old that index is. */
  #covers(node: SurfaceNode): boolean {
    return this.#clean !== undefined && node.index <= this.#clean.index
  }

  #swap(old: SurfaceNode, node: SurfaceNode, message: Message): void {
    node.index = old.index
    this.#messages[node.index] = message
    if (this.#clean === old) this.#clean = node
  }

  #cutBefore(first: SurfaceNode): void {
    this.#messages.length = first.index
    this.#clean = first.prev
  }
}
