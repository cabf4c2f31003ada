import type { Fault, SessionEvent, TurnEnd } from '@palimpsest/session'
import type { RecordedStep } from './recorded-step.js'

/**
 * The first event that only a stop of the turn makes the loop write; `undefined` where none did. Outcomes of
 * calls that a stop made are in the recording like all others, so the calls that it met may come first.
 */
export function findStop(
  lived: readonly SessionEvent[],
  step: RecordedStep | undefined,
  reason: TurnEnd | undefined,
): number | undefined {
  // A process may have died while it was ending a turn that was stopped, or that failed.
  const hasDied = lived.at(-1)?.type !== 'turn/end'
  if (!hasDied && reason?.kind !== 'aborted' && reason?.kind !== 'disposed') return undefined
  const told = lived.slice(lived.findLastIndex(({ type }) => type === 'step/start') + 1).find(comesFromStop)
  if (told?.type === 'assistant/message') return told.seq
  if (told !== undefined) return Math.max(told.seq, ...metByStop(step!).map(({ answeredAt }) => answeredAt + 1))
  return hasDied ? endOfFailed(lived, step) : endOf(lived)
}

// --- internal ---

/** Calls that something else than the stop itself had given an outcome, or was about to. */
function metByStop({ calls }: RecordedStep) {
  return [...calls.values()].filter(({ beganAt, outcome }) => beganAt !== undefined || !isStopCode(outcome?.error))
}

/** The ends that follow what the loop wrote last. */
function endOf(lived: readonly SessionEvent[]): number {
  const last = lived.findLastIndex(({ type }) => type !== 'turn/end' && type !== 'step/end')
  return lived[Math.max(last, 0) + 1]!.seq
}

function endOfFailed(lived: readonly SessionEvent[], step: RecordedStep | undefined): number | undefined {
  const last = lived.at(-1)
  return last?.type === 'step/end' && step?.answer === undefined ? last.seq : undefined
}

function comesFromStop(event: SessionEvent): boolean {
  if (event.type === 'assistant/message') return event.data.interrupted === true
  return (event.type === 'tool/result' || event.type === 'tool/settled') && isStopCode(event.data.error)
}

function isStopCode(error: Fault | undefined): boolean {
  return error !== undefined && STOP_CODES.has(error.code)
}

/** `TOOL_ABORTED` and `TOOL_OUTCOME_UNKNOWN` come from a stop alone, the first also from a store that failed. */
const STOP_CODES: ReadonlySet<string> = new Set(['ABORTED_BEFORE_DISPATCH', 'TOOL_ABORTED', 'TOOL_OUTCOME_UNKNOWN'])
