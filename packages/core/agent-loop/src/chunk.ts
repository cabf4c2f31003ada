import type { Chunk } from '@palimpsest/session'

/** Whether a port's value has the shape of a chunk. That it is lossless JSON is for the kernel to say. */
export function isChunk(value: unknown): value is Chunk {
  if (!isObject(value)) return false
  const { type, providerOptions } = value
  if (typeof type !== 'string' || !Object.hasOwn(SHAPES, type)) return false
  if (providerOptions !== undefined && !isOptions(providerOptions)) return false
  return SHAPES[type as Chunk['type']](value)
}

// --- internal ---

type Fields = Record<string, unknown>

const FINISH_REASONS: readonly unknown[] = ['stop', 'length', 'tool-calls', 'content-filter', 'other']

const SHAPES: Record<Chunk['type'], (fields: Fields) => boolean> = {
  'text-delta': ({ id, text }) => areStrings(id, text),
  'reasoning-delta': ({ id, text }) => areStrings(id, text),
  'tool-input-delta': ({ toolCallId, toolName, text }) => areStrings(toolCallId, toolName, text),
  'tool-call': ({ toolCallId, toolName, input }) => areStrings(toolCallId, toolName, input),
  'tool-result': ({ toolCallId, toolName, output }) => areStrings(toolCallId, toolName) && isObject(output),
  file: ({ mediaType, data }) => areStrings(mediaType, data),
  finish: ({ finishReason, usage }) =>
    FINISH_REASONS.includes(finishReason) && (usage === undefined || isObject(usage)),
  // A failure that does not say so is not retryable.
  error: ({ error }) => isObject(error) && areStrings(error.code, error.message),
}

function areStrings(...values: unknown[]): boolean {
  return values.every(value => typeof value === 'string')
}

function isOptions(value: unknown): boolean {
  return isObject(value) && Object.values(value).every(isObject)
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
