import { closeInterruptedTurn, Session, SessionError, type SessionEvent, type SessionHeader } from '@palimpsest/session'
import type { Damage, StoredLog } from '@palimpsest/session-persistence'

/** A stretch of seqs that cannot be read, half-open. */
interface Hole {
  from: number
  to: number
  bytes: number
  kept: string | null
}

export interface Mended {
  header: Partial<SessionHeader>
  /** A whole and valid log: a seed for a new session. */
  events: readonly SessionEvent[]
  holes: readonly Hole[]
  /** Old seqs of events that nothing in the new log can stand for: an undo of what was lost, an unknown type. */
  leftOut: readonly number[]
}

/**
 * A new log from what can be read of one with holes: the part before, then for each hole one `log/lost`
 * and what is readable behind it, renumbered. An edit whose range is no longer whole becomes an append,
 * so that its message is not lost, and cites the `log/lost` in the place of the sources that are gone.
 * Pure; throws the kernel's code where the part before the first hole is not sound itself.
 */
export function planMend(log: StoredLog): Mended {
  const holes = findHoles(log)
  const first = holes[0]?.from ?? log.length
  let time = log.header.createdAt
  const seed = log.events.filter(({ seq }) => seq < first)
  const session = Session.create({ seed, now: () => time })
  const map = new SeqMap(session)
  const leftOut: number[] = []
  for (const event of log.events.slice(seed.length)) {
    const hole = holes.find(({ to }) => to === event.seq)
    time = event.time
    if (hole !== undefined) map.lost = session.append('log/lost', { ...hole }).seq
    if (!map.readmit(event)) leftOut.push(event.seq)
  }
  const end = holes.find(({ to }) => to === log.length)
  if (end !== undefined) session.append('log/lost', { ...end })
  const events = session.events.concat(closeInterruptedTurn(session.events))
  return { header: headerOf(log.header), events, holes, leftOut }
}

// --- internal ---

/** Where the old log's events stand in the new one. */
class SeqMap {
  readonly #session: Session
  readonly #moved = new Map<number, number>()
  readonly #first: number
  /** The last `log/lost`. */
  lost = -1

  constructor(session: Session) {
    this.#session = session
    this.#first = session.length
  }

  /** Whether the event, or at least its message, is in the new log now. */
  readmit(event: SessionEvent): boolean {
    const { surfaceOp, ignorable } = event
    const sources = this.#sources(event)
    if (surfaceOp === undefined) return this.#append(event, ignorable ? [{ ignorable }] : [])
    if (surfaceOp === 'append') return this.#append(event, [{ surfaceOp, ...sources }])
    const moved = this.#moveOp(surfaceOp)
    if (moved !== undefined && this.#append(event, [{ surfaceOp: moved, ...sources }])) return true
    if (surfaceOp.op === 'restore') return false
    const cited = [...new Set([...(sources.sourceEventSeqs ?? []), this.lost])]
    return this.#append(event, [{ surfaceOp: 'append', sourceEventSeqs: cited }])
  }

  #append(event: SessionEvent, intent: object[]): boolean {
    try {
      const { seq } = this.#session.append(event.type, event.data as never, ...(intent as never))
      this.#moved.set(event.seq, seq)
      return true
    } catch (error) {
      if (error instanceof SessionError) return false
      throw error
    }
  }

  #move(seq: number): number | undefined {
    return seq < this.#first ? seq : this.#moved.get(seq)
  }

  #moveOp(op: Exclude<SessionEvent['surfaceOp'], 'append' | undefined>) {
    if (op.op === 'restore') {
      const node = this.#move(op.node)
      return node === undefined ? undefined : { op: op.op, node }
    }
    const [start, end] = [this.#move(op.start), this.#move(op.end)]
    return start === undefined || end === undefined ? undefined : { op: op.op, start, end }
  }

  /** Sources that are gone are named by what says so. */
  #sources({ sourceEventSeqs }: SessionEvent): { sourceEventSeqs?: number[] } {
    if (sourceEventSeqs === undefined) return {}
    return { sourceEventSeqs: [...new Set(sourceEventSeqs.map(seq => this.#move(seq) ?? this.lost))] }
  }
}

function findHoles({ events, length, damage }: StoredLog): Hole[] {
  const holes: Hole[] = []
  let next = 0
  for (const seq of [...events.map(event => event.seq), length]) {
    if (seq > next) holes.push({ from: next, to: seq, ...bytesOf(damage, next, seq) })
    next = seq + 1
  }
  return holes
}

/** A hole is reported by the seq at which it begins, the records in it by their own. */
function bytesOf(damage: readonly Damage[], from: number, to: number): Pick<Hole, 'bytes' | 'kept'> {
  const within = damage.filter(({ where: { seq } }) => seq !== undefined && seq >= from && seq < to)
  const hole = within.find(({ code }) => code === 'LOG_HOLE')
  if (hole !== undefined) return { bytes: hole.bytes, kept: hole.kept }
  return { bytes: within.reduce((sum, { bytes }) => sum + bytes, 0), kept: within[0]?.kept ?? null }
}

function headerOf({ id, cwd }: SessionHeader): Partial<SessionHeader> {
  return { importedFrom: { format: 'palimpsest', id }, ...(cwd !== undefined && { cwd }) }
}
