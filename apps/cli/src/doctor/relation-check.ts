import { RELATIONS, type Violation } from '@palimpsest/invariants'
import type { Session, SessionEvent } from '@palimpsest/session'
import type { Finding } from './findings.js'

/** What the store holds the surface to be, for a log of that many events. */
export interface KeptSurface {
  readonly length: number
  readonly seqs: readonly number[]
}

/**
 * The relations of `@palimpsest/invariants` over a stored log, as it is read. They look back at events by seq; of
 * those only an outline is kept, so that a million events take some ten bytes each. What an event of an odd shape
 * makes a relation throw is a finding too.
 */
export class RelationCheck {
  readonly #outlines = new Outlines()
  readonly #surface = { seqs: [] as readonly number[] }
  readonly #log = {
    /** Unknown up to the last event: the surface of a prefix is nowhere stored. */
    length: Number.POSITIVE_INFINITY,
    at: (seq: number) => this.#outlines.at(seq),
    surface: {
      seqs: () => this.#surface.seqs,
      size: Number.NaN,
      last: undefined,
    },
  }
  readonly #judges = RELATIONS.flatMap(({ name, judgeLog }) =>
    judgeLog ? [{ name, judge: judgeLog(this.#log as unknown as Session), count: 0 }] : [],
  )
  readonly #findings: Finding[] = []
  /** Held back until it is known whether it is the last. */
  #newest: SessionEvent | undefined

  /** In order, from the first on. */
  add(event: SessionEvent): void {
    if (this.#newest !== undefined) this.#judge(this.#newest)
    this.#newest = event
  }

  /** `kept` is compared with what the log's events make, where it is of a log of the same length. */
  finish(kept: KeptSurface | undefined): Finding[] {
    const last = this.#newest
    if (last === undefined) return []
    if (kept?.length === last.seq + 1) {
      this.#log.length = kept.length
      this.#surface.seqs = kept.seqs
    }
    this.#judge(last)
    const more = this.#judges.filter(({ count }) => count > MOST_TOLD)
    return [...this.#findings, ...more.map(({ name, count }) => untold(name, count - MOST_TOLD))]
  }

  // --- internal ---

  #judge(event: SessionEvent): void {
    for (const each of this.#judges) {
      const violation = violationOf(each.judge, event)
      if (violation === undefined) continue
      each.count += 1
      if (each.count <= MOST_TOLD) this.#findings.push(findingOf(each.name, violation))
    }
    this.#outlines.note(event)
  }
}

// --- internal ---

/** A log from elsewhere may break a relation at every event. */
const MOST_TOLD = 20

/** What a broken relation does to who works with the log. */
const CONSEQUENCES: Record<string, string> = {
  'seqs-dense': 'events are missing or doubled',
  'turns-nest': 'a place such as 2.1 and log --turn may show other events than those of that turn',
  'calls-pair': 'a provider may refuse the history',
  'surface-folds':
    'the index beside the log cannot be trusted, the log can: a JSONL store makes an index anew that was removed',
  'provenance-holds': 'what it rests on cannot be shown',
}

function violationOf(judge: (event: SessionEvent) => Violation | undefined, event: SessionEvent) {
  try {
    return judge(event)
  } catch (error) {
    const message = `expected the data of a ${event.type}, found something else (${(error as Error).message})`
    return { seqs: [event.seq], message }
  }
}

function findingOf(relation: string, { seqs, message }: Violation): Finding {
  const at = seqs.length === 1 ? `event ${seqs[0]}` : `events ${seqs.join(', ')}`
  const so = CONSEQUENCES[relation]
  return {
    code: 'RELATION_BROKEN',
    message: `${relation} at ${at}: ${message}${so === undefined ? '' : `; ${so}`}`,
    ...(seqs[0] !== undefined && { seq: seqs[0] }),
    relation,
    seqs,
  }
}

function untold(relation: string, count: number): Finding {
  return { code: 'RELATION_BROKEN', message: `${relation}: at ${count} more places`, relation, seqs: [] }
}

/** Of each event what the relations ask about one that lies behind. */
class Outlines {
  readonly #events: SessionEvent[] = []
  /** All chunks of a step are told by one, all events of a type about which nothing is asked by one. */
  readonly #shared = new Map<string, SessionEvent>()
  #step = ''
  #chunk: SessionEvent | undefined

  at(seq: number): SessionEvent | undefined {
    return this.#events[seq]
  }

  note(event: SessionEvent): void {
    this.#events.push(this.#outlineOf(event))
  }

  // --- internal ---

  #outlineOf(event: SessionEvent): SessionEvent {
    const { type } = event
    const { turn, step, toolCallId, message } = Object(event.data) as Data
    if (type === 'assistant/chunk') return this.#chunkOf(turn, step)
    if (type === 'tool/call') return outline('tool/call', { toolCallId })
    if (type === 'assistant/message') return outline('assistant/message', { message: callsOnly(message) })
    const known = this.#shared.get(type) ?? outline(type, {})
    this.#shared.set(type, known)
    return known
  }

  #chunkOf(turn: unknown, step: unknown): SessionEvent {
    const name = `${turn}.${step}`
    if (this.#chunk === undefined || this.#step !== name) {
      this.#step = name
      this.#chunk = outline('assistant/chunk', { turn, step })
    }
    return this.#chunk
  }
}

function outline(type: string, data: object): SessionEvent {
  return { type, data } as unknown as SessionEvent
}

type Data = { turn?: unknown; step?: unknown; toolCallId?: unknown; message?: { content: unknown[] } }

function callsOnly(message: Data['message']) {
  const content = (message?.content ?? []).filter(part => Object(part).type === 'tool-call')
  return { content: content.map(part => ({ type: 'tool-call', toolCallId: Object(part).toolCallId })) }
}
