import type { Fault, SessionEvent, ToolOutput } from '@palimpsest/session'

export interface RecordedStep {
  readonly number: number
  /** What entered before the request, in order. */
  readonly inputs: readonly SessionEvent<'steering/message' | 'context/message'>[]
  readonly attempts: readonly (readonly SessionEvent<'assistant/chunk'>[])[]
  readonly answer: SessionEvent<'assistant/message'> | undefined
  readonly calls: ReadonlyMap<string, RecordedCall>
}

/** Positions are seqs, `NEVER` where the recording ends before that. */
export interface RecordedCall {
  /** Its `tool/call`; `undefined` where its body was not about to begin. */
  readonly beganAt: number | undefined
  /** Where its outcome was first logged. */
  readonly settledAt: number
  /** Its `tool/result`. */
  readonly answeredAt: number
  readonly outcome: { readonly output: ToolOutput; readonly error: Fault | undefined } | undefined
}

export const NEVER = Number.POSITIVE_INFINITY

/** The steps of a turn that the loop itself wrote. */
export function readSteps(events: readonly SessionEvent[]): RecordedStep[] {
  const starts = events.flatMap((event, i) => (event.type === 'step/start' ? [i] : []))
  return starts.map((from, i) => readStep(events.slice(from, starts[i + 1] ?? events.length)))
}

// --- internal ---

function readStep(events: readonly SessionEvent[]): RecordedStep {
  const answer = events.find(event => event.type === 'assistant/message' && event.surfaceOp === 'append')
  const chunks = events.filter(event => event.type === 'assistant/chunk')
  return {
    number: (events[0] as SessionEvent<'step/start'>).data.step,
    inputs: events.filter(isInput),
    attempts: splitAttempts(chunks as SessionEvent<'assistant/chunk'>[], answer?.sourceEventSeqs?.[0]),
    answer: answer as SessionEvent<'assistant/message'> | undefined,
    calls: readCalls(events),
  }
}

function isInput(event: SessionEvent): event is SessionEvent<'steering/message' | 'context/message'> {
  return (event.type === 'steering/message' || event.type === 'context/message') && event.surfaceOp === 'append'
}

/** A final chunk ends an attempt, and the one that was answered begins with the answer's first source. */
function splitAttempts(chunks: readonly SessionEvent<'assistant/chunk'>[], answered: number | undefined) {
  const attempts: SessionEvent<'assistant/chunk'>[][] = []
  let isOver = true
  for (const chunk of chunks) {
    if (isOver || chunk.seq === answered) attempts.push([])
    attempts.at(-1)!.push(chunk)
    const { type } = chunk.data.chunk
    isOver = type === 'finish' || type === 'error'
  }
  return attempts
}

function readCalls(events: readonly SessionEvent[]): Map<string, RecordedCall> {
  const calls = new Map<string, RecordedCall>()
  const note = (id: string, known: Partial<RecordedCall>) => calls.set(id, { ...UNKNOWN, ...calls.get(id), ...known })
  for (const event of events) {
    if (event.type === 'tool/call') note(event.data.toolCallId, { beganAt: event.seq })
    else if (event.type === 'tool/settled') {
      const { toolCallId, output, error } = event.data
      note(toolCallId, { settledAt: event.seq, outcome: { output, error } })
    } else if (event.type === 'tool/result' && event.surfaceOp === 'append') {
      const { toolCallId, message, error } = event.data
      // A log from elsewhere may hold parts of any shape.
      const output = message.content.find(part => part?.type === 'tool-result')?.output
      if (output === undefined) continue
      const settledAt = Math.min(event.seq, calls.get(toolCallId)?.settledAt ?? event.seq)
      note(toolCallId, { settledAt, answeredAt: event.seq, outcome: { output, error } })
    }
  }
  return calls
}

const UNKNOWN: RecordedCall = { beganAt: undefined, settledAt: NEVER, answeredAt: NEVER, outcome: undefined }
