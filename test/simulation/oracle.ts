import { crc32 } from 'node:zlib'
import { type Message, type ModelRequest, Session, type SessionEvent } from '@palimpsest/session'
import type { OpenSession } from '@palimpsest/session-persistence'
import { findMisformed } from './log-form.js'
import type { Random } from './random.js'
import type { Scheduler } from './scheduler.js'

/** One opening of a session. A later epoch makes it stale. */
export interface Claim {
  readonly id: string
  readonly epoch: number
  readonly session: Session
  /** What is known of it; another one once it was removed and made anew. */
  readonly record: Record
  /** How many events it was opened with. */
  readonly base: number
  /** Its first events that are known to be the true ones. */
  agreed: number
  isOver: boolean
}

/** What was known of a session at some moment. */
export interface Look {
  readonly record: Record
  /** It had to be there. */
  readonly isCertain: boolean
  /** How many events were acknowledged. */
  readonly known: number
}

/**
 * Knows what was acknowledged, and to whom; hears of everything that the engine says or shows, and
 * finds the first thing that is not as promised.
 */
export class Oracle {
  failure: Error | undefined
  /** What was seen to happen. */
  readonly counts = { requests: 0, tools: 0, repairs: 0, results: 0 }
  readonly #records = new Map<string, Record>()
  /** By child, parent and length: what was known of the parent. */
  readonly #parents = new Map<string, Record>()
  readonly #scheduler: Scheduler
  readonly #random: Random

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler
    this.#random = random
  }

  /** The first failure counts. What a process says after its death nobody hears. */
  fail(what: unknown): void {
    if (this.failure !== undefined || this.#scheduler.current.state === 'dead') return
    this.failure = what instanceof Error ? what : new Error(String(what))
    this.#scheduler.note(`FAILED ${this.failure.message}`)
  }

  /** Ids that must be there. */
  certain(): string[] {
    return [...this.#records].flatMap(([id, record]) => (record.exists && !mayBeGone(record) ? [id] : []))
  }

  isOpen(id: string): boolean {
    return isHeld(this.#record(id))
  }

  /** Whether it had to be there all the time. */
  isMissed(id: string, before: Look): boolean {
    const now = this.look(id)
    return before.isCertain && now.isCertain && before.record === now.record
  }

  lengthOf(id: string): number {
    return this.#record(id).truth.length
  }

  /** Before somebody looks at a session: what he must find at least. */
  look(id: string): Look {
    const record = this.#record(id)
    const isCertain = record.exists && !mayBeGone(record)
    return { record, isCertain, known: isCertain ? record.truth.length : 0 }
  }

  // What happens to leases and sessions

  acquired(id: string, epoch: number): void {
    const record = this.#record(id)
    if (epoch <= record.epoch) this.fail(`${id}: epoch ${epoch} was given after epoch ${record.epoch}`)
    record.epoch = Math.max(epoch, record.epoch)
  }

  /** From now on it may be there, whether or not its maker hears of it. */
  creating(id: string): void {
    this.#record(id).isGone = false
  }

  created(id: string, epoch: number, open: OpenSession): Claim {
    const record = this.#record(id)
    // Somebody may have taken it over before its maker heard that it is made.
    if (record.exists && epoch < record.epoch) return this.#claim(id, epoch, open)
    if (record.exists && !mayBeGone(record)) this.fail(`${id}: created although it is there`)
    const { epoch: highest, removals } = record
    this.#records.set(id, { ...newRecord(), exists: true, epoch: highest, removals })
    return this.#claim(id, epoch, open)
  }

  /** `before` is from when the opening began. */
  opened(id: string, epoch: number, open: OpenSession, before: Look): Claim {
    const record = this.#record(id)
    const known = before.record === record ? before.known : 0
    const { session, report } = open
    if (record.isGone) this.fail(`${id}: opened although it was removed`)
    if (report.readOnly) this.fail(`${id}: opened read-only, ${JSON.stringify(report.damage)}`)
    if (record.isRotten && report.damage.length === 0) this.fail(`${id}: a flipped bit was not reported`)
    const isLatest = epoch === record.epoch
    const least = isLatest ? record.truth.length : known
    if (session.length < least) this.fail(`${id}: ${least} events were acknowledged, ${session.length} came back`)
    if (report.repaired.length > 0) this.counts.repairs += 1
    // Nobody heard that it was made.
    if (!record.exists) this.#inherit(session)
    record.exists = true
    record.isDoomed &&= !isLatest
    record.isRotten &&= !isLatest
    if (isLatest) record.removals = record.removals.filter(({ state }) => state !== 'dead')
    if (this.#random.onceIn(2)) this.#checkLog(record, session)
    return this.#claim(id, epoch, open)
  }

  /** The child's events up to `length` are the parent's. */
  forking(child: string, parent: string, length: number): (id: string, epoch: number, open: OpenSession) => Claim {
    const record = this.#record(parent)
    const shared = record.truth.slice(0, length)
    this.#parents.set(`${child} ${parent} ${length}`, record)
    return (id, epoch, open) => {
      const claim = this.created(id, epoch, open)
      this.#inherit(open.session)
      if (record !== this.#record(parent)) return claim
      const first = this.#scheduler.observe(() => open.session.slice(0, shared.length))
      const events = first.map(event => JSON.stringify(event))
      if (events.join('\n') !== shared.join('\n')) this.fail(`${id}: does not begin as ${parent} does`)
      this.#checkLog(this.#record(id), open.session)
      return claim
    }
  }

  removing(id: string): { removed(): void; failed(): void } {
    const owner = this.#scheduler.current
    this.#record(id).removals.push(owner)
    const end = (record: Record) => record.removals.splice(record.removals.indexOf(owner), 1)
    return {
      removed: () => {
        const record = this.#record(id)
        end(record)
        if (isHeld(record)) this.fail(`${id}: removed while it was open`)
        else this.#records.set(id, { ...newRecord(), epoch: record.epoch, removals: record.removals, isGone: true })
      },
      failed: () => {
        const record = this.#record(id)
        end(record)
        if (!isHeld(record)) record.isDoomed = true
      },
    }
  }

  closed(claim: Claim): void {
    claim.isOver = true
  }

  /** The last line of its file has a flipped bit: that event, and no other, may be lost. */
  rotted(id: string, seq: number): void {
    const record = this.#record(id)
    record.isRotten = true
    record.truth.length = Math.min(record.truth.length, seq)
    record.requests = record.requests.filter(({ length }) => length <= seq)
    for (const [key, callSeq] of record.started) if (callSeq >= seq) record.started.delete(key)
  }

  // What is acknowledged, and what is shown

  acknowledged(claim: Claim, length: number): void {
    if (this.#scheduler.current.state === 'dead') return
    this.#scheduler.note(`${claim.id}: ${length} events are safe`)
    const { truth, openedEpoch } = claim.record
    const isStale = claim.epoch < openedEpoch || claim.record !== this.#record(claim.id)
    if (isStale && length > Math.max(truth.length, claim.base)) {
      this.fail(`${claim.id}: epoch ${claim.epoch} was told that ${length} events are safe, under epoch ${openedEpoch}`)
    }
    this.#agree(claim, length)
  }

  /** A reader saw these events, or no session; `before` is from when it began. */
  read(id: string, events: readonly SessionEvent[] | undefined, before: Look): void {
    const { record, known } = before
    if (events === undefined) {
      if (this.isMissed(id, before)) this.fail(`${id}: a reader found nothing`)
      return
    }
    if (record !== this.#record(id) || mayBeGone(record) || record.isRotten) return
    const { truth } = record
    if (events.length < known) this.fail(`${id}: a reader saw ${events.length} of ${known} acknowledged events`)
    const count = Math.min(known, truth.length)
    for (let seq = 0; seq < count; seq++) {
      if (JSON.stringify(events[seq]) !== truth[seq]) this.fail(`${id}: a reader saw another event ${seq}`)
    }
  }

  admitted(claim: Claim, seq: number, text: string): void {
    if (seq >= claim.agreed) this.fail(`${claim.id}: input admitted as event ${seq} before it was safe`)
    if (!JSON.stringify(claim.session.at(seq)).includes(`"${text}"`))
      this.fail(`${claim.id}: event ${seq} is not "${text}"`)
  }

  requested(claim: Claim, request: ModelRequest, length: number): void {
    const { requests } = claim.record
    if (length > claim.agreed) this.fail(`${claim.id}: the model was asked with ${length} events, ${claim.agreed} safe`)
    this.counts.requests += 1
    const text = JSON.stringify(request)
    if (this.#random.onceIn(4)) {
      const seed = this.#scheduler.observe(() => claim.session.slice(0, length))
      const fresh = Session.create({ id: claim.id, seed, now: zero })
      if (JSON.stringify(fresh.requestAt(length)) !== text)
        this.fail(`${claim.id}: request is not that of ${length} events`)
    }
    if (requests.length < 8) requests.push({ length, text })
  }

  /** A tool's body runs. Gives what names this run. */
  toolStarted(claim: Claim, toolCallId: string): string {
    const { session, id, record } = claim
    const call = findLast(session, event => event.type === 'tool/call' && event.data.toolCallId === toolCallId)
    const key = keyOf(
      findLast(session, event => event.type === 'assistant/message'),
      toolCallId,
    )
    if (call === undefined || call >= claim.agreed) this.fail(`${id}: tool ${toolCallId} runs before its call is safe`)
    const { started } = record
    this.counts.tools += 1
    if (started.has(key)) this.fail(`${id}: tool ${toolCallId} ran twice`)
    started.set(key, call ?? 0)
    return key
  }

  toolReturned({ record }: Claim, key: string, value: string): void {
    record.returned.set(key, value)
  }

  /** A log that nobody works on now: all is closed. */
  checkRest({ record, session, agreed }: Claim): void {
    this.#checkLog(record, session, agreed)
  }

  /** Of all that was acknowledged. */
  hash(): number {
    return [...this.#records].reduce((sum, [id, { truth }]) => crc32(`${id}${truth.join()}`, sum), 0)
  }

  // --- internal ---

  #record(id: string): Record {
    const record = this.#records.get(id) ?? newRecord()
    this.#records.set(id, record)
    return record
  }

  /** What ran in the shared part ran in both. */
  #inherit({ id, header: { parent } }: Session): void {
    const record = parent && this.#parents.get(`${id} ${parent.id} ${parent.length}`)
    if (record === undefined) return
    const child = this.#record(id)
    for (const [key, seq] of record.started) if (seq < parent!.length) child.started.set(key, seq)
    for (const [key, output] of record.returned) child.returned.set(key, output)
  }

  #claim(id: string, epoch: number, { session }: OpenSession): Claim {
    const record = this.#record(id)
    const claim = { id, epoch, session, record, base: session.length, agreed: 0, isOver: false }
    if (epoch > record.openedEpoch) {
      record.openedEpoch = epoch
      record.latest = claim
      record.owner = this.#scheduler.current
    }
    // What is not looked at here is read by the engine itself when it needs it.
    if (epoch < record.epoch || this.#random.onceIn(2)) claim.agreed = Math.min(session.length, record.truth.length)
    if (epoch === record.epoch) this.#agree(claim, session.length)
    return claim
  }

  #agree(claim: Claim, length: number): void {
    const { truth } = claim.record
    for (; claim.agreed < length; claim.agreed++) {
      const text = JSON.stringify(this.#scheduler.observe(() => claim.session.at(claim.agreed)))
      const known = truth[claim.agreed]
      if (known === undefined) truth.push(text)
      else if (known !== text) {
        this.fail(`${claim.id}: event ${claim.agreed} was acknowledged as ${known}, and now as ${text}`)
        return
      }
    }
  }

  /** A stale owner's session goes on in memory from `agreed` on, and is no part of what happened. */
  #checkLog(record: Record, session: Session, agreed = session.length): void {
    const { id } = session
    const events = this.#scheduler.observe(() => session.events)
    const problem = findMisformed(events)
    if (problem !== undefined) this.fail(`${id}: ${problem}`)
    this.#checkResults(record, events.slice(0, agreed), id)
    const fresh = Session.create({ id, seed: events, now: zero })
    if (text(fresh.deriveMessages()) !== text(session.deriveMessages()))
      this.fail(`${id}: its messages are not its log's`)
    for (const { length, text } of record.requests) {
      if (length > agreed || !this.#random.onceIn(3)) continue
      const now = JSON.stringify(this.#scheduler.observe(() => session.requestAt(length)))
      if (now !== text) this.fail(`${id}: the request at ${length} was ${text}, and is ${now}`)
    }
  }

  /** What a result says is what happened. */
  #checkResults({ started, returned }: Record, events: readonly SessionEvent[], id: string): void {
    let answer = -1
    for (const event of events) {
      if (event.type === 'assistant/message') answer = event.seq
      if (event.type !== 'tool/result') continue
      const { toolCallId, error, message } = event.data
      const key = keyOf(answer, toolCallId)
      const { output } = message.content[0]!
      this.counts.results += 1
      if (error === undefined) {
        const value = 'value' in output ? output.value : undefined
        if (returned.get(key) !== value) this.fail(`${id}: ${toolCallId} gave ${returned.get(key)}, logged is ${value}`)
      } else if (NEVER_RAN.includes(error.code) && started.has(key)) {
        this.fail(`${id}: ${toolCallId} ran, and its result says ${error.code}`)
      } else if (RAN.includes(error.code) && !started.has(key)) {
        this.fail(`${id}: ${toolCallId} never ran, and its result says ${error.code}`)
      }
    }
  }
}

// --- internal ---

interface Record {
  exists: boolean
  /** The events that somebody was told are safe, as JSON. */
  truth: string[]
  /** The highest that anybody got, and the highest that somebody opened the session with. */
  epoch: number
  openedEpoch: number
  latest?: Claim
  owner?: { state: string }
  /** Who is removing it, dead or alive. */
  removals: { state: string }[]
  /** A removal has failed, and may have got far. */
  isDoomed: boolean
  /** A removal has succeeded, and nobody made it anew. */
  isGone: boolean
  isRotten: boolean
  requests: { length: number; text: string }[]
  /** By answer and call: the `tool/call` of a body that ran, and what it gave. */
  started: Map<string, number>
  returned: Map<string, string>
}

const NEVER_RAN = [
  'TOOL_NOT_STARTED',
  'ABORTED_BEFORE_DISPATCH',
  'TOOL_UNKNOWN',
  'TOOL_ARGUMENTS_INVALID',
  'TOOL_DENIED',
]
const RAN = ['TOOL_FAILED', 'TOOL_TIMED_OUT', 'TOOL_RESULT_INVALID', 'TOOL_ABORTED']

const zero = () => 0

function newRecord(): Record {
  return {
    exists: false,
    truth: [],
    epoch: 0,
    openedEpoch: 0,
    removals: [],
    isDoomed: false,
    isGone: false,
    isRotten: false,
    requests: [],
    started: new Map(),
    returned: new Map(),
  }
}

function isHeld({ latest, owner }: Record): boolean {
  return latest !== undefined && !latest.isOver && owner?.state !== 'dead'
}

function mayBeGone(record: Record): boolean {
  return record.isDoomed || (record.removals.length > 0 && !isHeld(record))
}

function keyOf(answer: number | undefined, toolCallId: string): string {
  return `${answer} ${toolCallId}`
}

function findLast(session: Session, fits: (event: SessionEvent) => boolean): number | undefined {
  for (let seq = session.length - 1; seq >= 0; seq--) if (fits(session.at(seq)!)) return seq
  return undefined
}

function text(messages: readonly Message[]): string {
  return JSON.stringify(messages)
}
