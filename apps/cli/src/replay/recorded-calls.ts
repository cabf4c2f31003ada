import { toolOutput } from '@palimpsest/agent-loop'
import { NEVER, type RecordedCall } from './recorded-step.js'
import { findCall, type RecordedTurn } from './recording.js'
import type { Stage } from './stage.js'
import { throwRecorded } from './turn-end.js'

/** The recorded outcome, when its time has come. A process that died before that waits for ever. */
export async function answerCall(stage: Stage, call: RecordedCall | undefined): Promise<unknown> {
  if (call?.outcome === undefined) return stage.reach(NEVER)
  if (!wasHeld(stage, call)) await stage.reach(call.settledAt)
  return toolOutput(call.outcome.output, call.outcome.error)
}

/** The flush: where a call was logged and did not begin, this is what ended the turn. */
export async function makeSafe(stage: Stage, turn: RecordedTurn): Promise<void> {
  const last = stage.recorded.at(stage.length - 1)
  if (last?.type !== 'tool/call') return
  const call = findCall(turn, last.data.step, last.data.toolCallId)
  if (call?.outcome?.error?.code !== 'ABORTED_BEFORE_DISPATCH') return
  await stage.reach(call.settledAt)
  // Behind this fault no call begins: those that were answered before are so by the next round of the event loop.
  await new Promise(resolve => setImmediate(resolve))
  throwRecorded(turn)
}

// --- internal ---

/** Without a `tool/call` its outcome was logged when its turn had come, and known before. */
function wasHeld({ recorded }: Stage, { beganAt, settledAt }: RecordedCall): boolean {
  return beganAt === undefined && recorded.at(settledAt - 1)?.type === 'tool/result'
}
