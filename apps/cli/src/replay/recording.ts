import {
  closeInterruptedTurn,
  type Fault,
  type Session,
  type SessionEvent,
  type ToolOutput,
  type TurnEnd,
} from '@palimpsest/session'

/** One turn of a log that the loop wrote, and what it was told on the way. Positions are seqs. */
export interface RecordedTurn {
  readonly start: number
  /** One more than the seq of its `turn/end`, or than the last event of a turn that is still open. */
  readonly end: number
  readonly turn: number
  readonly steps: readonly RecordedStep[]
  readonly messages: readonly SessionEvent<'user/message'>[]
  readonly reason: TurnEnd | undefined
  /** Where the process died: from here on recovery wrote. */
  readonly crashAt: number | undefined
  /** The first event that there is only because the turn was stopped. */
  readonly stopAt: number | undefined
  /** The first outcome of a call that a stop or a failing store made: from here on no other call begins. */
  readonly heldAt: number
}

export interface RecordedStep {
  readonly number: number
  /** What entered before the request, in order. */
  readonly inputs: readonly SessionEvent<'steering/message' | 'context/message'>[]
  readonly attempts: readonly (readonly SessionEvent<'assistant/chunk'>[])[]
  readonly answer: SessionEvent<'assistant/message'> | undefined
  readonly calls: ReadonlyMap<string, RecordedCall>
}

export interface RecordedCall {
  readonly toolName: string
  /** The seq of its `tool/call`; `undefined` where its body never began. */
  readonly beganAt: number | undefined
  /** The seq at which its outcome was known; `Infinity` where the recording ends before that. */
  readonly settledAt: number
  readonly outcome: { readonly output: ToolOutput; readonly error: Fault | undefined } | undefined
}

/** Codes of results that a stop of the turn made, or a store that failed. */
export const STOPPED_CODES: ReadonlySet<string> = new Set([
  'ABORTED_BEFORE_DISPATCH',
  'TOOL_ABORTED',
  'TOOL_OUTCOME_UNKNOWN',
])

/** The turn that begins at `start`, or `undefined` where it is none of the loop's. */
export function readTurn(session: Session, start: number): RecordedTurn | undefined {
  const first = session.at(start)
  if (first?.type !== 'turn/start') return undefined
  const end = turnEnd(session, start)
  const events = session.slice(start, end)
  const last = events.at(-1)
  const reason = last?.type === 'turn/end' ? last.data.reason : undefined
  const crashAt = reason?.kind === 'interrupted' ? findCrash(events, start) : undefined
  const lived = events.filter(({ seq }) => crashAt === undefined || seq < crashAt)
  const steps = readSteps(lived)
  const wasAsked =
    steps.every(({ answer }) => answer === undefined) || session.lastSeqOf('request/header', end) !== undefined
  if (!wasAsked) return undefined
  return {
    start,
    end,
    turn: first.data.turn,
    steps,
    messages: lived.filter(event => event.type === 'user/message' && event.surfaceOp === 'append') as never,
    reason,
    crashAt,
    stopAt: isStopped(reason) ? findStop(lived) : findEarlierStop(lived, steps.at(-1)),
    heldAt: lived.find(event => event.type !== 'assistant/message' && comesFromStop(event))?.seq ?? NEVER,
  }
}

/** The call that an event begins or is the outcome of. */
export function findCall({ steps }: RecordedTurn, event: SessionEvent): RecordedCall | undefined {
  if (event.type !== 'tool/call' && event.type !== 'tool/result' && event.type !== 'tool/settled') return undefined
  const { step, toolCallId } = event.data
  return steps.find(({ number }) => number === step)?.calls.get(toolCallId)
}

/** Whether its body began: one that was logged may have met a stop, or a store that failed. */
export function hasBegun({ beganAt, outcome }: RecordedCall): boolean {
  return beganAt !== undefined && outcome?.error?.code !== 'ABORTED_BEFORE_DISPATCH'
}

/** Events that plugins, tools or people put into the log beside the loop. */
export function isGiven({ type, surfaceOp, ignorable }: SessionEvent): boolean {
  return ignorable === true || (surfaceOp !== undefined && surfaceOp !== 'append') || GIVEN_TYPES.has(type)
}

// --- internal ---

const GIVEN_TYPES = new Set<string>(['compaction/start', 'compaction/end', 'prune/applied', 'log/lost'])

function turnEnd(session: Session, start: number): number {
  for (let seq = start + 1; seq < session.length; seq++) {
    const { type } = session.at(seq)!
    if (type === 'turn/end') return seq + 1
    if (type === 'turn/start') return seq
  }
  return session.length
}

/** The earliest place from which recovery writes exactly what follows. */
function findCrash(events: readonly SessionEvent[], start: number): number {
  let crash = events.length - 1
  while (crash > 1 && writesRest(events, crash - 1)) crash--
  return start + crash
}

function writesRest(events: readonly SessionEvent[], from: number): boolean {
  return JSON.stringify(closeInterruptedTurn(events.slice(0, from))) === JSON.stringify(events.slice(from))
}

function isStopped(reason: TurnEnd | undefined): boolean {
  return reason?.kind === 'aborted' || reason?.kind === 'disposed'
}

/** A process may have died while it was ending a turn that was stopped, or that failed. */
function findEarlierStop(lived: readonly SessionEvent[], step: RecordedStep | undefined): number | undefined {
  const last = lived.at(-1)
  if (last?.type === 'turn/end') return undefined
  const told = lived.find(comesFromStop)
  return told?.seq ?? (last?.type === 'step/end' && step?.answer === undefined ? last.seq : undefined)
}

/** The first result or answer that says so; without one, the ends that follow what the loop wrote last. */
function findStop(events: readonly SessionEvent[]): number {
  const told = events.find(comesFromStop)
  if (told !== undefined) return told.seq
  const last = events.findLastIndex(({ type }) => type !== 'turn/end' && type !== 'step/end')
  return events[Math.max(last, 0) + 1]!.seq
}

function comesFromStop(event: SessionEvent): boolean {
  if (event.type === 'assistant/message') return event.data.interrupted === true
  if (event.type !== 'tool/result' && event.type !== 'tool/settled') return false
  return STOPPED_CODES.has(event.data.error?.code ?? '')
}

function readSteps(events: readonly SessionEvent[]): RecordedStep[] {
  const starts = events.flatMap((event, i) => (event.type === 'step/start' ? [i] : []))
  return starts.map((from, i) => readStep(events.slice(from, starts[i + 1] ?? events.length)))
}

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
  const note = (id: string, known: Partial<RecordedCall>) => calls.set(id, { ...UNSETTLED, ...calls.get(id), ...known })
  for (const event of events) {
    if (event.type === 'tool/call') {
      note(event.data.toolCallId, { toolName: event.data.toolName, beganAt: event.seq })
    } else if (event.type === 'tool/settled') {
      const { toolCallId, output, error } = event.data
      note(toolCallId, { settledAt: event.seq, outcome: { output, error } })
    } else if (event.type === 'tool/result' && event.surfaceOp === 'append') {
      const { toolCallId, message, error } = event.data
      const { toolName, output } = message.content.find(({ type }) => type === 'tool-result')!
      const settledAt = Math.min(event.seq, calls.get(toolCallId)?.settledAt ?? event.seq)
      note(toolCallId, { toolName, settledAt, outcome: { output, error } })
    }
  }
  return calls
}

const NEVER = Number.POSITIVE_INFINITY
const UNSETTLED: RecordedCall = { toolName: '', beganAt: undefined, settledAt: NEVER, outcome: undefined }
