import { SessionError, type SessionErrorCode } from './errors.js'
import type { RestoreOp, SessionEvent, SurfaceOp } from './events.js'
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

/** Visible nodes `first…last`; `inOrder`: the sources begin with exactly these. */
interface SurfaceRange {
  first: SurfaceNode
  last: SurfaceNode
  count: number
  inOrder: boolean
}

/** What one event will do to the surface; made by a plan, carried out by `applySurface`. */
export type SurfaceChange =
  | { kind: 'append'; node: SurfaceNode }
  | ({ kind: 'replace'; node: SurfaceNode } & SurfaceRange)
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
  if (event.surfaceOp !== undefined) checkNamed(surface, event.surfaceOp)
  if (event.sourceEventSeqs !== undefined) checkSources(event.sourceEventSeqs, event.seq)
  if (event.surfaceOp === undefined) return undefined
  const cited = event.sourceEventSeqs ?? []
  const change = planMarker(surface, event as SurfaceMarker, cited)
  if (change.kind === 'restore') checkRestoreSources(cited, change.node.seq)
  if (change.kind === 'replace') {
    if (!change.inOrder) checkComplete(cited, change.first, change.last)
    if (event.type === 'tool/result') checkSameCall(event, change, toolCallIdAt)
  }
  return change
}

/**
 * Finds the nodes that a marker names. Without `cited` it trusts the marker: enough for a log whose
 * checks were made when it was written.
 */
export function planMarker(surface: SurfaceManager, marker: SurfaceMarker, cited?: readonly number[]): SurfaceChange {
  const op = marker.surfaceOp
  if (op === 'append') return { kind: 'append', node: createNode(marker) }
  if (typeof op !== 'object' || op === null) failMark(marker, op)
  if (op.op === 'restore') return { kind: 'restore', node: findReplacement(surface, op.node) }
  return { kind: 'replace', node: createNode(marker), ...findRange(surface, op.start, op.end, cited) }
}

/** Carries out a plan. Never throws. */
export function applySurface(surface: SurfaceManager, change: SurfaceChange): void {
  if (change.kind !== 'restore') surface.nodes.set(change.node.seq, change.node)
  if (change.kind === 'append') {
    link(surface, surface.tail, change.node, change.node, undefined, 1)
    return
  }
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
  surface.size += growth
}

/** What an edit names comes first: sources that repeat a wrong name are no second mistake. */
function checkNamed(surface: SurfaceManager, op: SurfaceOp | RestoreOp): void {
  if (op === 'append') return
  if (op.op === 'restore') findReplacement(surface, op.node)
  else findEnds(surface, op.start, op.end)
}

/** A range longer than what is cited cannot be right, so the walk ends there: it never scans the surface. */
function findRange(surface: SurfaceManager, start: number, end: number, cited?: readonly number[]): SurfaceRange {
  const { first, last } = findEnds(surface, start, end)
  const limit = cited?.length ?? surface.size
  let inOrder = cited?.[0] === start
  let count = 1
  for (let node = first; node !== last; count++) {
    if (node.next === undefined || count >= limit) failUnreached(first, last, cited ?? [])
    node = node.next
    inOrder &&= node.seq === cited?.[count]
  }
  return { first, last, count, inOrder }
}

function findEnds(surface: SurfaceManager, start: number, end: number) {
  const first = surface.visible(start)
  const last = surface.visible(end)
  if (first === undefined || last === undefined) failUnknown(surface, start, end, first === undefined ? start : end)
  return { first, last }
}

function failUnknown(surface: SurfaceManager, start: number, end: number, missing: number): never {
  const above = surface.nodes.get(missing)?.above?.seq
  const found = above === undefined ? 'an event that is not on it' : `one shadowed by ${above}`
  return fail(
    'SURFACE_RANGE_UNKNOWN',
    `replace ${start}…${end}: expected ${missing} on the surface, found ${found}; name visible events`,
  )
}

/** Walks both ways from the start to tell a reversed range from one that is not cited whole, at the cost of the distance. */
function failUnreached(first: SurfaceNode, last: SurfaceNode, cited: readonly number[]): never {
  let forward: SurfaceNode | undefined = first
  let backward: SurfaceNode | undefined = first
  while (forward !== last && backward !== last) {
    forward = forward?.next
    backward = backward?.prev
  }
  if (forward === last) checkComplete(cited, first, last)
  return fail(
    'SURFACE_RANGE_REVERSED',
    `replace ${first.seq}…${last.seq}: expected start before end in surface order, found ${last.seq} first; swap them`,
  )
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

/** Every shadowed node is cited. */
function checkComplete(cited: readonly number[], first: SurfaceNode, last: SurfaceNode): void {
  const known = new Set(cited)
  for (let node: SurfaceNode | undefined = first; node !== undefined && node !== last.next; node = node.next) {
    if (known.has(node.seq)) continue
    fail(
      'PROVENANCE_INCOMPLETE',
      `expected sourceEventSeqs to name every event that the replacement shadows, found no ${node.seq}`,
    )
  }
}

function checkRestoreSources(sources: readonly number[], node: number): void {
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

/** Of a stored log, whose marks nobody has looked at before. */
function failMark({ seq, type }: SurfaceMarker, op: unknown): never {
  const isMissing = op === undefined || op === null
  return fail(
    isMissing ? 'SURFACE_INTENT_REQUIRED' : 'SURFACE_INTENT_NOT_ALLOWED',
    `event ${seq}, a ${type}: expected surfaceOp 'append', a replace or a restore, found ${isMissing ? 'none (a whole unmarked log: markSurface)' : JSON.stringify(op)}`,
  )
}

function fail(code: SessionErrorCode, message: string): never {
  throw new SessionError(code, message)
}
