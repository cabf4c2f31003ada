import type { Chunk, FinishReason, JsonObject, Usage } from '@palimpsest/session'
import { isObject, type Json, listOf, numberOf, stringOf } from '../../json/shapes.js'

export interface Member {
  chunk: Chunk
  /** Milliseconds after the row's own time. */
  after: number
}

/** The deltas of a packed row, each of which has a seq of its own; `undefined` for a row of another kind. */
export function unpackRow(type: string, data: Json): Member[] | undefined {
  const make = ROWS[type]
  if (make === undefined) return undefined
  const gaps = listOf(data.dt)
  const texts = listOf(data.texts ?? data.args)
  let after = 0
  return texts.map((text, i) => {
    // As many gaps as deltas: each stands before its own. One fewer: between them.
    const gap = numberOf(gaps[gaps.length < texts.length ? i - 1 : i])
    after += gap ?? 0
    return { chunk: make(data, String(text)), after }
  })
}

/** One of the stream's chunks in our terms, `undefined` for one that has none. */
export function chunkOf(chunk: Json): Chunk | undefined {
  const id = String(chunk.index ?? 0)
  const text = stringOf(chunk.text) ?? ''
  if (chunk.type === 'text-delta') return { type: 'text-delta', id, text }
  if (chunk.type === 'reasoning-delta') return { type: 'reasoning-delta', id, text }
  if (chunk.type === 'tool-call-delta') return inputDelta(chunk, stringOf(chunk.argumentsDelta) ?? '')
  if (chunk.type === 'block-end' && isObject(chunk.block) && chunk.block.type === 'tool-call') return call(chunk.block)
  if (chunk.type === 'finish') return { type: 'finish', finishReason: finishOf(chunk.reason) }
  return undefined
}

/** Cached tokens are counted beside the others there, among them here. */
export function usageOf(usage: unknown): { usage?: Usage } {
  if (!isObject(usage)) return {}
  const [input, output] = [numberOf(usage.inputTokens), numberOf(usage.outputTokens)]
  const [cached, reasoning] = [numberOf(usage.cacheReadTokens), numberOf(usage.reasoningTokens)]
  return {
    usage: {
      ...(input !== undefined && { inputTokens: input + (cached ?? 0) }),
      ...(output !== undefined && { outputTokens: output }),
      ...(cached !== undefined && { cachedInputTokens: cached }),
      ...(reasoning !== undefined && { reasoningTokens: reasoning }),
    },
  }
}

// --- internal ---

const ROWS: Record<string, (data: Json, text: string) => Chunk> = {
  'text-chunks': ({ index }, text) => ({ type: 'text-delta', id: String(index ?? 0), text }),
  'reasoning-chunks': ({ index }, text) => ({ type: 'reasoning-delta', id: String(index ?? 0), text }),
  'tool-call-chunks': (data, text) => inputDelta(data, text),
}

function inputDelta({ id, name }: Json, text: string): Chunk {
  return { type: 'tool-input-delta', toolCallId: stringOf(id) ?? '', toolName: stringOf(name) ?? '', text }
}

function call({ id, name, arguments: args }: Json): Chunk {
  const input = typeof args === 'string' ? args : JSON.stringify((args ?? {}) as JsonObject)
  return { type: 'tool-call', toolCallId: stringOf(id) ?? '', toolName: stringOf(name) ?? '', input }
}

function finishOf(reason: unknown): FinishReason {
  const kind = isObject(reason) ? reason.kind : reason
  if (kind === 'stop' || kind === 'length' || kind === 'tool-calls' || kind === 'content-filter') return kind
  return kind === 'max-tokens' ? 'length' : 'other'
}
