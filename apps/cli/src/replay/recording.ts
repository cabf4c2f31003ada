import { closeInterruptedTurn, type Session, type SessionEvent, type TurnEnd } from '@palimpsest/session'
import { type RecordedCall, type RecordedStep, readSteps } from './recorded-step.js'
import { findStop } from './recorded-stop.js'

/** One turn of a log that the loop wrote, and what it was told on the way. Positions are seqs. */
export interface RecordedTurn {
  readonly start: number
  /** One more than the seq of its `turn/end`, or than the last event of a turn that is still open. */
  readonly end: number
  readonly turn: number
  readonly steps: readonly RecordedStep[]
  readonly messages: readonly SessionEvent<'user/message'>[]
  readonly reason: TurnEnd | undefined
  /** Where the process died: from here on recovery wrote. */
  readonly crashAt: number | undefined
  /** The first event that there is only because the turn was stopped. */
  readonly stopAt: number | undefined
}

/** The turn that begins at `start`, or `undefined` where it is none of the loop's. */
export function readTurn(session: Session, start: number): RecordedTurn | undefined {
  const first = session.at(start)
  if (first?.type !== 'turn/start') return undefined
  const end = turnEnd(session, start)
  const events = session.slice(start, end)
  const last = events.at(-1)
  const reason = last?.type === 'turn/end' ? last.data.reason : undefined
  const crashAt = reason?.kind === 'interrupted' ? findCrash(events, start) : undefined
  const lived = events.filter(({ seq }) => crashAt === undefined || seq < crashAt)
  const steps = readSteps(lived)
  const wasAsked =
    steps.every(({ answer }) => answer === undefined) || session.lastSeqOf('request/header', end) !== undefined
  if (!wasAsked) return undefined
  return {
    start,
    end,
    turn: first.data.turn,
    steps,
    messages: lived.filter(event => event.type === 'user/message' && event.surfaceOp === 'append') as never,
    reason,
    crashAt,
    stopAt: findStop(lived, steps.at(-1), reason),
  }
}

/** The call of that id in that step. */
export function findCall({ steps }: RecordedTurn, step: number, toolCallId: string): RecordedCall | undefined {
  return steps.find(({ number }) => number === step)?.calls.get(toolCallId)
}

/** Events that plugins, tools or people put into the log beside the loop. */
export function isGiven({ type, surfaceOp, ignorable }: SessionEvent): boolean {
  return ignorable === true || (surfaceOp !== undefined && surfaceOp !== 'append') || GIVEN_TYPES.has(type)
}

// --- internal ---

const GIVEN_TYPES = new Set<string>(['compaction/start', 'compaction/end', 'prune/applied', 'log/lost'])

function turnEnd(session: Session, start: number): number {
  for (let seq = start + 1; seq < session.length; seq++) {
    const { type } = session.at(seq)!
    if (type === 'turn/end') return seq + 1
    if (type === 'turn/start') return seq
  }
  return session.length
}

/** The earliest place from which recovery writes exactly what follows. */
function findCrash(events: readonly SessionEvent[], start: number): number {
  let crash = events.length - 1
  while (crash > 1 && writesRest(events, crash - 1)) crash--
  return start + crash
}

function writesRest(events: readonly SessionEvent[], from: number): boolean {
  return JSON.stringify(closeInterruptedTurn(events.slice(0, from))) === JSON.stringify(events.slice(from))
}
