import {
  type AssistantPart,
  type EventMap,
  Session,
  type SessionEvent,
  type Surface,
  type ToolCallPart,
  type ToolOutput,
} from '@palimpsest/session'

/** The calls of the running turn that have no result yet, as a log is made again around what it lost. */
export class OpenCalls {
  readonly #surface: Surface
  readonly #open = new Map<string, OpenCall>()
  /** Results that `lostResults` made up, by their calls. */
  readonly #standIns = new Map<string, number>()

  constructor(surface: Surface) {
    this.#surface = surface
  }

  /** The result that stands for a lost one. */
  standIn(toolCallId: string): number | undefined {
    return this.#standIns.get(toolCallId)
  }

  /** A result of `lostResults` is in the log now. */
  answer(event: SessionEvent<'tool/result'>): void {
    this.#standIns.set(event.data.toolCallId, event.seq)
    this.note(event)
  }

  note(event: SessionEvent): void {
    if (event.type === 'turn/start' || event.type === 'turn/end') this.#open.clear()
    if (event.type === 'assistant/message') this.#noteAsker(event)
    if (event.type !== 'tool/call' && event.type !== 'tool/settled' && event.type !== 'tool/result') return
    const { toolCallId } = event.data
    const call = this.#open.get(toolCallId)
    if (event.type === 'tool/result') {
      if (event.surfaceOp === 'append') this.#open.delete(toolCallId)
    } else if (call !== undefined) {
      if (event.type === 'tool/call') call.begun = event.seq
      else call.settled = event.data
    }
  }

  /**
   * Results for the calls whose own one is lost: nowhere in `events` from `from` to the end of the turn. Each with
   * the seq that it answers. A call that was settled gets its true result; of the others nobody knows whether they ran.
   */
  lostResults(events: readonly SessionEvent[], from: number): [EventMap['tool/result'], number][] {
    const waiting = new Map([...this.#open].filter(([, { asker }]) => this.#surface.has(asker)))
    const lost = new Map(waiting)
    for (let i = from; i < events.length && waiting.size > 0; i++) {
      const event = events[i]!
      if (event.type === 'turn/start') break
      if (!TELLING.has(event.type) || !isAdmissible(event)) continue
      if (event.type === 'assistant/message') for (const { toolCallId } of callsOf(event)) waiting.delete(toolCallId)
      if (event.type !== 'tool/settled' && event.type !== 'tool/result') continue
      const call = waiting.get(event.data.toolCallId)
      if (call === undefined || event.data.turn !== call.at.turn) continue
      if (event.type === 'tool/settled') call.settled ??= event.data
      else if (event.surfaceOp === 'append' && waiting.delete(event.data.toolCallId)) lost.delete(event.data.toolCallId)
    }
    return [...lost].map(([toolCallId, call]) => [resultOf(toolCallId, call), call.begun ?? call.asker])
  }

  // --- internal ---

  /** A replacement asks for nothing new: it carries on the open calls that it repeats. */
  #noteAsker(event: SessionEvent<'assistant/message'>): void {
    for (const { toolCallId, toolName } of callsOf(event)) {
      const open = this.#open.get(toolCallId)
      if (open !== undefined) open.asker = event.seq
      else if (event.surfaceOp === 'append') this.#open.set(toolCallId, { asker: event.seq, toolName, at: event.data })
    }
  }
}

// --- internal ---

interface OpenCall {
  /** The visible message that asks for it. */
  asker: number
  toolName: string
  /** Turn and step. */
  at: { turn: number; step: number }
  /** Its `tool/call`. */
  begun?: number
  settled?: EventMap['tool/settled']
}

/** What says something of a call that another event asked for. */
const TELLING: ReadonlySet<string> = new Set(['assistant/message', 'tool/settled', 'tool/result'])

/** Whether a session can hold the event at all, whatever stands before it; else it is lost as well. */
function isAdmissible({ type, time, data, surfaceOp: op }: SessionEvent): boolean {
  const alone = { seq: 0, time, type, data, ...(op !== undefined && { surfaceOp: 'append' }) }
  try {
    Session.create({ seed: [alone as SessionEvent] })
    return true
  } catch {
    return false
  }
}

function callsOf({ data }: SessionEvent<'assistant/message'>): ToolCallPart[] {
  const parts = data.message.content as readonly (AssistantPart | null)[]
  return parts.filter(
    (part): part is ToolCallPart =>
      part?.type === 'tool-call' && typeof part.toolCallId === 'string' && !part.providerExecuted,
  )
}

function resultOf(toolCallId: string, { at, toolName, settled }: OpenCall): EventMap['tool/result'] {
  const result = (output: ToolOutput): EventMap['tool/result'] =>
    ({
      ...(at.turn !== undefined && { turn: at.turn }),
      ...(at.step !== undefined && { step: at.step }),
      toolCallId,
      message: { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName: toolName ?? '', output }] },
    }) as EventMap['tool/result']
  if (settled?.output !== undefined) {
    return settled.error === undefined ? result(settled.output) : { ...result(settled.output), error: settled.error }
  }
  return { ...result({ type: 'error-text', value: OUTCOME_LOST.message }), error: OUTCOME_LOST, synthetic: true }
}

const OUTCOME_LOST = {
  code: 'TOOL_OUTCOME_UNKNOWN',
  message:
    'A part of the log was lost, and with it the result of this tool, if it ran. Its outcome is unknown: it may have run in part or in full. Verify the state before trying again.',
}
