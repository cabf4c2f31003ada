import type { ModelOutcome } from '@palimpsest/host'
import type { Chunk, ModelFailure, ModelRequest } from '@palimpsest/session'
import { isChunk } from './chunk.js'
import { messageOf } from './errors.js'
import type { Attempt, Step } from './loop.js'
import { childController, isStopped, throwIfStopped, untilStopped } from './until-stopped.js'

/**
 * One attempt at the step's request, built from the log as it stands. A model's failure is in the outcome;
 * rejects with `Stopped`, or with what the store threw: then the model was not asked.
 */
export async function runAttempt(step: Step, signal: AbortSignal): Promise<ModelOutcome> {
  throwIfStopped(signal)
  const { agent, session, host } = step.loop
  const { length } = session
  const request = session.requestAt(length)!
  await untilStopped(step.loop.durability.flush(), signal)
  throwIfStopped(signal)
  host.emit('model/request', request, Object.freeze({ session, length }), agent)
  const attempt: Attempt = { chunks: [], seqs: [] }
  step.attempt = attempt
  return readStream(step, attempt, request, signal)
}

// --- internal ---

type Final = Extract<Chunk, { type: 'finish' | 'error' }>

/** Reads up to the final chunk. The port hears an abort when it is left before that. */
async function readStream(
  step: Step,
  attempt: Attempt,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const { controller, release } = childController(signal)
  let iterator: AsyncIterator<unknown> | undefined
  let isOver = false
  try {
    for (;;) {
      const pulled = await pull(() => {
        iterator ??= step.config.model.stream(request, controller.signal)[Symbol.asyncIterator]()
        return iterator
      }, signal)
      if ('failure' in pulled) return conclude(attempt, pulled.failure)
      throwIfStopped(signal)
      const chunk = logChunk(step, attempt, pulled.value)
      if (chunk === undefined) return conclude(attempt, CHUNK_INVALID)
      isOver = chunk.type === 'finish' || chunk.type === 'error'
      if (isOver) return conclude(attempt, chunk as Final)
    }
  } finally {
    release()
    if (!isOver) controller.abort()
    leave(iterator)
  }
}

async function pull(
  open: () => AsyncIterator<unknown>,
  signal: AbortSignal,
): Promise<{ value: unknown } | { failure: ModelFailure }> {
  try {
    const { done, value } = await untilStopped(Promise.resolve(open().next()), signal)
    return done ? { failure: STREAM_TRUNCATED } : { value }
  } catch (error) {
    if (isStopped(error)) throw error
    return { failure: { code: 'MODEL_PORT_THREW', message: messageOf(error), retryable: false } }
  }
}

/** The chunk as it stands in the log; `undefined` where it is none, and nothing is logged. */
function logChunk(step: Step, attempt: Attempt, value: unknown): Chunk | undefined {
  const { session } = step.loop
  try {
    if (!isChunk(value)) return undefined
    const event = session.append('assistant/chunk', { turn: step.turn, step: step.step, chunk: value })
    attempt.chunks.push(event.data.chunk)
    attempt.seqs.push(event.seq)
    return event.data.chunk
  } catch {
    return undefined
  }
}

/** The generator may still be busy, or refuse: it is told, and not waited for. */
function leave(iterator: AsyncIterator<unknown> | undefined): void {
  try {
    Promise.resolve(iterator?.return?.()).catch(() => {})
  } catch {
    // A port that throws on leaving has nothing more to say.
  }
}

/** At once, so that a cancel in the same moment finds the attempt complete. */
function conclude(attempt: Attempt, end: Final | ModelFailure): ModelOutcome {
  const chunks = Object.freeze([...attempt.chunks])
  const seqs = Object.freeze([...attempt.seqs])
  attempt.outcome = Object.freeze({ chunks, seqs, ...endOf(end) })
  return attempt.outcome
}

function endOf(end: Final | ModelFailure): Partial<ModelOutcome> {
  if (!('type' in end)) return { failure: end }
  if (end.type === 'error') return { failure: end.error }
  const { finishReason, usage } = end
  return usage ? { finishReason, usage } : { finishReason }
}

const STREAM_TRUNCATED: ModelFailure = Object.freeze({
  code: 'MODEL_STREAM_TRUNCATED',
  message: 'the stream ended without a final chunk; what arrived may be half of an answer',
  retryable: true,
})

const CHUNK_INVALID: ModelFailure = Object.freeze({
  code: 'MODEL_CHUNK_INVALID',
  message: 'the model port gave what is no chunk, or no lossless JSON',
  retryable: false,
})
