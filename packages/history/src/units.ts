import { type AssistantMessage, isSurfaceType, type Session, type SessionEvent } from '@palimpsest/session'

/** Neighbouring surface positions `from…to`, both inclusive, that a range holds whole or not at all. */
interface Unit {
  readonly from: number
  readonly to: number
}

export interface Units {
  /** Of more than one position; they do not overlap. */
  readonly units: readonly Unit[]
  /** Positions of assistant messages with a call that has no result on the surface. */
  readonly pending: readonly number[]
}

/**
 * What the provider wants kept together: a call and its result, and a whole tool loop that began with
 * signed reasoning, up to its last result. `seqs` are visible seqs in surface order.
 */
export function foldUnits(session: Session, seqs: readonly number[]): Units {
  const nodes = seqs.map(seq => nodeOf(session.at(seq)!))
  const { spans, pending } = pairCalls(nodes)
  return { units: joinUnits([...spans, ...signedLoops(nodes)]), pending }
}

// --- internal ---

interface Node {
  readonly type: string
  /** Ids of calls that want a `tool/result`. */
  readonly calls: readonly string[]
  readonly isSigned: boolean
  /** Of a `tool/result`. */
  readonly answers: string | undefined
}

function nodeOf(event: SessionEvent): Node {
  const { type } = event
  if (type === 'tool/result') return { type, calls: [], isSigned: false, answers: event.data.toolCallId }
  if (type !== 'assistant/message') {
    if (!isSurfaceType(type)) throw new Error(`expected a surface event on the surface, found ${type} at ${event.seq}`)
    return { type, calls: [], isSigned: false, answers: undefined }
  }
  const { content } = event.data.message as AssistantMessage
  const calls = content.flatMap(part => (part?.type === 'tool-call' && !part.providerExecuted ? [part.toolCallId] : []))
  const isSigned = content.some(part => part?.type === 'reasoning' && part.providerOptions !== undefined)
  return { type, calls, isSigned: isSigned && calls.length > 0, answers: undefined }
}

/** A result answers the last call of its id that has none yet: ids may be used again in a later answer. */
function pairCalls(nodes: readonly Node[]): { spans: Unit[]; pending: number[] } {
  const open = new Map<string, number[]>()
  const last = new Map<number, number>()
  nodes.forEach(({ calls, answers }, i) => {
    for (const id of calls) {
      const asked = open.get(id)
      if (asked === undefined) open.set(id, [i])
      else asked.push(i)
    }
    const from = answers === undefined ? undefined : open.get(answers)?.pop()
    if (from !== undefined) last.set(from, i)
  })
  const pending = new Set([...open.values()].flat())
  return { spans: [...last].map(([from, to]) => ({ from, to })), pending: [...pending].sort((a, b) => a - b) }
}

function signedLoops(nodes: readonly Node[]): Unit[] {
  const loops: Unit[] = []
  for (let i = 0; i < nodes.length; i++) {
    if (!nodes[i]!.isSigned) continue
    let to = i
    let next = i + 1
    for (; next < nodes.length && !endsLoop(nodes[next]!); next++) if (nodes[next]!.type === 'tool/result') to = next
    loops.push({ from: i, to })
    i = next - 1
  }
  return loops
}

function endsLoop({ type, calls }: Node): boolean {
  return type === 'user/message' || (type === 'assistant/message' && calls.length === 0)
}

/** Units that overlap are one. */
function joinUnits(units: readonly Unit[]): Unit[] {
  const joined: { from: number; to: number }[] = []
  for (const { from, to } of units.toSorted((a, b) => a.from - b.from)) {
    const before = joined.at(-1)
    if (before !== undefined && from <= before.to) before.to = Math.max(before.to, to)
    else if (to > from) joined.push({ from, to })
  }
  return joined
}
