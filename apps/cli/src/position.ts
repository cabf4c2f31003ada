import type { Session, SessionEvent } from '@palimpsest/session'
import { CommandError, usageError } from './failure.js'

/**
 * A place in a log, as the length of a prefix. `12` is the first twelve events; `2.3` is the request of
 * step 3 in turn 2: the prefix from which it was built. Reads what lies between its answer and the end of the log
 * by its landmarks only.
 */
export function resolvePosition(session: Session, text: string): number {
  const [, whole, step] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === undefined) throw usageError(`expected a length such as 12, or turn.step such as 2.1, found "${text}"`)
  if (step !== undefined) return lengthOfStep(session, Number(whole), Number(step))
  const length = Number(whole)
  if (length <= session.length) return length
  throw new CommandError('POSITION_UNKNOWN', `expected a length from 0 to ${session.length}, found ${whole}`)
}

// --- internal ---

/**
 * What comes between `step/start` and the answer belongs to the request: steering, injected context, a new
 * header, an edit. Of several attempts the one that was answered counts, as an edit may stand between them.
 */
function lengthOfStep(session: Session, turn: number, step: number): number {
  let firstChunk: number | undefined
  let edge: number | undefined
  for (const event of eventsFrom(session, findStep(session, turn, step) + 1)) {
    if (event.type === 'assistant/chunk') firstChunk ??= event.seq
    if (ANSWERS.has(event.type)) edge ??= event.seq
    if (event.type === 'assistant/message' && isOf(event, turn, step) && event.sourceEventSeqs !== undefined) {
      return event.sourceEventSeqs.reduce((first, seq) => Math.min(first, seq))
    }
    if (EDGES.has(event.type)) break
  }
  return firstChunk ?? edge ?? session.length
}

const EDGES = new Set<string>(['step/end', 'turn/end', 'step/start', 'turn/start'])
const ANSWERS = new Set<string>(['assistant/message', 'tool/call', 'tool/result', ...EDGES])
const PIECE_EVENTS = 256

function* eventsFrom(session: Session, from: number): Generator<SessionEvent, void> {
  for (let next = from; next < session.length; next += PIECE_EVENTS) yield* session.slice(next, next + PIECE_EVENTS)
}

/** The seq of its `step/start`, looked for from the end. */
function findStep(session: Session, turn: number, step: number): number {
  let last: SessionEvent | undefined
  for (let before = session.length; ; ) {
    const seq = session.lastSeqOf('step/start', before)
    const event = seq === undefined ? undefined : session.at(seq)
    if (event === undefined) throw unknownStep(last, turn, step)
    if (isOf(event, turn, step)) return event.seq
    last ??= event
    before = event.seq
  }
}

function isOf(event: SessionEvent, turn: number, step: number): boolean {
  const data = event.data as { turn?: unknown; step?: unknown } | null
  return data?.turn === turn && data.step === step
}

function unknownStep(last: SessionEvent | undefined, turn: number, step: number): CommandError {
  const data = last?.data as { turn: number; step: number } | undefined
  const found = data === undefined ? 'a log without steps' : `the last one ${data.turn}.${data.step}`
  return new CommandError('POSITION_UNKNOWN', `expected a step ${turn}.${step} in this log, found ${found}`)
}
