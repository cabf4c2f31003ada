import type { ModelOutcome } from '@palimpsest/host'
import type { AssistantMessage, ModelFailure, SessionEvent, SurfaceIntent } from '@palimpsest/session'
import { assemble, callsOf } from './assemble.js'
import { runAttempt } from './attempt.js'
import type { Attempt, Step, Turn } from './loop.js'
import { abortCalls, runToolCalls } from './tool-calls.js'
import { childController, throwIfStopped, untilStopped } from './until-stopped.js'

/**
 * One model request and the tool calls that it asked for. Answers whether the model has to be asked again.
 * Throws `Stopped`, `RequestFailed`, or what a handler or the store threw; the step is closed in any case.
 */
export async function runStep(turn: Turn, number: number): Promise<boolean> {
  const { loop, signal } = turn
  const step: Step = { loop, turn: turn.turn, step: number, signal, config: loop.config }
  loop.session.append('step/start', { turn: step.turn, step: number })
  try {
    throwIfStopped(signal)
    logContext(step)
    logHeader(step)
    const answer = logAnswer(step, await ask(step))
    const calls = callsOf(answer.data.message)
    await runToolCalls(step, answer.seq, calls)
    return calls.length > 0
  } finally {
    loop.session.append('step/end', { turn: step.turn, step: number })
  }
}

// --- internal ---

function logContext({ loop, turn }: Step): void {
  const { inbox, durability, session } = loop
  for (const entry of inbox.takeStep()) {
    const { input, message } = entry
    try {
      const event =
        input.kind === 'inject'
          ? session.append('context/message', { turn, message, origin: input.origin ?? '' }, APPEND)
          : session.append('steering/message', { turn, message }, APPEND)
      durability.logged(entry, event.seq)
    } catch (error) {
      entry.reject(error)
    }
  }
}

function logHeader({ loop: { session }, config: { header } }: Step): void {
  const last = session.lastSeqOf('request/header')
  const logged = last === undefined ? undefined : session.at(last)!.data
  if (JSON.stringify(logged) !== JSON.stringify(header)) session.append('request/header', header)
}

/** What the outermost handler answers. Whoever is still streaming then is told to stop, and logs no more. */
async function ask(step: Step): Promise<ModelOutcome> {
  const { loop, turn, step: number, signal } = step
  const { agent, session, host } = loop
  const { controller, release } = childController(signal)
  const value = Object.freeze({ agent, session, turn, step: number, signal })
  try {
    const attempts = host.intercept('model/request', value, agent, () => runAttempt(step, controller.signal))
    return await untilStopped(attempts, signal)
  } catch (error) {
    if (signal.aborted) keepShown(step)
    throw error
  } finally {
    release()
    controller.abort()
  }
}

function logAnswer(step: Step, outcome: ModelOutcome): SessionEvent<'assistant/message'> {
  if (outcome.failure) throw new RequestFailed(outcome.failure)
  return logMessage(step, assemble(outcome.chunks), outcome)
}

function logMessage(
  { loop, turn, step }: Step,
  message: AssistantMessage,
  { seqs, finishReason = 'other', usage }: Partial<ModelOutcome>,
  marks: { interrupted?: true } = {},
): SessionEvent<'assistant/message'> {
  const data = { turn, step, message, finishReason, ...(usage ? { usage } : {}), ...marks }
  return loop.session.append('assistant/message', data, seqs?.length ? { ...APPEND, sourceEventSeqs: seqs } : APPEND)
}

/** After a cancel: what the model had shown stays, and its calls are answered. A failed attempt shows nothing. */
function keepShown(step: Step): void {
  const { attempt } = step
  if (!attempt || attempt.outcome?.failure) return
  const message = assemble(attempt.chunks)
  if (message.content.length === 0) return
  const answer = logMessage(step, message, ...shownOf(attempt))
  abortCalls(step, answer.seq, callsOf(message))
}

function shownOf({ outcome, seqs }: Attempt): [Partial<ModelOutcome>, { interrupted?: true }] {
  return outcome ? [outcome, {}] : [{ seqs }, { interrupted: true }]
}

const APPEND: SurfaceIntent = { surfaceOp: 'append' }

/** The request failed for good. Its code is the model's. */
class RequestFailed extends Error {
  override readonly name = 'RequestFailed'
  readonly code: string

  constructor({ code, message }: ModelFailure) {
    super(message)
    this.code = code
  }
}
