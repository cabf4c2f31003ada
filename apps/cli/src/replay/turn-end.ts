import type { Agent } from '@palimpsest/agent-loop'
import type { Fault } from '@palimpsest/session'
import type { RecordedTurn } from './recording.js'
import type { Stage } from './stage.js'

/** What a handler or the store threw, where that ended the turn. */
export function throwRecorded({ reason }: RecordedTurn): void {
  if (reason?.kind !== 'error') return
  throw Object.assign(new Error(reason.error.message), { code: reason.error.code })
}

export function isRecordedFault({ reason }: RecordedTurn, { code, message }: Fault): boolean {
  return reason?.kind === 'error' && reason.error.code === code && reason.error.message === message
}

/**
 * Called behind each append. A stop in mid-stream keeps what was shown: where nothing was kept, the attempt
 * had failed and its retry showed nothing, so the stop is left to that request.
 */
export function stopWhenDue({ length, next, recorded }: Stage, turn: RecordedTurn, agent: Agent): void {
  if (length !== turn.stopAt) return
  if (next?.type === 'step/end' && recorded.at(length - 1)?.type === 'assistant/chunk') return
  stop(turn, agent)
}

export function stop({ reason }: RecordedTurn, agent: Agent): void {
  if (reason?.kind === 'disposed') agent.dispose().catch(() => {})
  else agent.cancel(reason?.kind === 'aborted' ? reason.reason : undefined)
}
