import type { FinishReason, Usage } from '@palimpsest/session'
import { isRecord } from './lossless.js'

/**
 * The usage of any spec: flat numbers in V2, nested ones since V3. `inputTokens` includes what was
 * read from and written to the cache. `metadata` is the finish part's, where V2 of Anthropic
 * counts what it wrote.
 */
export function usageOf(usage: unknown, provider: string, metadata?: unknown): Usage | undefined {
  if (!isRecord(usage)) return undefined
  const counts = isRecord(usage.inputTokens) ? nested(usage) : flat(usage, provider, metadata)
  const known = Object.entries(counts).filter(([, count]) => count !== undefined)
  return known.length > 0 ? Object.fromEntries(known) : undefined
}

/**
 * How a stream ended: `truncated` where the provider never said so and the SDK closed the stream by
 * itself (V2 `unknown`, V3 `other` without a raw reason, V4 `interrupted`), `failed` for `error`.
 */
export function finishOf(reason: unknown): FinishReason | 'truncated' | 'failed' {
  const unified = isRecord(reason) ? reason.unified : reason
  if (unified === 'error') return 'failed'
  if (unified === 'unknown' || unified === 'interrupted' || unified === undefined) return 'truncated'
  if (unified === 'other' && isRecord(reason) && reason.raw === undefined) return 'truncated'
  return FINISHES.has(unified as FinishReason) ? (unified as FinishReason) : 'other'
}

// --- internal ---

const FINISHES: ReadonlySet<FinishReason> = new Set(['stop', 'length', 'tool-calls', 'content-filter', 'other'])

type Counts = { [K in keyof Usage]: number | undefined }

function nested(usage: Record<string, unknown>): Counts {
  const input = usage.inputTokens as Record<string, unknown>
  const output = isRecord(usage.outputTokens) ? usage.outputTokens : {}
  const inputTokens = count(input.total) ?? sum(input.noCache, input.cacheRead, input.cacheWrite)
  const outputTokens = count(output.total) ?? sum(output.text, output.reasoning)
  return {
    inputTokens,
    outputTokens,
    totalTokens: both(inputTokens, outputTokens),
    cachedInputTokens: count(input.cacheRead),
    reasoningTokens: count(output.reasoning),
  }
}

function flat(usage: Record<string, unknown>, provider: string, metadata: unknown): Counts {
  const beside = cachedBeside(usage, provider, metadata)
  const plainInput = count(usage.inputTokens)
  const inputTokens = plainInput === undefined ? undefined : plainInput + beside
  const outputTokens = count(usage.outputTokens)
  const total = count(usage.totalTokens)
  return {
    inputTokens,
    outputTokens,
    totalTokens: total === undefined ? both(inputTokens, outputTokens) : total + beside,
    cachedInputTokens: count(usage.cachedInputTokens),
    reasoningTokens: count(usage.reasoningTokens),
  }
}

/** The cached tokens that a V2 provider left out of `inputTokens`: Anthropic and Bedrock count them beside it. */
function cachedBeside(usage: Record<string, unknown>, provider: string, metadata: unknown): number {
  const read = count(usage.cachedInputTokens) ?? 0
  const names = [provider, ...Object.keys(isRecord(metadata) ? metadata : {})]
  const apart = names.some(name => /anthropic|bedrock/i.test(name)) || read > (count(usage.inputTokens) ?? 0)
  if (!apart) return 0
  const own = isRecord(metadata) ? Object.values(metadata).find(isRecord) : undefined
  const deep = isRecord(own?.usage) ? own.usage : undefined
  const written = count(own?.cacheCreationInputTokens) ?? count(deep?.cacheWriteInputTokens) ?? 0
  return read + written
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function sum(...values: unknown[]): number | undefined {
  const counts = values.map(count).filter(value => value !== undefined)
  return counts.length > 0 ? counts.reduce((total, value) => total + value, 0) : undefined
}

function both(input: number | undefined, output: number | undefined): number | undefined {
  return input === undefined || output === undefined ? undefined : input + output
}
