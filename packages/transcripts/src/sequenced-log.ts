import {
  closeInterruptedTurn,
  isKnownType,
  isSurfaceType,
  type JsonObject,
  type RestoreOp,
  type SessionEvent,
  type SurfaceOp,
} from '@palimpsest/session'
import type { Import } from './format.js'
import { isObject } from './json/shapes.js'
import type { Place } from './place.js'

/** An event of a log that counts its events itself. What else it says of surface and sources is looked at here. */
export interface OwnEvent {
  /** Left out: the one after the event before it. */
  seq?: number | undefined
  /** One of the kernel's, or one that may be skipped. */
  type: string
  data: JsonObject
  surfaceOp?: unknown
  sourceEventSeqs?: unknown
}

/**
 * Writes a log whose events have seqs, turns and sources of their own. They keep their seqs while those are dense;
 * where they are not (numbers that run back, a lost stretch, a run that was cut open) they get new ones, and what they
 * name by seq is named anew. What no surface admits is kept beside it and reported.
 */
export class SequencedLog {
  readonly #into: Import
  readonly #format: string
  #next = 0
  #time = 0
  /** Below it, seqs are the same here and there, but for those in the map. */
  #same = Number.POSITIVE_INFINITY
  readonly #ours = new Map<number, number>()
  readonly #results = new Map<number, string>()
  /** Beside the surface, and so no source of what is on it. */
  readonly #kept = new Set<number>()
  #openTurn: SessionEvent[] = []
  readonly #openPlaces = new Map<number, Place>()

  constructor(into: Import, format: string) {
    this.#into = into
    this.#format = format
  }

  /** The seq that an event without one would have in its own count. */
  get next(): number {
    return this.#next
  }

  /** The seq that it has here, or `undefined` for an event that is not shown as it wanted. */
  write(event: OwnEvent, place: Place): number | undefined {
    if (event.type === 'turn/start') this.#closeTurn()
    const seq = this.#count(event.seq, place)
    const ours = this.#into.log.length
    const data = seq === ours ? event.data : { ...event.data, originSeq: seq }
    this.#time = place.time ?? this.#time
    if (isSurfaceType(event.type)) return this.#writeSurface({ ...event, data }, place, ours)
    if (event.type === 'surface/restore') return this.#writeRestore({ ...event, data }, place)
    const marks = isKnownType(event.type) ? {} : { ignorable: true as const }
    return this.#append(event.type, data, place, marks)
  }

  /** What an event of that own seq has here. */
  seqOf(own: number): number | undefined {
    return this.#ours.get(own) ?? (own < Math.min(this.#same, this.#into.log.length) ? own : undefined)
  }

  /** Kept beside the surface: an event of a type that another kind of log has for itself. */
  keep(event: OwnEvent, place: Place): void {
    const ours = this.write({ seq: event.seq, type: `import/${this.#format}.${event.type}`, data: event.data }, place)
    if (ours !== undefined) this.#kept.add(ours)
  }

  // --- internal ---

  #count(given: number | undefined, place: Place): number {
    const expected = this.#next
    const seq = Number.isSafeInteger(given) && given! >= 0 ? given! : expected
    const { where } = place
    if (seq < expected) this.#into.report({ code: 'seq.repeat', severity: 'error', where, expected, got: seq })
    if (seq > expected) this.#into.report({ code: 'seq.gap', severity: 'info', where, expected, got: seq })
    this.#next = seq + 1
    const ours = this.#into.log.length
    if (seq !== ours) this.#same = Math.min(this.#same, ours)
    if (this.#same !== Number.POSITIVE_INFINITY) this.#ours.set(seq, ours)
    return seq
  }

  #writeSurface(event: OwnEvent, place: Place, ours: number): number | undefined {
    const op = this.#surfaceOp(event.surfaceOp)
    if (op === undefined || !this.#mayReplace(event, op)) {
      this.#reportGone(event, place)
      this.#append(`import/${this.#format}.${event.type}`, event.data, place, { ignorable: true })
      return undefined
    }
    const cited = this.#sources(event.sourceEventSeqs, ours)
    const sources = [...new Set([...(op === 'append' ? [] : this.#shadowed(op)), ...cited])]
    if (event.type === 'tool/result') this.#results.set(ours, String(event.data.toolCallId))
    return this.#append(event.type, event.data, place, {
      surfaceOp: op,
      ...(sources.length > 0 && { sourceEventSeqs: sources.sort((a, b) => a - b) }),
    })
  }

  #writeRestore(event: OwnEvent, place: Place): number | undefined {
    const own = isObject(event.surfaceOp) ? event.surfaceOp.node : undefined
    const node = typeof own === 'number' ? this.seqOf(own) : undefined
    const { log } = this.#into
    if (node === undefined || !log.surface.includes(node) || log.beneath(node) === undefined) {
      this.#reportGone(event, place)
      this.#append(`import/${this.#format}.${event.type}`, event.data, place, { ignorable: true })
      return undefined
    }
    return this.#append(event.type, event.data, place, { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [node] })
  }

  /** In our seqs; `undefined` where it names what is not visible, or the wrong way round. */
  #surfaceOp(given: unknown): SurfaceOp | undefined {
    if (!isObject(given) || given.op !== 'replace') return 'append'
    const [start, end] = [given.start, given.end].map(seq => (typeof seq === 'number' ? this.seqOf(seq) : undefined))
    if (start === undefined || end === undefined) return undefined
    const { surface } = this.#into.log
    const from = surface.indexOf(start)
    return from >= 0 && from <= surface.indexOf(end) ? { op: 'replace', start, end } : undefined
  }

  /** The kernel lets a result take the place of one result of its call only. */
  #mayReplace({ type, data }: OwnEvent, op: SurfaceOp): boolean {
    if (type !== 'tool/result' || op === 'append') return true
    return op.start === op.end && this.#results.get(op.start) === String(data.toolCallId)
  }

  #shadowed({ start, end }: { start: number; end: number }): readonly number[] {
    const { surface } = this.#into.log
    return surface.slice(surface.indexOf(start), surface.indexOf(end) + 1)
  }

  #sources(given: unknown, before: number): number[] {
    if (!Array.isArray(given)) return []
    return given.flatMap(own => {
      const seq = typeof own === 'number' ? this.seqOf(own) : undefined
      const isThere = seq !== undefined && Number.isSafeInteger(seq) && seq >= 0 && seq < before
      return isThere && !this.#kept.has(seq) ? [seq] : []
    })
  }

  #reportGone({ surfaceOp, data }: OwnEvent, { where }: Place): void {
    const { start, end } = isObject(surfaceOp) ? surfaceOp : {}
    this.#into.report({
      code: 'surface.replace-of-gone-node',
      severity: 'error',
      where,
      ...(typeof data.id === 'string' && { id: data.id }),
      ...(typeof start === 'number' && { start }),
      ...(typeof end === 'number' && { end }),
    })
  }

  #append(
    type: string,
    data: JsonObject,
    place: Place,
    marks: { surfaceOp?: SurfaceOp | RestoreOp; sourceEventSeqs?: number[]; ignorable?: true },
  ): number {
    const seq = this.#into.log.append(type, data, place, marks)
    this.#followTurn({ seq, time: this.#time, type, data, ...marks } as unknown as SessionEvent, place)
    return seq
  }

  #followTurn(event: SessionEvent, place: Place): void {
    if (event.type === 'turn/start' || event.type === 'turn/end') this.#forgetTurn()
    const isOpen = event.type === 'turn/start' || this.#openTurn.length > 0
    if (!isOpen || event.type === 'assistant/chunk') return
    this.#openTurn.push(event)
    this.#openPlaces.set(event.seq, place)
  }

  #forgetTurn(): void {
    this.#openTurn = []
    this.#openPlaces.clear()
  }

  /** A turn begins though another runs: that one was interrupted, and is closed as recovery would have done. */
  #closeTurn(): void {
    const start = this.#openTurn[0]
    if (start === undefined) return
    const seq = this.#into.log.length - 1
    const last = { seq, time: this.#time, type: 'assistant/chunk', data: {} } as unknown as SessionEvent
    const closing = closeInterruptedTurn([...this.#openTurn, last])
    const whereOf = (seq: number | undefined) => this.#openPlaces.get(seq ?? -1)?.where ?? 'file'
    const { turn } = start.data as { turn: number }
    this.#into.report({ code: 'turn.open', severity: 'error', where: whereOf(start.seq), turn: Number(turn) })
    for (const event of closing) {
      const { type, data, surfaceOp, sourceEventSeqs } = event
      const where = whereOf(sourceEventSeqs?.[0])
      const code = type === 'tool/result' ? CLOSED[data.error?.code ?? ''] : undefined
      if (code !== undefined && type === 'tool/result') {
        this.#into.report({ code, severity: 'error', where, id: data.toolCallId })
      }
      const marks = { ...(surfaceOp && { surfaceOp }), ...(sourceEventSeqs && { sourceEventSeqs }) }
      this.#into.log.append(type, data, { where, time: event.time }, marks)
    }
    this.#forgetTurn()
  }
}

const CLOSED: Record<string, string> = {
  TOOL_NOT_STARTED: 'call.not-started',
  TOOL_OUTCOME_UNKNOWN: 'call.outcome-unknown',
}
