import { type Agent, createAgent } from '@palimpsest/agent-loop'
import { createHost, type ModelOutcome, type Plugin } from '@palimpsest/host'
import { answerCall, makeSafe } from './recorded-calls.js'
import { settingsFor } from './recorded-settings.js'
import type { RecordedStep } from './recorded-step.js'
import { findCall, type RecordedTurn } from './recording.js'
import type { Stage } from './stage.js'
import { isRecordedFault, stop, stopWhenDue, throwRecorded } from './turn-end.js'

/** An agent that meets in one turn what the recorded one met: the same stream, results, input and stops. */
export async function playTurn(stage: Stage, turn: RecordedTurn): Promise<void> {
  const host = createHost({ onError: () => {} })
  await host.use(recordedHost(stage, turn))
  const agent = createAgent({
    session: stage.session,
    host,
    ...settingsFor(stage, turn, turn.steps[0]),
    flush: () => makeSafe(stage, turn),
    maxSteps: turn.reason?.kind === 'max-steps' ? Math.max(1, turn.steps.length) : Number.POSITIVE_INFINITY,
    maxParallelToolCalls: Number.POSITIVE_INFINITY,
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
        prepareNext(stage, turn, step, call.agent as Agent)
        return attempt(stage, turn, step, next)
      })
      // Only the retry that showed nothing is asked for so late: see `stopWhenDue`.
      ctx.on('model/request', (_, { length }, agent) => {
        if (length === turn.stopAt) stop(turn, agent as Agent)
      })
      ctx.around('tool/execute', async (call, next) => {
        const recorded = findCall(turn, call.step, call.toolCallId)
        if (recorded?.beganAt === undefined) return answerCall(stage, recorded)
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
  if (stage.length === turn.stopAt) return next()
  if (outcome?.failure !== undefined && isRecordedFault(turn, outcome.failure)) return outcome
  throwRecorded(turn)
  return outcome ?? { chunks: [], seqs: [] }
}

/** What has to be there when `step` ends. */
function prepareNext(stage: Stage, turn: RecordedTurn, step: RecordedStep, agent: Agent): void {
  const following = turn.steps[turn.steps.indexOf(step) + 1]
  enterInputs(agent, following)
  const isAskedAgain = following !== undefined || turn.reason?.kind === 'max-steps'
  const isExplained = step.calls.size > 0 || following?.inputs.some(({ type }) => type === 'steering/message')
  // Somebody made the loop ask again, and what he said is not in this turn: a stop, a death or the limit came before.
  if (isAskedAgain && !isExplained) agent.steer('what the turn does not hold')
  if (following) agent.configure(settingsFor(stage, turn, following))
}

function enterInputs(agent: Agent, step: RecordedStep | undefined): void {
  for (const event of step?.inputs ?? []) {
    const { content } = event.data.message
    if (event.type === 'context/message') agent.inject(content, event.data.origin)
    else agent.steer(content)
  }
}
