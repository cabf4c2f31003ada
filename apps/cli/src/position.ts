import type { Session, SessionEvent } from '@palimpsest/session'
import { CommandError, usageError } from './failure.js'
import { counted } from './view/figures.js'

/**
 * A place in a log, as the length of a prefix. `12` is the first twelve events; `2.3` is the request of
 * step 3 in turn 2: the prefix from which it was built.
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
  const events = session.events
  const start = events.findIndex(event => event.type === 'step/start' && isOf(event, turn, step))
  if (start < 0) throw unknownStep(events, turn, step)
  const rest = events.slice(start + 1)
  const end = rest.findIndex(event => EDGES.has(event.type))
  const body = end < 0 ? rest : rest.slice(0, end + 1)
  const answer = body.find(event => event.type === 'assistant/message' && isOf(event, turn, step))
  const firstChunk = body.find(event => event.type === 'assistant/chunk')
  const attempt = answer?.sourceEventSeqs === undefined ? undefined : Math.min(...firstTwo(answer.sourceEventSeqs))
  const edge = body.find(event => ANSWERS.has(event.type))
  return attempt ?? firstChunk?.seq ?? edge?.seq ?? session.length
}

const EDGES = new Set<string>(['step/end', 'turn/end', 'step/start', 'turn/start'])
const ANSWERS = new Set<string>(['assistant/message', 'tool/call', 'tool/result', ...EDGES])

/** Chunk seqs rise, so the first ones are enough, however many there are. */
function firstTwo(seqs: readonly number[]): readonly number[] {
  return seqs.slice(0, 2)
}

function isOf(event: SessionEvent, turn: number, step: number): boolean {
  const data = event.data as { turn?: unknown; step?: unknown } | null
  return data?.turn === turn && data.step === step
}

function unknownStep(events: readonly SessionEvent[], turn: number, step: number): CommandError {
  const steps = events
    .filter(event => event.type === 'step/start')
    .map(({ data }) => data as { turn: number; step: number })
  const last = steps.at(-1)
  const found =
    last === undefined
      ? 'a log without steps'
      : `${counted(steps.length, 'step')}, the last one ${last.turn}.${last.step}`
  return new CommandError('POSITION_UNKNOWN', `expected a step ${turn}.${step} in this log, found ${found}`)
}
