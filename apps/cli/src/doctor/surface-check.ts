import { isSurfaceType, Session, type SessionEvent } from '@palimpsest/session'
import { describeFailure } from '../failure.js'
import type { Finding } from './findings.js'

/**
 * Whether each edit fits the surface that the events before it make, with its sources, by the kernel's own rules:
 * the surface events are appended to a session that holds nothing else, without their texts.
 */
export class SurfaceCheck {
  readonly #session = Session.create()
  /** Where the log's surface events stand in it. */
  readonly #places = new Map<number, number>()

  add(event: SessionEvent): Finding | undefined {
    const sources = event.sourceEventSeqs ?? []
    if (!areEarlierAndOnce(sources, event.seq)) return misfit('PROVENANCE_INVALID', event)
    if (!isSurfaceType(event.type) && event.type !== 'surface/restore') return undefined
    // The other sources are events of which the surface knows nothing; a restore may have none of those.
    const known = sources.flatMap(seq => this.#places.get(seq) ?? [])
    if (event.type === 'surface/restore' && known.length < sources.length) return misfit('PROVENANCE_INVALID', event)
    const marks = {
      surfaceOp: this.#moveOp(event.surfaceOp),
      ...(known.length > 0 && { sourceEventSeqs: known }),
    }
    try {
      const { seq } = this.#session.append(event.type, withoutText(event) as never, ...([marks] as never))
      this.#places.set(event.seq, seq)
      return undefined
    } catch (error) {
      return misfit(describeFailure(error).code, event)
    }
  }

  // --- internal ---

  #moveOp(op: SessionEvent['surfaceOp']): unknown {
    const move = (seq: number) => this.#places.get(seq) ?? Number.MAX_SAFE_INTEGER
    if (typeof op !== 'object') return op
    if (op.op === 'replace') return { ...op, start: move(op.start), end: move(op.end) }
    return { ...op, node: move(op.node) }
  }
}

// --- internal ---

function withoutText({ data }: SessionEvent): object {
  const { message, toolCallId } = data as { message?: { role: string }; toolCallId?: string }
  return {
    ...(message !== undefined && { message: { role: message.role, content: [] } }),
    ...(toolCallId !== undefined && { toolCallId }),
  }
}

function areEarlierAndOnce(sources: readonly number[], seq: number): boolean {
  let isRising = true
  for (let i = 0; i < sources.length; i++) {
    if (sources[i]! >= seq) return false
    isRising &&= i === 0 || sources[i]! > sources[i - 1]!
  }
  return isRising || new Set(sources).size === sources.length
}

function misfit(code: string, { seq, type, surfaceOp }: SessionEvent): Finding {
  const op = typeof surfaceOp === 'string' ? surfaceOp : JSON.stringify(surfaceOp)
  const message = `event ${seq}, a ${type}: ${op} with its sources does not fit the surface that the events before it make`
  return { code, message, seq }
}
