import type { Chunk, FinishReason, ModelPort, ModelRequest, Usage } from '@palimpsest/session'

/** One answer. Reasoning comes first, then the text, then the calls; `error` ends it after what was shown. */
export interface ScriptedReply {
  text?: string
  reasoning?: string
  /** A string as `input` is the raw text of the arguments; anything else is written as JSON. */
  toolCalls?: { toolName: string; input: unknown; toolCallId?: string }[]
  /** Default: `tool-calls` with calls, else `stop`. */
  finishReason?: FinishReason
  usage?: Usage
  /** `retryable` is false unless said. */
  error?: { code: string; message: string; retryable?: boolean }
  /** Taken as they are, and nothing is added: the other members do not count. */
  chunks?: Chunk[]
}

export type Script = ScriptedReply[] | ((request: ModelRequest, n: number) => ScriptedReply)

/**
 * A model that answers from a script: the n-th request (from 0) gets the n-th reply. A used-up script is the failure
 * `SCRIPT_EXHAUSTED`. Calls without an id are numbered on from the request's own (`call-1`, …), so that the same
 * history gives the same ids in every process.
 */
export function scriptedModel(script: Script, options: { model?: string } = {}): ModelPort {
  let asked = 0
  return {
    model: options.model ?? 'scripted',
    stream(request, signal) {
      return play(takeChunks(script, request, asked++), signal)
    },
  }
}

// --- internal ---

async function* play(chunks: readonly Chunk[], signal: AbortSignal): AsyncGenerator<Chunk> {
  for (const chunk of chunks) {
    if (signal.aborted) return yield failure('ABORTED', 'the request was aborted')
    yield chunk
  }
}

function takeChunks(script: Script, request: ModelRequest, n: number): readonly Chunk[] {
  try {
    const reply = typeof script === 'function' ? script(request, n) : script[n]
    if (reply) return reply.chunks ?? chunksOf(reply, request)
    return [
      failure('SCRIPT_EXHAUSTED', `the script has no reply for request ${n + 1}; add one, or see why it is asked`),
    ]
  } catch (error) {
    return [failure('MODEL_PORT_THREW', `the script threw: ${error instanceof Error ? error.message : String(error)}`)]
  }
}

function chunksOf(reply: ScriptedReply, request: ModelRequest): Chunk[] {
  const { text, reasoning, toolCalls = [], usage, error } = reply
  const firstCall = toolCalls.every(({ toolCallId }) => toolCallId !== undefined) ? 0 : nextCallNumber(request)
  const chunks: Chunk[] = []
  if (reasoning !== undefined) chunks.push({ type: 'reasoning-delta', id: 'reasoning', text: reasoning })
  if (text !== undefined) chunks.push({ type: 'text-delta', id: 'text', text })
  for (const [i, { toolName, input, toolCallId = `call-${firstCall + i}` }] of toolCalls.entries()) {
    chunks.push({ type: 'tool-call', toolCallId, toolName, input: rawText(input) })
  }
  if (error) return [...chunks, failure(error.code, error.message, error.retryable)]
  const finishReason = reply.finishReason ?? (toolCalls.length > 0 ? 'tool-calls' : 'stop')
  return [...chunks, { type: 'finish', finishReason, ...(usage ? { usage } : {}) }]
}

function rawText(input: unknown): string {
  return typeof input === 'string' ? input : (JSON.stringify(input) ?? '{}')
}

/** One more than the highest number among the calls that the model can see. */
function nextCallNumber({ messages }: ModelRequest): number {
  let highest = 0
  for (const { role, content } of messages) {
    for (const part of role === 'assistant' ? content : []) {
      const match = part.type === 'tool-call' ? /^call-(\d{1,9})(?:-\d+)?$/.exec(part.toolCallId) : null
      highest = Math.max(highest, Number(match?.[1] ?? 0))
    }
  }
  return highest + 1
}

function failure(code: string, message: string, retryable = false): Chunk {
  return { type: 'error', error: { code, message, retryable } }
}
