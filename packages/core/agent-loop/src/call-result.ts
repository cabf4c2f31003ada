import type { Fault, ToolOutput } from '@palimpsest/session'
import { openEnvelope } from './tool.js'

/** How one call came out. With `callSeq` its body began, or was about to. */
export interface CallResult {
  readonly output: ToolOutput
  readonly error?: Fault
  readonly callSeq?: number
}

export type ToolFaultCode =
  | 'TOOL_UNKNOWN'
  | 'TOOL_ARGUMENTS_INVALID'
  | 'TOOL_DENIED'
  | 'TOOL_FAILED'
  | 'TOOL_TIMED_OUT'
  | 'TOOL_RESULT_INVALID'
  | 'TOOL_ABORTED'
  | 'TOOL_OUTCOME_UNKNOWN'
  | 'ABORTED_BEFORE_DISPATCH'

/** A fault is told to the model in the same words as to the log. */
export function faultResult(code: ToolFaultCode, message: string = TEXTS[code] ?? code): CallResult {
  return { output: { type: 'error-text', value: message }, error: { code, message } }
}

/** What a tool returned, as an output. Whether it is lossless JSON is found out when it is logged. */
export function valueResult(value: unknown): CallResult {
  const envelope = openEnvelope(value)
  if (envelope !== undefined) return openedResult(envelope)
  if (value === undefined) return resultInvalid('it is undefined')
  if (typeof value === 'string') return { output: { type: 'text', value } }
  return { output: { type: 'json', value: value as never } }
}

export function resultInvalid(why: string): CallResult {
  return faultResult('TOOL_RESULT_INVALID', `The result is not lossless JSON: ${why}. What the tool did is done.`)
}

// --- internal ---

function openedResult({ output, error }: { output: ToolOutput; error?: Fault }): CallResult {
  if (!isOutput(output)) return resultInvalid('toolOutput() was given no output')
  if (error === undefined) return { output }
  if (isString(error?.code) && isString(error.message))
    return { output, error: { code: error.code, message: error.message } }
  return resultInvalid('toolOutput() was given an error without a code and a message')
}

const TEXTS: Partial<Record<ToolFaultCode, string>> = {
  TOOL_ABORTED: 'The user stopped this tool while it ran. What it did before is done.',
  TOOL_OUTCOME_UNKNOWN:
    'This tool was told to stop and did not. Its outcome is unknown: verify the state before trying again.',
  ABORTED_BEFORE_DISPATCH: 'The turn was stopped before this tool began. It did not run.',
}

const OUTPUTS: Record<ToolOutput['type'], (value: unknown) => boolean> = {
  text: isString,
  json: isDefined,
  'execution-denied': () => true,
  'error-text': isString,
  'error-json': isDefined,
  content: Array.isArray,
}

function isOutput(output: unknown): output is ToolOutput {
  if (typeof output !== 'object' || output === null) return false
  const { type, value } = output as { type?: unknown; value?: unknown }
  return typeof type === 'string' && Object.hasOwn(OUTPUTS, type) && OUTPUTS[type as ToolOutput['type']](value)
}

function isString(value: unknown): boolean {
  return typeof value === 'string'
}

function isDefined(value: unknown): boolean {
  return value !== undefined
}
