import type { ToolCallPart } from '@palimpsest/session'
import { type CallResult, faultResult } from './call-result.js'
import type { Step } from './loop.js'
import { createResultLog } from './result-log.js'
import { runCall } from './tool-call.js'

/**
 * Runs the calls of one answer in the model's order: neighbours that are safe in parallel side by side, every
 * other one alone. Each call has its result when this returns, or throws the store's fault.
 */
export async function runToolCalls(step: Step, answerSeq: number, calls: readonly ToolCallPart[]): Promise<void> {
  for (const group of groupCalls(step, calls)) {
    const results = createResultLog(step, answerSeq, group)
    await inParallel(group.length, step.loop.limits.maxParallelToolCalls, async index => {
      results.settle(index, await runCall(step, group[index]!))
    })
  }
  if (step.fault) throw Object.assign(new Error(step.fault.message), { code: step.fault.code })
}

/** Answers calls that were streamed and will not begin. */
export function abortCalls(step: Step, answerSeq: number, calls: readonly ToolCallPart[]): void {
  const results = createResultLog(step, answerSeq, calls)
  for (const index of calls.keys()) results.settle(index, ABORTED)
}

// --- internal ---

const ABORTED: CallResult = faultResult('ABORTED_BEFORE_DISPATCH')

function groupCalls({ config }: Step, calls: readonly ToolCallPart[]): ToolCallPart[][] {
  const isSafe = (call: ToolCallPart) => config.tools.get(call.toolName)?.tool.parallelSafe === true
  const groups: ToolCallPart[][] = []
  for (const call of calls) {
    const group = groups.at(-1)
    if (group && isSafe(call) && isSafe(group[0]!)) group.push(call)
    else groups.push([call])
  }
  return groups
}

/** Begins in order, at most `width` at once, and ends when all have ended, even where one throws. */
async function inParallel(count: number, width: number, run: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await run(next++)
  }
  const ends = await Promise.allSettled(Array.from({ length: Math.min(width, count) }, worker))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}
