import { type CachedPrefix, isSurfaceType, type Message, type Session, type SessionEvent } from '@palimpsest/session'
import { compareMessages, type EditCost } from './edit-cost.js'
import type { CountTokens } from './tokens.js'

export type EditKind = 'compaction' | 'prune' | 'restore' | 'replace'

/** One edit as the log tells it. A replacement that neither a compaction nor a prune pass claims is a `replace`. */
export interface Edit {
  readonly kind: EditKind
  /** The event that tells of it: `compaction/start`, `prune/applied`, the restore, the replacement. */
  readonly seq: number
  /** Epoch milliseconds: of the end of a compaction where it has one, else of that event. */
  readonly time: number
  /** The last turn that had begun. */
  readonly turn: number | undefined
  /** `interrupted`: begun and never ended, as the process died or is at it still. */
  readonly state: 'done' | 'failed' | 'interrupted'
  /** What a compaction set out to replace: its first and last node. */
  readonly range?: { readonly start: number; readonly end: number }
  /** Replacements that it put on the surface, in log order; of a restore the one that it took off. */
  readonly nodes: readonly number[]
  /** Seqs of the restores that took any of them off again. */
  readonly undoneBy: readonly number[]
  /** What the log says that it cost, counted when it was made. */
  readonly recorded?: EditCost
  /** Of a failed compaction. */
  readonly error?: { readonly code: string; readonly message: string }
  /** Of a restore, where one was given. */
  readonly reason?: string
}

/** The edits of a log, from its events in order. Holds no events, so a log of any length may pass. */
export class EditFold {
  readonly #edits = new Set<Draft>()
  /** Compactions without an end, by the seq of their start. */
  readonly #open = new Map<number, Draft>()
  readonly #byNode = new Map<number, Draft>()
  #turn: number | undefined

  add(event: SessionEvent): void {
    if (event.type === 'turn/start') this.#turn = Object(event.data).turn
    else if (event.type === 'compaction/start') this.#begin(event)
    else if (event.type === 'compaction/end') this.#end(event)
    else if (event.type === 'prune/applied') this.#claim(event)
    else if (event.type === 'surface/restore') this.#restore(event)
    else if (isSurfaceType(event.type)) this.#replace(event)
  }

  /** In log order. */
  finish(): Edit[] {
    return [...this.#edits].sort((a, b) => a.seq - b.seq)
  }

  // --- internal ---

  #draft({ seq, time }: SessionEvent, more: Pick<Draft, 'kind' | 'nodes'> & Partial<Draft>): Draft {
    const draft: Draft = { seq, time, turn: this.#turn, state: 'done', undoneBy: [], ...more }
    this.#edits.add(draft)
    for (const node of draft.nodes) if (draft.kind !== 'restore') this.#byNode.set(node, draft)
    return draft
  }

  #begin(event: SessionEvent<'compaction/start'>): void {
    const { start, end } = Object(event.data)
    const more = { kind: 'compaction', nodes: [], state: 'interrupted', range: { start, end } } as const
    this.#open.set(event.seq, this.#draft(event, more))
  }

  #end({ time, data }: SessionEvent<'compaction/end'>): void {
    const { start, error, tokensSaved, cachedPrefix } = Object(data) as typeof data
    const draft = this.#open.get(start)
    if (draft === undefined) return
    this.#open.delete(start)
    draft.time = time
    draft.state = error === undefined ? 'done' : 'failed'
    if (error !== undefined) draft.error = error
    const recorded = costFrom(tokensSaved, cachedPrefix)
    if (recorded !== undefined) draft.recorded = recorded
  }

  /** The stand-ins of one pass are one edit. */
  #claim(event: SessionEvent<'prune/applied'>): void {
    const { nodes: named, tokensSaved, cachedPrefix } = Object(event.data) as Partial<typeof event.data>
    const bare = [named ?? []].flat().flatMap(node => this.#byNode.get(node) ?? [])
    const claimed = bare.filter(({ kind }) => kind === 'replace')
    for (const draft of claimed) this.#edits.delete(draft)
    const nodes = claimed.flatMap(draft => draft.nodes).toSorted((a, b) => a - b)
    const undoneBy = claimed.flatMap(draft => draft.undoneBy)
    const recorded = costFrom(tokensSaved, cachedPrefix)
    this.#draft(event, { kind: 'prune', nodes, undoneBy, ...(recorded !== undefined && { recorded }) })
  }

  #restore(event: SessionEvent<'surface/restore'>): void {
    const { node } = event.surfaceOp as { node: number }
    this.#byNode.get(node)?.undoneBy.push(event.seq)
    const { reason } = Object(event.data) as typeof event.data
    this.#draft(event, { kind: 'restore', nodes: [node], ...(reason !== undefined && { reason }) })
  }

  #replace(event: SessionEvent): void {
    const { seq, type, surfaceOp } = event
    if (typeof surfaceOp !== 'object' || surfaceOp.op !== 'replace') return
    const { start, end } = surfaceOp
    const isMine = (draft: Draft) =>
      draft.nodes.length === 0 && draft.range?.start === start && draft.range.end === end && type === 'user/message'
    const compaction = [...this.#open.values()].find(isMine)
    if (compaction === undefined) this.#draft(event, { kind: 'replace', nodes: [seq] })
    else {
      compaction.nodes = [seq]
      this.#byNode.set(seq, compaction)
    }
  }
}

/**
 * The compaction that a dead process left open in the last turn, or behind it: begun, and neither ended nor
 * failed. Without `nodes` nothing was replaced; with one its replacement stands. Reads the last turn only.
 */
export function findInterruptedCompaction(session: Session): Edit | undefined {
  const fold = new EditFold()
  for (const event of session.slice(session.lastSeqOf('turn/start') ?? 0)) fold.add(event)
  return fold.finish().findLast(({ state }) => state === 'interrupted')
}

/** What one edit did: which nodes it took off the surface, which it put there, and what that cost. */
export interface EditEffect {
  readonly off: readonly number[]
  readonly on: readonly number[]
  readonly cost: EditCost
}

/** Judged from the surface before and after it; `undefined` of an edit that replaced nothing. */
export function effectOf(session: Session, edit: Edit, countTokens: CountTokens): EditEffect | undefined {
  const { kind, seq, nodes, recorded } = edit
  if (nodes.length === 0) return undefined
  const [from, to] = kind === 'restore' ? [seq, seq + 1] : [nodes[0]!, nodes.at(-1)! + 1]
  const before = session.surfaceAt(from)
  const after = session.surfaceAt(to)
  const messagesOf = (seqs: readonly number[]) =>
    seqs.map(each => (session.at(each)!.data as { message: Message }).message)
  return {
    off: without(before, after),
    on: without(after, before),
    cost: recorded ?? compareMessages(messagesOf(before), messagesOf(after), countTokens),
  }
}

// --- internal ---

type Writable = 'time' | 'state' | 'nodes' | 'recorded' | 'error'
type Draft = Omit<Edit, Writable | 'undoneBy'> & { -readonly [M in keyof Pick<Edit, Writable>]: Edit[M] } & {
  undoneBy: number[]
}

function without(seqs: readonly number[], others: readonly number[]): number[] {
  const known = new Set(others)
  return seqs.filter(seq => !known.has(seq))
}

/** The whole cost follows from what an edit notes. The kernel does not look at these figures, so a log may hold anything. */
function costFrom(tokensSaved: unknown, cachedPrefix: unknown): EditCost | undefined {
  const { messages, tokens, tokensBroken } = Object(cachedPrefix) as Partial<CachedPrefix>
  if (![tokensSaved, messages, tokens, tokensBroken].every(Number.isFinite)) return undefined
  const tokensBefore = tokens! + tokensBroken!
  return {
    tokensBefore,
    tokensAfter: tokensBefore - (tokensSaved as number),
    tokensSaved: tokensSaved as number,
    cachedPrefix: cachedPrefix as CachedPrefix,
  }
}
