import { type JsonValue, MAX_DEPTH } from '@palimpsest/session'

/** A tool call's raw text as it stands in a message. With a `problem` the input is `{}` and must not run. */
export interface ParsedArguments {
  input: JsonValue
  rawInput?: string
  problem?: string
}

/** Levels above `input` in an `assistant/message`: data, message, content, part. */
const LEVELS_ABOVE = 4

/**
 * Never throws. `rawInput` is kept wherever `JSON.stringify(JSON.parse(raw))` is not `raw`. Empty text is `{}`.
 */
export function parseArguments(raw: string): ParsedArguments {
  if (raw === '') return { input: {} }
  let value: JsonValue
  try {
    value = JSON.parse(raw) as JsonValue
  } catch (error) {
    return { input: {}, rawInput: raw, problem: `not JSON: ${(error as Error).message}` }
  }
  const problem = findProblem(value, MAX_DEPTH - LEVELS_ABOVE)
  if (problem !== undefined) return { input: {}, rawInput: raw, problem }
  const text = JSON.stringify(value)
  const input = raw.includes('-0') ? withoutNegativeZero(value) : value
  return text === raw ? { input } : { input, rawInput: raw }
}

// --- internal ---

/** What the kernel would refuse. Goes no deeper than `levels`, so no depth overflows the stack. */
function findProblem(value: JsonValue, levels: number): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number is too large for a double'
  if (typeof value !== 'object' || value === null) return undefined
  if (levels === 0) return 'nested too deeply'
  for (const child of Object.values(value)) {
    const problem = findProblem(child, levels - 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

function withoutNegativeZero(value: JsonValue): JsonValue {
  if (Object.is(value, -0)) return 0
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withoutNegativeZero)
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, withoutNegativeZero(child)]))
}
