import { type Agent, createAgent, type Tool, toolOutput } from '@palimpsest/agent-loop'
import { createHost, type ModelOutcome, type Plugin } from '@palimpsest/host'
import type { Chunk, Fault, ModelPort, RequestHeader, SessionEvent } from '@palimpsest/session'
import { type RecordedCall, type RecordedStep, type RecordedTurn, STOPPED_CODES } from './recording.js'
import type { Stage } from './stage.js'

/** An agent that meets in one turn what the recorded one met: the same stream, results, input and stops. */
export async function playTurn(stage: Stage, turn: RecordedTurn): Promise<void> {
  const host = createHost({ onError: () => {} })
  await host.use(recordedHost(stage, turn))
  const agent = createAgent({
    session: stage.session,
    host,
    ...settingsFor(stage, turn, 0),
    flush: () => flush(stage, turn),
    cancelGraceMs: isCutOff(stage, turn) ? 0 : GRACE_MS,
    maxSteps: turn.reason?.kind === 'max-steps' ? Math.max(1, turn.steps.length) : Number.POSITIVE_INFINITY,
    maxParallelToolCalls: widthOf(turn),
  })
  const off = stage.onAppend(() => {
    if (stage.length === turn.crashAt) stage.halt()
    else if (stage.length === turn.end) agent.dispose().catch(() => {})
    else stopWhenDue(stage, turn, agent)
  })
  try {
    agent.send('the recorded input')
    await agent.idle()
    await agent.dispose()
  } finally {
    off()
  }
}

// --- internal ---

function recordedHost(stage: Stage, turn: RecordedTurn): Plugin {
  const stepOf = (number: number) => turn.steps.find(step => step.number === number)
  return {
    name: 'recorded',
    setup(ctx) {
      ctx.around('turn/admit', ({ agent }) => {
        // What was sent is taken by now: this enters the first step.
        enterInputs(agent as Agent, turn.steps[0])
        if (turn.steps.length === 0) throwRecorded(turn)
        return { messages: turn.messages.map(({ data }) => data.message) }
      })
      ctx.around('model/request', async (call, next) => {
        const step = stepOf(call.step)
        if (step === undefined) throw new Error(`the recording has no step ${call.step} in turn ${call.turn}`)
        const following = stepOf(call.step + 1)
        enterInputs(call.agent as Agent, following)
        if (following) (call.agent as Agent).configure(settingsFor(stage, turn, turn.steps.indexOf(following)))
        return attempt(stage, turn, step, next)
      })
      ctx.around('tool/execute', async (call, next) => {
        const recorded = stepOf(call.step)?.calls.get(call.toolCallId)
        if (recorded?.beganAt === undefined) return settle(stage, turn, recorded, call.agent as Agent)
        await stage.reach(recorded.beganAt)
        return next()
      })
    },
  }
}

/** Runs the recorded attempts and answers what the outermost handler then answered. */
async function attempt(
  stage: Stage,
  turn: RecordedTurn,
  { attempts, answer }: RecordedStep,
  next: () => Promise<ModelOutcome>,
): Promise<ModelOutcome> {
  let outcome: ModelOutcome | undefined
  for (const [first] of attempts) {
    await stage.reach(first!.seq)
    const tried = await next()
    if (outcome === undefined || answer === undefined || tried.seqs[0] === answer.sourceEventSeqs?.[0]) outcome = tried
  }
  if (answer !== undefined && outcome !== undefined) return outcome
  if (outcome?.failure !== undefined && isError(turn, outcome.failure)) return outcome
  throwRecorded(turn)
  return outcome ?? { chunks: [], seqs: [] }
}

function isError({ reason }: RecordedTurn, { code, message }: Fault): boolean {
  return reason?.kind === 'error' && reason.error.code === code && reason.error.message === message
}

function throwRecorded({ reason }: RecordedTurn): void {
  if (reason?.kind !== 'error') return
  throw Object.assign(new Error(reason.error.message), { code: reason.error.code })
}

/** The recorded result, when its time has come. A process that died before that waits for ever. */
async function settle(stage: Stage, turn: RecordedTurn, call: RecordedCall | undefined, agent: Agent) {
  await stage.reach(call?.settledAt ?? Number.POSITIVE_INFINITY)
  const { message, error } = call!.result!
  const isStopped = STOPPED_CODES.has(error?.code ?? '')
  if (isStopped) {
    await stage.when(() => begunBefore(turn, turn.stopAt ?? 0).every(each => running.has(each)))
    stop(turn, agent)
  }
  if (isStopped && isCutOff(stage, turn)) return new Promise(() => {})
  return toolOutput(message.content[0]!.output, error)
}

/** A call that was logged and did not begin: the store failed, or the stop came while it was asked. */
async function flush(stage: Stage, turn: RecordedTurn): Promise<void> {
  const last = stage.recorded.at(stage.length - 1)
  if (last?.type !== 'tool/call') return
  const { step, toolCallId } = last.data
  const call = turn.steps.find(({ number }) => number === step)?.calls.get(toolCallId)
  if (call === undefined || hasBegun(call)) return
  throwRecorded(turn)
  await stage.reach(call.settledAt)
}

/** Longer than a replay takes: what the tool said after the stop is in the recording. */
const GRACE_MS = 60_000

/** Whether the loop did not wait for the tools that it stopped. */
function isCutOff({ recorded }: Stage, { stopAt }: RecordedTurn): boolean {
  const event = stopAt === undefined ? undefined : recorded.at(stopAt)
  if (event?.type !== 'tool/result' && event?.type !== 'tool/settled') return false
  return event.data.error?.code === 'TOOL_OUTCOME_UNKNOWN'
}

/** Calls whose bodies were running when the turn was stopped. */
function begunBefore({ steps }: RecordedTurn, seq: number): RecordedCall[] {
  return steps.flatMap(({ calls }) => [...calls.values()].filter(call => hasBegun(call) && call.beganAt! < seq))
}

/** Calls whose bodies have begun again. */
const running = new WeakSet<RecordedCall>()

function hasBegun({ beganAt, result }: RecordedCall): boolean {
  return beganAt !== undefined && result?.error?.code !== 'ABORTED_BEFORE_DISPATCH'
}

/** Where the body of a stopped tool had begun, the tool itself says when: see `settle`. */
function stopWhenDue(stage: Stage, turn: RecordedTurn, agent: Agent): void {
  if (stage.length !== turn.stopAt) return
  const next = stage.next
  const code = next?.type === 'tool/result' || next?.type === 'tool/settled' ? next.data.error?.code : undefined
  if (code !== 'TOOL_ABORTED' && code !== 'TOOL_OUTCOME_UNKNOWN') stop(turn, agent)
}

function stop({ reason }: RecordedTurn, agent: Agent): void {
  if (reason?.kind === 'disposed') agent.dispose().catch(() => {})
  else agent.cancel(reason?.kind === 'aborted' ? reason.reason : undefined)
}

function enterInputs(agent: Agent, step: RecordedStep | undefined): void {
  for (const event of step?.inputs ?? []) {
    const { content } = event.data.message
    if (event.type === 'context/message') agent.inject(content, event.data.origin)
    else agent.steer(content)
  }
}

/** What the request header of a step says, with the recording in place of model and tools. */
function settingsFor(stage: Stage, turn: RecordedTurn, index: number) {
  const header = headerOf(stage, turn, index)
  const tools = (header?.tools ?? []).map(schema => recordedTool(stage, turn, schema))
  return {
    model: recordedModel(stage, turn, header?.model ?? 'recorded'),
    settings: header?.settings ?? {},
    system: header?.system ?? '',
    tools,
  }
}

function headerOf({ recorded }: Stage, turn: RecordedTurn, index: number): RequestHeader | undefined {
  const step = turn.steps[index]
  const asked = step?.attempts[0]?.[0]?.seq ?? step?.answer?.seq ?? turn.end
  const seq = recorded.lastSeqOf('request/header', asked)
  return seq === undefined ? undefined : (recorded.at(seq) as SessionEvent<'request/header'>).data
}

function recordedModel(stage: Stage, turn: RecordedTurn, model: string): ModelPort {
  const attempts = turn.steps.flatMap(step => step.attempts)
  return {
    model,
    async *stream(): AsyncIterable<Chunk> {
      const chunks = attempts.find(([first]) => first!.seq === stage.length) ?? []
      for (const { seq, data } of chunks) {
        await stage.reach(seq)
        yield data.chunk
      }
    },
  }
}

/** Takes any input: what did not fit, then, is in the recording as a result. */
function recordedTool(stage: Stage, turn: RecordedTurn, schema: NonNullable<RequestHeader['tools']>[number]): Tool {
  const { inputSchema, ...named } = schema
  return {
    ...named,
    inputSchema: { '~standard': { version: 1, vendor: 'palimpsest', validate: (value: unknown) => ({ value }) } },
    inputJsonSchema: inputSchema,
    parallelSafe: isParallel(turn, schema.name),
    execute: (_, { step, toolCallId, agent }) => {
      const call = turn.steps.find(({ number }) => number === step)?.calls.get(toolCallId)
      if (call !== undefined) running.add(call)
      stage.poke()
      return settle(stage, turn, call, agent as Agent)
    },
  }
}

/** Whether a call of that tool ran beside another one. */
function isParallel({ steps }: RecordedTurn, name: string): boolean {
  return steps.some(({ calls }) => {
    const list = [...calls.values()]
    return list.some(call => call.toolName === name && list.some(other => other !== call && overlap(call, other)))
  })
}

function overlap(a: RecordedCall, b: RecordedCall): boolean {
  if (a.beganAt === undefined || b.beganAt === undefined) return false
  return a.beganAt < b.settledAt && b.beganAt < a.settledAt
}

/** The most calls that ran side by side. */
function widthOf({ steps }: RecordedTurn): number {
  const counts = steps.flatMap(({ calls }) => {
    const list = [...calls.values()]
    return list.map(
      call => 1 + list.filter(other => other !== call && overlap(call, other) && other.beganAt! < call.beganAt!).length,
    )
  })
  return Math.max(1, ...counts)
}
