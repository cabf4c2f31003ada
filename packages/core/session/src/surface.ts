import { SessionError, type SessionErrorCode } from './errors.js'
import type { SessionEvent } from './events.js'
import type { SurfaceMarker } from './landmarks.js'

/** The ordered chain of events that the model sees now. One live object per session; what it returns is frozen. */
export interface Surface {
  readonly size: number
  /** Seqs of the visible events, in surface order: a frozen copy. */
  seqs(): readonly number[]
  has(seq: number): boolean
  readonly first: number | undefined
  readonly last: number | undefined
  /** Rises by replace and restore only. */
  readonly generation: number
  /** The node directly above a shadowed one. */
  coveredBy(seq: number): number | undefined
  /** The nodes directly below a replacement, in order; `[]` for others. */
  shadowed(seq: number): readonly number[]
}

/**
 * A node of the chain. A replacement keeps the chain that it shadows beneath it (`below`), so the
 * surface is a forest whose roots are visible, and an edit costs its range, never the surface.
 */
export interface SurfaceNode {
  readonly seq: number
  readonly type: string
  prev: SurfaceNode | undefined
  next: SurfaceNode | undefined
  above: SurfaceNode | undefined
  below: { readonly first: SurfaceNode; readonly last: SurfaceNode; readonly count: number } | undefined
  /** Where its message stands in the projection's list; trustworthy only up to the projection's clean end. */
  index: number
}

/** What one event will do to the surface; made by a plan, carried out by `applySurface`. */
export type SurfaceChange =
  | { kind: 'append'; node: SurfaceNode }
  | { kind: 'replace'; node: SurfaceNode; first: SurfaceNode; last: SurfaceNode; count: number }
  | { kind: 'restore'; node: SurfaceNode }

/** The chain, its map from seq to node, and how far the log is folded. Private to `Session`. */
export class SurfaceManager {
  head: SurfaceNode | undefined
  tail: SurfaceNode | undefined
  readonly nodes = new Map<number, SurfaceNode>()
  size = 0
  generation = 0
  /** The last event whose effect is in the chain. */
  _lastProcessedSeq = -1

  visible(seq: number): SurfaceNode | undefined {
    const node = this.nodes.get(seq)
    return node?.above === undefined ? node : undefined
  }

  seqs(): readonly number[] {
    return chainSeqs(this.head)
  }
}

/**
 * Checks what an event would do to the surface, and changes nothing. `toolCallIdAt` gives the call id
 * of a `tool/result` by seq. Costs the range of a replace, O(1) otherwise.
 */
export function planSurface(
  surface: SurfaceManager,
  event: SessionEvent,
  toolCallIdAt: (seq: number) => unknown,
): SurfaceChange | undefined {
  if (event.sourceEventSeqs !== undefined) checkSources(event.sourceEventSeqs, event.seq)
  if (event.surfaceOp === undefined) return undefined
  const change = planMarker(surface, event as SurfaceMarker)
  if (change.kind === 'restore') checkRestoreSources(event, change.node.seq)
  if (change.kind === 'replace') {
    checkComplete(event, change)
    if (event.type === 'tool/result') checkSameCall(event, change, toolCallIdAt)
  }
  return change
}

/** Finds the nodes that a marker names. Enough for a log whose checks were made when it was written. */
export function planMarker(surface: SurfaceManager, marker: SurfaceMarker): SurfaceChange {
  const op = marker.surfaceOp
  if (op === 'append') return { kind: 'append', node: createNode(marker) }
  if (op.op === 'restore') return { kind: 'restore', node: findReplacement(surface, op.node) }
  return { kind: 'replace', node: createNode(marker), ...findRange(surface, op.start, op.end) }
}

/** Carries out a plan. Never throws. */
export function applySurface(surface: SurfaceManager, change: SurfaceChange): void {
  if (change.kind === 'append') return link(surface, surface.tail, change.node, change.node, undefined, 1)
  surface.generation++
  const { node } = change
  if (change.kind === 'replace') {
    const { first, last, count } = change
    link(surface, first.prev, node, node, last.next, 1 - count)
    first.prev = undefined
    last.next = undefined
    for (let below: SurfaceNode | undefined = first; below !== undefined; below = below.next) below.above = node
    node.below = { first, last, count }
    return
  }
  const { first, last, count } = node.below!
  for (let below: SurfaceNode | undefined = first; below !== undefined; below = below.next) {
    below.above = undefined
    below.index = Number.POSITIVE_INFINITY // where it stood when it was shadowed says nothing about now
  }
  link(surface, node.prev, first, last, node.next, count - 1)
  surface.nodes.delete(node.seq)
}

/** The visible seqs after a list of markers, in surface order. */
export function foldSurface(markers: Iterable<SurfaceMarker>): readonly number[] {
  const surface = new SurfaceManager()
  for (const marker of markers) applySurface(surface, planMarker(surface, marker))
  return surface.seqs()
}

/** The public face of a chain: live, and without a way to change it. */
export function viewSurface(surface: SurfaceManager): Surface {
  return Object.freeze({
    get size() {
      return surface.size
    },
    get first() {
      return surface.head?.seq
    },
    get last() {
      return surface.tail?.seq
    },
    get generation() {
      return surface.generation
    },
    seqs: () => surface.seqs(),
    has: (seq: number) => surface.visible(seq) !== undefined,
    coveredBy: (seq: number) => surface.nodes.get(seq)?.above?.seq,
    shadowed: (seq: number) => chainSeqs(surface.nodes.get(seq)?.below?.first),
  })
}

// --- internal ---

function chainSeqs(first: SurfaceNode | undefined): readonly number[] {
  const seqs: number[] = []
  for (let node = first; node !== undefined; node = node.next) seqs.push(node.seq)
  return Object.freeze(seqs)
}

function createNode({ seq, type }: SurfaceMarker): SurfaceNode {
  return {
    seq,
    type,
    prev: undefined,
    next: undefined,
    above: undefined,
    below: undefined,
    index: Number.POSITIVE_INFINITY,
  }
}

/** Puts the chain `first…last` between two neighbours. */
function link(
  surface: SurfaceManager,
  prev: SurfaceNode | undefined,
  first: SurfaceNode,
  last: SurfaceNode,
  next: SurfaceNode | undefined,
  growth: number,
): void {
  first.prev = prev
  last.next = next
  if (prev === undefined) surface.head = first
  else prev.next = first
  if (next === undefined) surface.tail = last
  else next.prev = last
  if (first === last) surface.nodes.set(first.seq, first)
  surface.size += growth
}

/** Walks from both ends at once, so that a reversed range is told apart at the cost of the range, not of the surface. */
function findRange(surface: SurfaceManager, start: number, end: number) {
  const first = surface.visible(start)
  const last = surface.visible(end)
  if (first === undefined || last === undefined) {
    const missing = first === undefined ? start : end
    const above = surface.nodes.get(missing)?.above?.seq
    const found = above === undefined ? 'an event that is not on it' : `one shadowed by ${above}`
    fail(
      'SURFACE_RANGE_UNKNOWN',
      `replace ${start}…${end}: expected ${missing} on the surface, found ${found}; name visible events`,
    )
  }
  let count = 1
  let forward: SurfaceNode | undefined = first
  let beyond: SurfaceNode | undefined = last
  while (forward !== last) {
    forward = forward?.next
    beyond = beyond?.next
    if (forward === undefined || beyond === first) {
      fail(
        'SURFACE_RANGE_REVERSED',
        `replace ${start}…${end}: expected start before end in surface order, found ${end} first; swap them`,
      )
    }
    count++
  }
  return { first, last, count }
}

function findReplacement(surface: SurfaceManager, seq: number): SurfaceNode {
  const node = surface.visible(seq)
  if (node?.below !== undefined) return node
  const found =
    node !== undefined ? 'an event that replaced nothing' : surface.nodes.has(seq) ? 'a shadowed one' : 'none'
  return fail(
    'SURFACE_RESTORE_INVALID',
    `restore ${seq}: expected a visible replacement, found ${found}; restore level by level from the top`,
  )
}

function checkSources(sources: readonly number[], seq: number): void {
  let previous = -1
  let rising = true
  for (const source of sources) {
    if (source >= seq) fail('PROVENANCE_INVALID', `sourceEventSeqs: expected seqs below ${seq}, found ${source}`)
    rising &&= source > previous
    previous = source
  }
  if (!rising && new Set(sources).size !== sources.length) {
    fail('PROVENANCE_INVALID', 'sourceEventSeqs: expected each seq once, found one twice')
  }
}

function checkComplete(event: SessionEvent, { first, last }: { first: SurfaceNode; last: SurfaceNode }): void {
  const sources = event.sourceEventSeqs ?? []
  let i = 0
  let node: SurfaceNode | undefined = first
  while (node !== last.next && node?.seq === sources[i]) {
    node = node?.next
    i++
  }
  if (node === last.next) return
  const cited = new Set(sources)
  for (; node !== undefined && node !== last.next; node = node.next) {
    if (!cited.has(node.seq)) {
      fail(
        'PROVENANCE_INCOMPLETE',
        `expected sourceEventSeqs to name every event that the replacement shadows, found no ${node.seq}`,
      )
    }
  }
}

function checkRestoreSources(event: SessionEvent, node: number): void {
  const sources = event.sourceEventSeqs ?? []
  if (!sources.includes(node))
    fail('PROVENANCE_INCOMPLETE', `restore ${node}: expected sourceEventSeqs [${node}], found [${sources}]`)
  if (sources.length > 1) fail('PROVENANCE_INVALID', `restore ${node}: expected sourceEventSeqs [${node}], found more`)
}

function checkSameCall(
  event: SessionEvent,
  { first, count }: { first: SurfaceNode; count: number },
  toolCallIdAt: (seq: number) => unknown,
): void {
  const { toolCallId } = event.data as { toolCallId?: unknown }
  const shadowed = count > 1 ? `${count} events` : first.type
  if (count === 1 && first.type === 'tool/result' && toolCallIdAt(first.seq) === toolCallId) return
  fail(
    'TOOL_RESULT_REWRITE_INVALID',
    `a tool/result may replace one tool/result of its own call ${JSON.stringify(toolCallId)}, found ${shadowed} at ${first.seq}`,
  )
}

function fail(code: SessionErrorCode, message: string): never {
  throw new SessionError(code, message)
}
