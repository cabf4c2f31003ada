import { type Edit, EditFold } from '@palimpsest/history'
import { isKnownType, isSurfaceType, Session, type SessionEvent } from '@palimpsest/session'
import { describeFailure } from '../failure.js'
import { interruptionText, type SessionName } from '../view/interruption.js'
import type { Finding } from './findings.js'
import { type KeptSurface, RelationCheck } from './relation-check.js'
import { SurfaceCheck } from './surface-check.js'

/**
 * What is wrong with the events of a log, as they come. Takes little memory however long the log is. Behind a
 * hole, and behind the first event that the kernel refuses, nothing can be said.
 */
export class LogCheck {
  readonly findings: Finding[] = []
  /** How many events were looked at. */
  length = 0
  readonly #surface = new SurfaceCheck()
  readonly #relations: RelationCheck
  readonly #edits = new EditFold()
  readonly #unknown = new Map<string, number>()
  #openTurn: SessionEvent<'turn/start'> | undefined
  /** Of the last turn. */
  #lastStart = -1
  #isOver = false

  readonly #name: SessionName

  /** `name`: for the commands that mend; `kept`: the surface as the store's index tells it. */
  constructor(name: SessionName, kept?: KeptSurface) {
    this.#name = name
    this.#relations = new RelationCheck(kept)
  }

  add(events: readonly SessionEvent[]): void {
    const sound = this.#isOver ? [] : this.#soundOf(events)
    for (const event of sound) this.#check(event)
    this.#isOver ||= sound.length < events.length
  }

  /** The findings of the whole, once all events were added. `length` counts the log with what lies behind a hole. */
  finish(length: number): Finding[] {
    const unknown = [...this.#unknown].map(([type, seq]) => unknownType(type, seq))
    // What resume cannot open it cannot close, and the end of the turn may be in the hole or behind it.
    const canClose = this.length === length && unknown.length === 0
    const open = this.#openTurn === undefined || !canClose ? [] : [turnOpen(this.#openTurn, this.#name)]
    return [...this.findings, ...unknown, ...this.#relations.finish(), ...open]
  }

  /** What nobody has to mend, and somebody may want to know. */
  notes(): Finding[] {
    return this.#edits
      .finish()
      .flatMap(edit =>
        edit.state === 'interrupted' ? [interrupted(edit, edit.seq > this.#lastStart, this.#name)] : [],
      )
  }

  // --- internal ---

  /** Up to a gap, or to an event that the kernel would not admit. */
  #soundOf(events: readonly SessionEvent[]): readonly SessionEvent[] {
    const gap = events.findIndex(({ seq }, i) => seq !== this.length + i)
    const dense = gap < 0 ? events : events.slice(0, gap)
    const bad = refusalOf(dense) === undefined ? -1 : dense.findIndex(event => refusalOf([event]) !== undefined)
    if (bad < 0) return dense
    const { code, message } = describeFailure(refusalOf([dense[bad]!]))
    const { seq } = dense[bad]!
    this.#refuse({ code, message: message.replace(/^seed\[0\]/, `event ${seq}`), seq })
    return dense.slice(0, bad)
  }

  #refuse({ message, ...finding }: Finding): void {
    const { id, storeFlag } = this.#name
    const fix = `palimpsest doctor ${id} --fix${storeFlag} writes what can be kept into a new session`
    this.findings.push({ ...finding, message: `${message}; ${fix}` })
  }

  #check(event: SessionEvent): void {
    if (this.#isOver) return
    const fault = this.#surface.add(event)
    if (fault !== undefined) {
      this.#refuse(fault)
      this.#isOver = true
      return
    }
    this.length += 1
    this.#relations.add(event)
    this.#edits.add(event)
    if (event.type === 'turn/start') {
      this.#openTurn = event
      this.#lastStart = event.seq
    }
    if (event.type === 'turn/end') this.#openTurn = undefined
    if (!event.ignorable && !isKnownType(event.type) && !this.#unknown.has(event.type)) {
      this.#unknown.set(event.type, event.seq)
    }
  }
}

// --- internal ---

/** The kernel's word on the events one by one; how they fit together is not asked here. */
function refusalOf(events: readonly SessionEvent[]): unknown {
  try {
    Session.create({ seed: events.map(standAlone), acceptUnknown: events.map(({ type }) => type) })
    return undefined
  } catch (error) {
    return error
  }
}

function standAlone(event: SessionEvent, index: number): SessionEvent {
  const { surfaceOp, sourceEventSeqs, ...rest } = event
  if (surfaceOp !== undefined && isSurfaceType(event.type)) return { ...rest, seq: index, surfaceOp: 'append' } as never
  if (event.type === 'surface/restore') return { ...rest, seq: index, type: 'turn/start' } as never
  return { ...event, seq: index } as never
}

function unknownType(type: string, seq: number): Finding {
  const message = `events of type ${JSON.stringify(type)} are unknown to this build and not ignorable: it opens read-only before the first`
  return { code: 'UNKNOWN_EVENT_TYPE', message, seq }
}

function interrupted(edit: Edit, mayRun: boolean, name: SessionName): Finding {
  const message = `${interruptionText(edit, name)}${mayRun ? ' (unless it runs now)' : ''}`
  return { code: 'COMPACTION_INTERRUPTED', message, seq: edit.seq }
}

function turnOpen({ seq, data }: SessionEvent<'turn/start'>, { id, storeFlag }: SessionName): Finding {
  const message = `turn ${data.turn} is open: it runs now, or was interrupted; palimpsest doctor ${id} --fix${storeFlag} closes it with the truth, palimpsest resume ${id}${storeFlag} does so and goes on`
  return { code: 'TURN_OPEN', message, seq }
}
