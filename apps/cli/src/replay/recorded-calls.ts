import { type Agent, type Tool, toolOutput } from '@palimpsest/agent-loop'
import { findCall, hasBegun, type RecordedCall, type RecordedTurn, STOPPED_CODES } from './recording.js'
import type { Stage } from './stage.js'
import { stopBesideBodies, throwRecorded } from './turn-end.js'

/** The body of a recorded call. */
export function runAgain(
  stage: Stage,
  turn: RecordedTurn,
  { step, toolCallId, agent }: Parameters<Tool['execute']>[1],
): Promise<unknown> {
  const call = turn.steps.find(({ number }) => number === step)?.calls.get(toolCallId)
  if (call !== undefined) stage.running.add(call)
  stage.poke()
  return settle(stage, turn, call, agent as Agent)
}

/** The recorded outcome, when its time has come. A process that died before that waits for ever. */
export async function settle(stage: Stage, turn: RecordedTurn, call: RecordedCall | undefined, agent: Agent) {
  await stage.reach(knownAt(turn, call))
  const { output, error } = call!.outcome!
  const isStopped = STOPPED_CODES.has(error?.code ?? '')
  if (isStopped) await stopBesideBodies(stage, turn, agent)
  if (isStopped && isCutOff(stage, turn)) return new Promise(() => {})
  return toolOutput(output, error)
}

/** The flush. Where a call was logged and did not begin, the store failed or the stop came meanwhile. */
export async function makeSafe(stage: Stage, turn: RecordedTurn, agent: Agent): Promise<void> {
  const last = stage.recorded.at(stage.length - 1)
  const call = last?.type === 'tool/call' ? findCall(turn, last) : undefined
  if (call === undefined || hasBegun(call)) return
  await stage.reach(call.settledAt)
  await stage.quiet()
  throwRecorded(turn)
  await stopBesideBodies(stage, turn, agent)
}

/** Whether the loop did not wait for the tools that it stopped. */
export function isCutOff({ recorded }: Stage, { stopAt }: RecordedTurn): boolean {
  const event = stopAt === undefined ? undefined : recorded.at(stopAt)
  if (event?.type !== 'tool/result' && event?.type !== 'tool/settled') return false
  return event.data.error?.code === 'TOOL_OUTCOME_UNKNOWN'
}

/** Whether a call of that tool ran beside another one. */
export function isParallel({ steps }: RecordedTurn, name: string): boolean {
  return steps.some(({ calls }) => {
    const list = [...calls.values()]
    return list.some(call => call.toolName === name && list.some(other => other !== call && overlap(call, other)))
  })
}

/** The most calls that ran side by side. */
export function widthOf({ steps }: RecordedTurn): number {
  const counts = steps.flatMap(({ calls }) => {
    const list = [...calls.values()]
    return list.map(
      call => 1 + list.filter(other => other !== call && overlap(call, other) && other.beganAt! < call.beganAt!).length,
    )
  })
  return Math.max(1, ...counts)
}

// --- internal ---

/**
 * When its outcome was known, at the latest: that of a call that never began is logged when its turn has
 * come, and by then a stop would have had the better of it.
 */
function knownAt({ heldAt }: RecordedTurn, call: RecordedCall | undefined): number {
  if (call === undefined) return Number.POSITIVE_INFINITY
  return call.beganAt === undefined ? Math.min(call.settledAt, heldAt) : call.settledAt
}

function overlap(a: RecordedCall, b: RecordedCall): boolean {
  if (a.beganAt === undefined || b.beganAt === undefined) return false
  return a.beganAt < b.settledAt && b.beganAt < a.settledAt
}
