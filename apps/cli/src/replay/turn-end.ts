import type { Agent } from '@palimpsest/agent-loop'
import type { Fault } from '@palimpsest/session'
import { findCall, hasBegun, type RecordedTurn } from './recording.js'
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
 * Called behind each append. A stop that a call met whose `tool/call` is logged is left to that call, which
 * knows whether its body had begun. A stop in mid-stream keeps what was shown; where nothing was kept, the
 * attempt had failed and its retry showed nothing: that request stops.
 */
export function stopWhenDue(stage: Stage, turn: RecordedTurn, agent: Agent): void {
  const { length, next, recorded } = stage
  if (length !== turn.stopAt || next === undefined) return
  if (next.type === 'step/end' && recorded.at(length - 1)?.type === 'assistant/chunk') return
  if (findCall(turn, next)?.beganAt !== undefined) return
  if (areRunning(stage, turn)) stop(turn, agent)
  else stopBesideBodies(stage, turn, agent).catch(() => {})
}

/** When the bodies that were running are running again, and all that was known by then is logged. */
export async function stopBesideBodies(stage: Stage, turn: RecordedTurn, agent: Agent): Promise<void> {
  await stage.when(() => areRunning(stage, turn))
  await stage.quiet()
  stop(turn, agent)
}

export function stop({ reason }: RecordedTurn, agent: Agent): void {
  if (reason?.kind === 'disposed') agent.dispose().catch(() => {})
  else agent.cancel(reason?.kind === 'aborted' ? reason.reason : undefined)
}

// --- internal ---

/** Whether each body that was running when the turn was stopped has begun again. */
function areRunning({ running }: Stage, { steps, stopAt = 0 }: RecordedTurn): boolean {
  return steps.every(({ calls }) =>
    [...calls.values()].every(call => !hasBegun(call) || call.beganAt! >= stopAt || running.has(call)),
  )
}
