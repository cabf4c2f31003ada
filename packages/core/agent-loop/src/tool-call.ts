import type { ToolCallPart } from '@palimpsest/session'
import { parseArguments } from './arguments.js'
import { type CallResult, faultResult, valueResult } from './call-result.js'
import { faultOf, messageOf } from './errors.js'
import type { Step } from './loop.js'
import type { Checked } from './schema.js'
import type { PreparedTool } from './tool.js'
import { type BodyState, runBody } from './tool-body.js'
import { isStopped, Stopped, untilStopped } from './until-stopped.js'

/** Brings one call to its result. Rejects only where the log refuses an append. */
export async function runCall(step: Step, part: ToolCallPart): Promise<CallResult> {
  if (isHeld(step)) return faultResult('ABORTED_BEFORE_DISPATCH')
  const tool = step.config.tools.get(part.toolName)
  if (!tool) return faultResult('TOOL_UNKNOWN', unknownTool(step, part.toolName))
  try {
    const checked = await untilStopped(checkArguments(tool, part), step.signal)
    if (checked.problem !== undefined) return faultResult('TOOL_ARGUMENTS_INVALID', invalid(part, checked.problem))
    return await intercepted({ step, part, tool, input: checked.value })
  } catch (error) {
    if (isStopped(error)) return faultResult('ABORTED_BEFORE_DISPATCH')
    throw error
  }
}

// --- internal ---

interface Call {
  readonly step: Step
  readonly part: ToolCallPart
  readonly tool: PreparedTool
  /** Nobody but the body holds it. */
  readonly input: unknown
}

interface CallState extends BodyState {
  callSeq?: number
  /** The result is given: a handler that comes later begins nothing. */
  isOver: boolean
}

/** No further call begins after a stop, nor where the log cannot be made durable. */
function isHeld({ signal, fault }: Step): boolean {
  return signal.aborted || fault !== undefined
}

/** A check that throws refuses. */
async function checkArguments({ check }: PreparedTool, { input, rawInput }: ToolCallPart): Promise<Checked> {
  const problem = rawInput === undefined ? undefined : parseArguments(rawInput).problem
  if (problem !== undefined) return { problem }
  try {
    return await check(structuredClone(input))
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

/** Before the body begins a stop waits for nobody; afterwards for the grace. */
async function intercepted(call: Call): Promise<CallResult> {
  const { step, part, tool } = call
  const { agent, session, host, limits } = step.loop
  const state: CallState = { hasBegun: false, isOver: false }
  const value = Object.freeze({
    agent,
    session,
    turn: step.turn,
    step: step.step,
    tool: tool.tool,
    toolCallId: part.toolCallId,
    toolName: part.toolName,
    input: part.input,
    signal: step.signal,
  })
  const answer = host.intercept('tool/execute', value, agent, () => begin(call, state))
  try {
    const returned = await untilStopped(answer, step.signal, () => (state.hasBegun ? limits.cancelGraceMs : 0))
    return withCall(state, isUnsafe(call, state) ? faultResult('ABORTED_BEFORE_DISPATCH') : valueResult(returned))
  } catch (error) {
    return withCall(state, failed(call, state, error))
  } finally {
    state.isOver = true
  }
}

/** The write-ahead: the body starts when its `tool/call` is durable, and only once. */
async function begin({ step, part, tool, input }: Call, state: CallState): Promise<unknown> {
  if (state.isOver || state.callSeq !== undefined || isHeld(step)) {
    throw new Error(`call ${part.toolCallId}: expected next() once and in time; its body cannot begin again or later`)
  }
  const { turn, step: number, loop } = step
  const { toolCallId, toolName, rawInput = JSON.stringify(part.input) } = part
  state.callSeq = loop.session.append('tool/call', {
    turn,
    step: number,
    toolCallId,
    toolName,
    arguments: rawInput,
  }).seq
  try {
    await loop.durability.flush()
  } catch (error) {
    step.fault ??= faultOf(error, 'FLUSH_FAILED')
    throw error
  }
  if (isHeld(step)) throw new Stopped()
  return runBody(step, tool.tool, part, input, state)
}

/** Its `tool/call` is logged, and its body did not begin. */
function isUnsafe({ step }: Call, state: CallState): boolean {
  return !state.hasBegun && (state.callSeq !== undefined || isHeld(step))
}

function failed(call: Call, state: CallState, error: unknown): CallResult {
  if (isUnsafe(call, state)) return faultResult('ABORTED_BEFORE_DISPATCH')
  if (!state.hasBegun) return faultResult('TOOL_DENIED', messageOf(error))
  if (isStopped(error)) return faultResult('TOOL_OUTCOME_UNKNOWN')
  if (state.timedOut) return faultResult('TOOL_TIMED_OUT', timedOut(call, state.timedOut))
  return call.step.signal.aborted ? faultResult('TOOL_ABORTED') : faultResult('TOOL_FAILED', messageOf(error))
}

function withCall({ callSeq }: CallState, result: CallResult): CallResult {
  return callSeq === undefined ? result : { ...result, callSeq }
}

function unknownTool({ config }: Step, name: string): string {
  const names = [...config.tools.keys()].join(', ') || 'none'
  return `There is no tool "${name}". Tools: ${names}.`
}

function invalid({ toolName }: ToolCallPart, problem: string): string {
  return `The arguments do not fit ${toolName}: ${problem}. It did not run.`
}

function timedOut({ tool: { tool } }: Call, now: 'stopped' | 'running'): string {
  const rest =
    now === 'stopped' ? 'What it did before is done.' : 'It has not stopped yet: verify the state before trying again.'
  return `${tool.name} did not end within ${tool.timeoutMs} ms and was told to stop. ${rest}`
}
