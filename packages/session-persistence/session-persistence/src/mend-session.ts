import {
  closeInterruptedTurn,
  isKnownType,
  markSurface,
  Session,
  SessionError,
  type SessionEvent,
  type SessionHeader,
} from '@palimpsest/session'
import { createSession } from './create-session.js'
import { PersistenceError } from './errors.js'
import { assertSessionId } from './id.js'
import { OpenCalls } from './open-calls.js'
import type { Damage, ScannedLog, SessionBackend } from './port.js'
import { isUnmarked } from './refused-event.js'

/** A stretch of seqs that cannot be read, half-open: the data of a `log/lost`. */
export interface Hole {
  readonly from: number
  readonly to: number
  readonly bytes: number
  /** Where the bytes were put; `null` where they were left in place. */
  readonly kept: string | null
}

export interface MendPlan {
  /** Of the new session; names the old one in `importedFrom`. */
  readonly header: Partial<SessionHeader>
  /** A whole and valid log: a seed. */
  readonly events: readonly SessionEvent[]
  readonly holes: readonly Hole[]
  /** Old seqs of events that nothing in the new log can stand for, as they rest on what is lost. */
  readonly leftOut: readonly number[]
  /** Types of `events` that this build does not know and that are not `ignorable`. */
  readonly unknown: readonly string[]
}

export interface Mended extends Pick<MendPlan, 'holes' | 'leftOut' | 'unknown'> {
  /** The new session's id. */
  readonly id: string
  readonly length: number
  /** What is wrong with the old one. */
  readonly damage: readonly Damage[]
}

/**
 * Writes the longest truthful new session that can be had of a damaged one, durably, and leaves the old
 * bytes alone; `undefined` where there is nothing to mend. A torn tail and an open turn are no such
 * thing: opening mends them. The new session comes whole or not at all. `SESSION_NOT_FOUND`;
 * `SESSION_EXISTS` where `options.id` is taken.
 */
export async function mendSession(
  backend: SessionBackend,
  id: string,
  options: { id?: string; now?: () => number } = {},
): Promise<Mended | undefined> {
  assertSessionId(id)
  if (options.id !== undefined) assertSessionId(options.id)
  const events: SessionEvent[] = []
  const log = await readAll(backend, id, events)
  if (log === undefined) {
    throw new PersistenceError(
      'SESSION_NOT_FOUND',
      `there is no session "${id}" in this store; list() names what there is`,
    )
  }
  const plan = planMend(id, { ...log, events })
  if (plan === undefined) return undefined
  const { header, holes, leftOut, unknown } = plan
  const open = await createSession(backend, { ...options, header, seed: plan.events, acceptUnknown: unknown })
  await open.close()
  return { id: open.session.id, length: open.session.length, holes, leftOut, unknown, damage: log.damage }
}

/**
 * What `mendSession` writes, from what can be read: the part before the first hole as it is, then for
 * each hole one `log/lost` and what is readable behind it, renumbered. Edits are made again over what is
 * left of their range; one whose range is gone becomes an append, so that its message is not lost. A source that
 * is gone is named by its `log/lost`. A call whose result is gone gets `TOOL_OUTCOME_UNKNOWN`. Of a log
 * without any marks every surface event gets `'append'`. Pure.
 */
export function planMend(id: string, log: ScannedLog & { events: readonly SessionEvent[] }): MendPlan | undefined {
  const { header } = log
  const isFromElsewhere = isUnmarked(log.events)
  const events = isFromElsewhere ? markSurface(log.events) : log.events
  const mending = new Mending(events)
  for (const hole of findHoles(log)) {
    mending.readmitUpTo(hole.from)
    mending.lose(hole)
  }
  mending.readmitUpTo(Number.POSITIVE_INFINITY)
  const { holes, leftOut } = mending
  const isLost = events.length > 0 && log.damage.some(each => isLasting(each, log))
  if (holes.length === 0 && !isLost && !isFromElsewhere) return undefined
  return { header: headerOf(id, header), events: mending.finish(), holes, leftOut, unknown: mending.unknown }
}

// --- internal ---

async function readAll(backend: SessionBackend, id: string, events: SessionEvent[]): Promise<ScannedLog | undefined> {
  if (backend.scan !== undefined) {
    return backend.scan(id, piece => {
      for (const event of piece) events.push(event)
    })
  }
  const log = await backend.read(id)
  for (const event of log?.events ?? []) events.push(event)
  return log
}

/** What opening the session does not mend: it stands in front of good records, or in the place of the header. */
function isLasting({ where: { seq } }: Damage, { length }: ScannedLog): boolean {
  return seq === undefined || seq < length
}

function findHoles({ events, length, damage }: Parameters<typeof planMend>[1]): Hole[] {
  const holes: Hole[] = []
  let next = 0
  const note = (to: number) => {
    if (to > next) holes.push({ from: next, to, ...bytesWithin(damage, next, to) })
    next = to + 1
  }
  for (const { seq } of events) note(seq)
  note(length)
  return holes
}

/** A hole is reported by the seq at which it begins, the records in it by their own. */
function bytesWithin(damage: readonly Damage[], from: number, to: number): Pick<Hole, 'bytes' | 'kept'> {
  const within = damage.filter(({ where: { seq } }) => seq !== undefined && seq >= from && seq < to)
  const hole = within.find(({ code }) => code === 'LOG_HOLE')
  if (hole !== undefined) return { bytes: hole.bytes, kept: hole.kept }
  return { bytes: within.reduce((sum, { bytes }) => sum + bytes, 0), kept: within[0]?.kept ?? null }
}

/** The new session has a log of its own: it shares no parent's. */
function headerOf(id: string, header: SessionHeader | undefined): Partial<SessionHeader> {
  const { version, id: _, createdAt, parent, ...rest } = header ?? ({} as Partial<SessionHeader>)
  return { ...rest, importedFrom: { format: 'palimpsest', id } }
}

type Op = Exclude<SessionEvent['surfaceOp'], 'append' | undefined>

/** The new log in the making, and where the old one's events stand in it. */
class Mending {
  readonly holes: Hole[] = []
  readonly leftOut: number[] = []
  readonly #unknown = new Set<string>()
  readonly #old: readonly SessionEvent[]
  /** The next of `#old`. */
  #next = 0
  #time = 0
  readonly #session = Session.create({ now: () => this.#time })
  readonly #calls = new OpenCalls(this.#session.surface)
  /** Where the events behind the first hole went; those before it stand where they stood. */
  readonly #moved = new Map<number, number>()
  /** Of each hole its `log/lost`. */
  readonly #losses: number[] = []
  readonly #undone: ReadonlySet<number>

  constructor(events: readonly SessionEvent[]) {
    this.#old = events
    this.#time = events.find(({ time }) => isTime(time))?.time ?? 0
    this.#undone = new Set(events.flatMap(({ surfaceOp: op }) => (isOp(op) && op.op === 'restore' ? [op.node] : [])))
  }

  get unknown(): readonly string[] {
    return [...this.#unknown]
  }

  readmitUpTo(seq: number): void {
    for (; this.#next < this.#old.length && this.#old[this.#next]!.seq < seq; this.#next++) {
      const event = this.#old[this.#next]!
      if (isTime(event.time)) this.#time = event.time
      if (this.holes.length === 0) this.#keep(event)
      else if (!this.#readmit(event)) this.leftOut.push(event.seq)
    }
  }

  lose(hole: Hole): void {
    this.holes.push(hole)
    this.#losses.push(this.#session.append('log/lost', { ...hole }).seq)
    this.#answerLost()
  }

  /** The whole log, its last turn closed. */
  finish(): readonly SessionEvent[] {
    const { length } = this.#session
    const closing = closeInterruptedTurn(this.#session.slice(this.#session.lastSeqOf('turn/start') ?? length))
    // The start of the open turn may be lost, and nobody closes what was not begun; its calls are answered all the same.
    if (closing.length === 0 && this.holes.length > 0) this.#answerLost()
    const events = this.#session.events.concat(closing)
    return this.#unknown.size === 0 ? events : events.map(event => this.#asRequired(event))
  }

  // --- internal ---

  #answerLost(): void {
    for (const [data, source] of this.#calls.lostResults(this.#old, this.#next)) {
      const sourceEventSeqs = [...new Set([source, this.#losses.at(-1)!])]
      this.#calls.answer(this.#session.append('tool/result', data, { surfaceOp: 'append', sourceEventSeqs }))
    }
  }

  /** One before any hole. What the kernel refuses although its bytes are good counts as lost too. */
  #keep(event: SessionEvent): void {
    const { surfaceOp, sourceEventSeqs } = event
    const marks = { ...(surfaceOp && { surfaceOp }), ...(sourceEventSeqs && { sourceEventSeqs }) }
    if (isShaped(event) && this.#append(event, marks)) return
    this.#next += 1
    this.lose({ from: event.seq, to: event.seq + 1, bytes: JSON.stringify(event).length, kept: null })
    this.#next -= 1
  }

  /** Whether the event, or at least its message, is in the new log now. */
  #readmit(event: SessionEvent): boolean {
    const { surfaceOp: op } = event
    if (!isShaped(event)) return false
    if (op === undefined) return this.#append(this.#moveData(event), {})
    if (op === 'append') return this.#append(event, { surfaceOp: op, ...this.#sources(event) })
    if (op.op === 'restore') return this.#restore(event, op.node)
    return this.#replace(event, op) || (!this.#undone.has(event.seq) && this.#appendInstead(event))
  }

  #restore(event: SessionEvent, old: number): boolean {
    const node = this.#move(old)
    return node !== undefined && this.#append(event, { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [node] })
  }

  #replace(event: SessionEvent, { start, end }: { start: number; end: number }): boolean {
    const moved = { op: 'replace', start: this.#move(start), end: this.#move(end) }
    const isWhole = moved.start !== undefined && moved.end !== undefined
    if (isWhole && this.#append(event, { surfaceOp: moved, ...this.#sources(event) })) return true
    const range = event.type === 'tool/result' ? this.#resultRange(event, start) : this.#range(event, start, end)
    if (range.length === 0) return false
    const sourceEventSeqs = [...new Set([...range, ...(this.#sources(event).sourceEventSeqs ?? [])])]
    const surfaceOp = { op: 'replace', start: range[0]!, end: range.at(-1)! }
    return this.#append(event, { surfaceOp, sourceEventSeqs })
  }

  /** What the edit said stays, behind what it stood for; the loss is among its sources. */
  #appendInstead(event: SessionEvent): boolean {
    const cited = new Set([...(this.#sources(event).sourceEventSeqs ?? []), this.#losses.at(-1)!])
    return this.#append(event, { surfaceOp: 'append', sourceEventSeqs: [...cited] })
  }

  /**
   * The visible nodes that the edit certainly stood for. With both ends known all between them, also where they
   * are visible again only because an edit is lost; else the cited ones next to the known end, or the longest run.
   */
  #range({ sourceEventSeqs }: SessionEvent, start: number, end: number): readonly number[] {
    const seqs = this.#session.surface.seqs()
    const [first, last] = [start, end].map(seq => seqs.indexOf(this.#move(seq) ?? -1)) as [number, number]
    if (first >= 0 && last >= first) return seqs.slice(first, last + 1)
    const cited = new Set((sourceEventSeqs ?? []).map(seq => this.#move(seq)))
    const runs = runsOf(seqs, seq => cited.has(seq))
    if (first >= 0) return runs.find(run => run.includes(seqs[first]!))?.filter(seq => seqs.indexOf(seq) >= first) ?? []
    if (last >= 0) return runs.find(run => run.includes(seqs[last]!))?.filter(seq => seqs.indexOf(seq) <= last) ?? []
    return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), [])
  }

  /** A rewritten result stands in the place of the one that it rewrote, or of what was put there for it. */
  #resultRange({ data }: SessionEvent<'tool/result'>, old: number): readonly number[] {
    const node = this.#move(old) ?? this.#calls.standIn(data.toolCallId)
    return node !== undefined && this.#session.surface.has(node) ? [node] : []
  }

  #append({ seq, type, data, ignorable }: Pick<SessionEvent, 'seq' | 'type' | 'data' | 'ignorable'>, marks: object) {
    const isUnknown = !isKnownType(type) && !ignorable
    try {
      // The kernel appends what it does not know as ignorable only; `finish` takes that back.
      const intent = ignorable || isUnknown ? { ...marks, ignorable: true } : marks
      const event = this.#session.append(type, data as never, ...([intent] as never))
      if (this.holes.length > 0) this.#moved.set(seq, event.seq)
      if (isUnknown) this.#unknown.add(type)
      this.#calls.note(event)
      return true
    } catch (error) {
      if (error instanceof SessionError) return false
      throw error
    }
  }

  #asRequired(event: SessionEvent): SessionEvent {
    if (!this.#unknown.has(event.type)) return event
    const { ignorable: _, ...required } = event
    return required as SessionEvent
  }

  #move(seq: number): number | undefined {
    return seq < this.holes[0]!.from ? seq : this.#moved.get(seq)
  }

  #sources({ sourceEventSeqs }: SessionEvent): { sourceEventSeqs?: number[] } {
    if (sourceEventSeqs === undefined) return {}
    return { sourceEventSeqs: [...new Set(sourceEventSeqs.map(seq => this.#move(seq) ?? this.#lossOf(seq)))] }
  }

  /** What says that the event is gone. */
  #lossOf(seq: number): number {
    const hole = this.holes.findIndex(({ from, to }) => seq >= from && seq < to)
    return this.#losses.at(hole)!
  }

  /** The traces of an edit name seqs in their data too. One of nodes that are lost names those that are left. */
  #moveData(event: SessionEvent): SessionEvent {
    if (!TRACES.has(event.type)) return event
    const moved = Object.entries(event.data).map(([key, value]) => {
      if (!SEQ_MEMBERS.has(key)) return [key, value]
      const move = (seq: unknown) => (isSeq(seq) ? (this.#move(seq) ?? this.#lossOf(seq)) : seq)
      return [key, Array.isArray(value) ? [...new Set(value.map(move))] : move(value)]
    })
    return { ...event, data: Object.fromEntries(moved) } as SessionEvent
  }
}

const TRACES: ReadonlySet<string> = new Set(['compaction/start', 'compaction/end', 'prune/applied'])
const SEQ_MEMBERS: ReadonlySet<string> = new Set(['start', 'end', 'seqs', 'node', 'nodes'])
const MEMBERS: ReadonlySet<string> = new Set([
  'seq',
  'time',
  'type',
  'data',
  'sourceEventSeqs',
  'surfaceOp',
  'ignorable',
])

/** Whether nothing is dropped or changed without a word when the kernel appends it. */
function isShaped(event: SessionEvent): boolean {
  const { time, surfaceOp: op, sourceEventSeqs: sources, ignorable } = event
  const isMarked =
    (op === undefined || op === 'append' || isOp(op)) && (sources === undefined || Array.isArray(sources))
  const isPlain = ignorable === undefined || ignorable === true
  return isMarked && isPlain && isTime(time) && Object.keys(event).every(key => MEMBERS.has(key))
}

function isTime(value: unknown): boolean {
  return Number.isFinite(value) && !Object.is(value, -0)
}

function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isOp(op: SessionEvent['surfaceOp']): op is Op {
  return typeof op === 'object' && op !== null
}

function runsOf(seqs: readonly number[], belongs: (seq: number) => boolean): number[][] {
  const runs: number[][] = []
  let isOpen = false
  for (const seq of seqs) {
    if (belongs(seq)) {
      if (isOpen) runs.at(-1)!.push(seq)
      else runs.push([seq])
    }
    isOpen = belongs(seq)
  }
  return runs
}
