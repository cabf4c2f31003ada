import type { EventMap, ToolCallPart } from '@palimpsest/session'
import { type CallResult, resultInvalid } from './call-result.js'
import { messageOf } from './errors.js'
import type { Step } from './loop.js'
import { sealData } from './seal.js'

/** Logs the results of one group in the model's order, whatever the order in which they come. */
export interface ResultLog {
  /** One that has to wait for an earlier call is logged at once as `tool/settled`. */
  settle(index: number, result: CallResult): void
}

export function createResultLog(step: Step, answerSeq: number, calls: readonly ToolCallPart[]): ResultLog {
  const held = new Map<number, CallResult>()
  let next = 0
  return {
    settle(index, result) {
      const call = calls[index]!
      const sealed = sealResult(step, call, result)
      held.set(index, sealed)
      if (index > next) logSettled(step, call, sealed)
      for (let ready = held.get(next); ready; ready = held.get(next)) {
        logResult(step, answerSeq, calls[next]!, ready)
        held.delete(next++)
      }
    },
  }
}

// --- internal ---

/** What cannot be logged becomes the fault that says so. */
function sealResult(step: Step, call: ToolCallPart, result: CallResult): CallResult {
  try {
    const { message } = sealData('tool/result', resultData(step, call, result))
    return { ...result, output: message.content[0]!.output }
  } catch (error) {
    const { callSeq } = result
    return { ...resultInvalid(messageOf(error)), ...(callSeq === undefined ? {} : { callSeq }) }
  }
}

/**
 * A call that never began needs no record: recovery tells the same truth about it. Nobody waits for the
 * flush: a store that fails now says so again before the next effect.
 */
function logSettled({ loop, turn, step }: Step, { toolCallId }: ToolCallPart, result: CallResult): void {
  const { output, error, callSeq } = result
  if (callSeq === undefined) return
  loop.session.append('tool/settled', { turn, step, toolCallId, output, ...(error ? { error } : {}) })
  loop.durability.flush().catch(() => {})
}

function logResult(step: Step, answerSeq: number, call: ToolCallPart, result: CallResult): void {
  const sourceEventSeqs = [result.callSeq ?? answerSeq]
  step.loop.session.append('tool/result', resultData(step, call, result), { surfaceOp: 'append', sourceEventSeqs })
}

function resultData({ turn, step }: Step, call: ToolCallPart, { output, error }: CallResult): EventMap['tool/result'] {
  const { toolCallId, toolName } = call
  const message = { role: 'tool' as const, content: [{ type: 'tool-result' as const, toolCallId, toolName, output }] }
  return { turn, step, toolCallId, message, ...(error ? { error } : {}) }
}
