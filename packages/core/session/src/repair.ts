import type { SessionEvent } from './events.js'
import type { AssistantMessage, AssistantPart, ToolCallPart, ToolOutput } from './messages.js'
import { VisibleTail } from './visible-tail.js'

/**
 * The events that close a log which stopped in mid-turn, to be appended as they are; none where no
 * turn is open. Pure and idempotent; takes the whole log or what follows the last `turn/start`. Whatever
 * the kernel admits can be closed: what an event should say and does not is left out.
 *
 * A missing result is never turned into success: a call that was settled gets its true result, one
 * that began gets `TOOL_OUTCOME_UNKNOWN`, one that never began `TOOL_NOT_STARTED`. Calls that the
 * provider ran itself, or that are no longer visible, get none. The time is the last event's.
 */
export function closeInterruptedTurn(events: readonly SessionEvent[]): SessionEvent[] {
  const open = openTurn(events)
  const last = events.at(-1)
  if (open === undefined || last === undefined) return []
  const closing: SessionEvent[] = []
  const add = (type: string, data: object, marks: object = {}) =>
    closing.push({
      seq: last.seq + 1 + closing.length,
      time: last.time,
      type,
      data: withoutUndefined(data),
      ...marks,
    } as SessionEvent)

  for (const call of unansweredCalls(open)) {
    const { data, source } = resultOf(call)
    add('tool/result', data, { sourceEventSeqs: [source], surfaceOp: 'append' })
  }
  const { turn } = open[0]!.data as { turn: number }
  const step = openStep(open)
  if (step !== undefined) add('step/end', { turn, step: step.data.step })
  add('turn/end', { turn, reason: { kind: 'interrupted' } })
  return closing
}

// --- internal ---

interface OpenCall {
  turn: number
  step: number
  toolCallId: string
  toolName: string
  /** The `assistant/message` that asks for it, and those that replaced it and ask for it still. */
  askers: number[]
  call?: number
  settled?: SessionEvent<'tool/settled'>
}

/** The events from the last `turn/start` on, if no `turn/end` follows it. */
function openTurn(events: readonly SessionEvent[]): readonly SessionEvent[] | undefined {
  for (let i = events.length - 1; i >= 0; i--) {
    if (events[i]!.type === 'turn/end') return undefined
    if (events[i]!.type === 'turn/start') return events.slice(i)
  }
  return undefined
}

function openStep(open: readonly SessionEvent[]): SessionEvent<'step/start'> | undefined {
  const edge = open.findLast(event => event.type === 'step/start' || event.type === 'step/end')
  return edge?.type === 'step/start' ? edge : undefined
}

/** In the order of the calls. Ids may repeat: an event belongs to the youngest open call of its id. */
function unansweredCalls(open: readonly SessionEvent[]): OpenCall[] {
  const calls: OpenCall[] = []
  const visible = new VisibleTail()
  for (const event of open) {
    visible.fold(event)
    if (event.type === 'assistant/message') addCalls(calls, event)
    if (event.type !== 'tool/call' && event.type !== 'tool/settled' && event.type !== 'tool/result') continue
    const at = calls.findLastIndex(call => call.toolCallId === event.data.toolCallId)
    if (at < 0) continue
    if (event.type === 'tool/call') calls[at]!.call = event.seq
    else if (event.type === 'tool/settled') calls[at]!.settled = event
    else if (event.surfaceOp === 'append') calls.splice(at, 1)
  }
  for (const call of calls) call.askers = call.askers.filter(seq => visible.has(seq))
  return calls.filter(({ askers }) => askers.length > 0)
}

/** A replacement asks for nothing new: it carries on the open calls that it repeats. */
function addCalls(calls: OpenCall[], event: SessionEvent<'assistant/message'>): void {
  if (event.surfaceOp === 'append') calls.push(...callsOf(event))
  else
    for (const { toolCallId } of callsOf(event))
      calls.findLast(call => call.toolCallId === toolCallId)?.askers.push(event.seq)
}

function callsOf(event: SessionEvent<'assistant/message'>): OpenCall[] {
  const { turn, step } = event.data
  const message: AssistantMessage = event.data.message
  return message.content.flatMap(part =>
    isCall(part) && !part.providerExecuted
      ? [{ turn, step, toolCallId: part.toolCallId, toolName: part.toolName, askers: [event.seq] }]
      : [],
  )
}

/** The kernel vouches for the list of parts, not for what is in it. Without an id there is nothing to answer. */
function isCall(part: AssistantPart | null): part is ToolCallPart {
  return part?.type === 'tool-call' && typeof part.toolCallId === 'string'
}

function withoutUndefined(data: object): object {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined))
}

function resultOf(call: OpenCall): { data: object; source: number } {
  const { turn, step, toolCallId, settled } = call
  const toolName = call.toolName ?? ''
  const source = call.call ?? call.askers.at(-1)!
  const result = (output: ToolOutput) => ({
    turn,
    step,
    toolCallId,
    message: { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] },
  })
  if (settled?.data.output !== undefined) {
    return { source, data: { ...result(settled.data.output), error: settled.data.error } }
  }
  const error = call.call === undefined ? NOT_STARTED : OUTCOME_UNKNOWN
  return { source, data: { ...result({ type: 'error-text', value: error.message }), error, synthetic: true } }
}

const NOT_STARTED = {
  code: 'TOOL_NOT_STARTED',
  message: 'The session was interrupted before this tool started. It did not run; call it again if it is still needed.',
}

const OUTCOME_UNKNOWN = {
  code: 'TOOL_OUTCOME_UNKNOWN',
  message:
    'The session was interrupted while this tool ran. Its outcome is unknown: it may have run in part or in full. Verify the state before trying again.',
}
