import { compact, isLegalRange, legalCuts, prune, restore } from '@palimpsest/history'
import {
  type AssistantPart,
  closeInterruptedTurn,
  isSurfaceType,
  type Message,
  type ModelRequest,
  Session,
} from '@palimpsest/session'
import { APPEND, result, user } from './samples.js'

export type Random = (below: number) => number

/** Seeded, small and good enough: mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return below => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/** What one prefix showed when it was the whole. */
interface Moment {
  length: number
  messages: readonly Message[]
  request: ModelRequest
}

/** A session that lives through turns, edits and crashes; `moments` are what its requests were. */
export class RandomHistory {
  session = Session.create({ id: 'random', now: () => 0 })
  readonly moments: Moment[] = []
  readonly counts: Record<string, number> = {}
  #turn = 0
  #calls = 0
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
    this.session.append('request/header', { model: 'm', settings: {}, system: 'Be brief.' })
  }

  async act(): Promise<void> {
    const roll = this.#random(10)
    if (roll < 4 || this.session.surface.size < 3) return this.#live()
    if (roll < 6) return this.#count('compact', await this.#compact())
    if (roll < 8) return this.#count('prune', this.#prune())
    return this.#count('restore', this.#restore())
  }

  // --- internal ---

  #count(name: string, happened: boolean): void {
    if (happened) this.counts[name] = (this.counts[name] ?? 0) + 1
  }

  /** A turn of the loop's shape, which may stop in the middle. */
  #live(): void {
    const events = [...this.#turnEvents()]
    const isCrash = this.#random(4) === 0
    const end = isCrash ? 1 + this.#random(events.length) : events.length
    for (const append of events.slice(0, end)) append()
    if (end < events.length) this.#recover()
    this.#count(end < events.length ? 'crash' : 'turn', true)
  }

  *#turnEvents(): Iterable<() => void> {
    const { session } = this
    const turn = ++this.#turn
    yield () => session.append('turn/start', { turn })
    yield () => session.append('user/message', { turn, ...user(`task ${turn}`) }, APPEND)
    const steps = 1 + this.#random(3)
    const isSigned = this.#random(3) === 0
    for (let step = 1; step <= steps; step++) yield* this.#stepEvents(turn, step, step === steps, isSigned)
    yield () => session.append('turn/end', { turn, reason: { kind: 'completed' } })
  }

  *#stepEvents(turn: number, step: number, isLast: boolean, isSigned: boolean): Iterable<() => void> {
    const { session } = this
    const calls = isLast ? [] : Array.from({ length: 1 + this.#random(3) }, () => `c${this.#calls++ % 7}`)
    yield () => session.append('step/start', { turn, step })
    if (this.#random(5) === 0) yield () => session.append('steering/message', { turn, ...user('faster') }, APPEND)
    if (this.#random(6) === 0) {
      yield () => session.append('context/message', { turn, ...user('note'), origin: 'test' }, APPEND)
    }
    yield () => this.#remember()
    yield () => {
      const message = { role: 'assistant' as const, content: answer(calls, isSigned, this.#random(80)) }
      session.append('assistant/message', { turn, step, message, finishReason: 'stop' }, APPEND)
    }
    let asked = -1
    for (const toolCallId of calls) {
      const isRun = this.#random(4) > 0
      yield () => {
        asked = session.lastSeqOf('step/start')!
      }
      if (isRun) {
        yield () => session.append('tool/call', { turn, step, toolCallId, toolName: 'look', arguments: '{}' })
      }
      yield () => {
        const source = session
          .slice(asked)
          .findLast(({ type }) => type === (isRun ? 'tool/call' : 'assistant/message'))!
        const data = { ...result(toolCallId, 'r'.repeat(this.#random(400))), turn, step }
        session.append('tool/result', data, { ...APPEND, sourceEventSeqs: [source.seq] })
      }
    }
    yield () => session.append('step/end', { turn, step })
  }

  /** As a store does: the closing events go in, and the session is made anew from its log. */
  #recover(): void {
    const events = this.session.slice()
    this.session = Session.create({
      header: this.session.header,
      seed: [...events, ...closeInterruptedTurn(events)],
      now: () => 0,
    })
  }

  #remember(): void {
    const { session } = this
    const { length } = session
    this.moments.push({ length, messages: session.deriveMessages(), request: session.requestAt(length)! })
  }

  async #compact(): Promise<boolean> {
    const { session } = this
    const cuts = legalCuts(session)
    const [a, b] = [cuts[this.#random(cuts.length)]!, cuts[this.#random(cuts.length)]!]
    if (a === b) return false
    const seqs = session.surface.seqs()
    const range = { start: seqs[Math.min(a, b)]!, end: seqs[Math.max(a, b) - 1]! }
    if (!isLegalRange(session, range)) return false
    this.#remember()
    return compact(session, { range, summarize: async () => 's' }).then(
      () => true,
      () => false,
    )
  }

  #prune(): boolean {
    this.#remember()
    return prune(this.session, { keepRecent: this.#random(2), minTokens: this.#random(60) }).pruned.length > 0
  }

  #restore(): boolean {
    const nodes = replacements(this.session)
    if (nodes.length === 0) return false
    this.#remember()
    restore(this.session, nodes[this.#random(nodes.length)]!)
    return true
  }
}

/** Visible nodes that stand for others. */
export function replacements({ surface }: Session): number[] {
  return surface.seqs().filter(seq => surface.shadowed(seq).length > 0)
}

/** The messages of all that was appended, as if nobody had ever edited. */
export function unedited(session: Session): Message[] {
  const appended = session.events.filter(({ type, surfaceOp }) => isSurfaceType(type) && surfaceOp === 'append')
  return appended.map(event => (event.data as { message: Message }).message)
}

function answer(calls: readonly string[], isSigned: boolean, length: number): AssistantPart[] {
  const parts: AssistantPart[] = [{ type: 'text', text: 'a'.repeat(length) }]
  if (isSigned) parts.unshift({ type: 'reasoning', text: '', providerOptions: { anthropic: { signature: 'c2ln' } } })
  return [
    ...parts,
    ...calls.map(toolCallId => ({ type: 'tool-call' as const, toolCallId, toolName: 'look', input: {} })),
  ]
}
