import type { ToolCallPart } from '@palimpsest/session'
import type { Step } from './loop.js'
import type { Tool } from './tool.js'
import { childController, MAX_TIMER_MS } from './until-stopped.js'

export interface BodyState {
  hasBegun: boolean
  /** Its time is up; `running` where it was told to stop and has not. */
  timedOut?: 'stopped' | 'running'
}

/** Runs a tool under the turn's signal and its own time limit; gives what it returns, or rejects. */
export async function runBody(
  step: Step,
  tool: Tool,
  { toolCallId }: ToolCallPart,
  input: unknown,
  state: BodyState,
): Promise<unknown> {
  const { agent, session, limits } = step.loop
  const { controller, release } = childController(step.signal)
  const { signal } = controller
  const context = Object.freeze({ toolCallId, signal, agent, session, turn: step.turn, step: step.step })
  state.hasBegun = true
  const body = (async () => tool.execute(input, context))()
  try {
    if (tool.timeoutMs === undefined) return await body
    return await withinTime(body, tool.timeoutMs, limits.cancelGraceMs, controller, state)
  } finally {
    release()
  }
}

// --- internal ---

/**
 * Past the limit the body is told to stop and has the grace to do so, as long as it runs nothing else may
 * begin beside it. Whatever it still says, its time was up.
 */
function withinTime(
  body: Promise<unknown>,
  timeoutMs: number,
  graceMs: number,
  controller: AbortController,
  state: BodyState,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new DOMException(`still running after ${timeoutMs} ms`, 'TimeoutError'))
    const limit = () => {
      state.timedOut = 'running'
      timer = setTimeout(late, graceMs)
      controller.abort(new DOMException(`The time limit of ${timeoutMs} ms is over.`, 'TimeoutError'))
    }
    let timer = setTimeout(limit, Math.min(timeoutMs, MAX_TIMER_MS))
    // A stop of the turn has a grace of its own.
    controller.signal.addEventListener('abort', () => state.timedOut ?? clearTimeout(timer))
    const settle = (then: () => void) => {
      clearTimeout(timer)
      if (state.timedOut === undefined) return then()
      state.timedOut = 'stopped'
      late()
    }
    body.then(
      value => settle(() => resolve(value)),
      error => settle(() => reject(error)),
    )
  })
}
