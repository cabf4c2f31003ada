import { RELATIONS, type Relation, type Violation } from '@palimpsest/invariants'
import type { Session, SessionEvent } from '@palimpsest/session'
import type { Finding } from './findings.js'

/** The surface after the first `length` events, as a store's index tells it. */
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
  readonly #judges: { name: string; judge: Judge; count: number }[]
  readonly #findings: Finding[] = []

  /** Without `kept` there is nothing that a fold of the log's own events could be compared with. */
  constructor(kept?: KeptSurface) {
    const { length = Number.POSITIVE_INFINITY, seqs = [] } = kept ?? {}
    const surface = { size: seqs.length, last: seqs.at(-1), seqs: () => seqs }
    const log = { length, at: (seq: number) => this.#outlines.at(seq), surface } as unknown as Session
    this.#judges = RELATIONS.flatMap(({ name, judgeLog }) =>
      judgeLog ? [{ name, judge: judgeLog(log), count: 0 }] : [],
    )
  }

  /** In order, from the first on. */
  add(event: SessionEvent): void {
    for (const each of this.#judges) {
      const violation = violationOf(each.judge, event)
      if (violation === undefined) continue
      each.count += 1
      if (each.count <= MOST_TOLD) this.#findings.push(findingOf(each.name, violation))
    }
    this.#outlines.note(event)
  }

  /** What was found in all that was added. */
  finish(): Finding[] {
    const more = this.#judges.filter(({ count }) => count > MOST_TOLD)
    return [...this.#findings, ...more.map(({ name, count }) => untold(name, count - MOST_TOLD))]
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

type Judge = ReturnType<NonNullable<Relation['judgeLog']>>

function violationOf(judge: Judge, event: SessionEvent): Violation | undefined {
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
    const name = event.ignorable ? `${type} ignorable` : type
    const known = this.#shared.get(name) ?? { ...outline(type, {}), ...(event.ignorable && { ignorable: true }) }
    this.#shared.set(name, known)
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
