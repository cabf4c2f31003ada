import type { JsonValue } from '@palimpsest/session'
import { ABOVE_ARGUMENTS, nestsTooDeep } from './json/depth.js'
import { parseJson } from './json/scan-json.js'

export interface ToolInput {
  input: JsonValue
  rawInput?: string
}

/** The members of a tool call part for arguments that came as text, by the kernel's rule for a model's own text. */
export function inputOfText(text: string): ToolInput {
  const input = valueOfText(text)
  if (input === undefined) return { input: {}, rawInput: text }
  return JSON.stringify(input) === text ? { input } : { input, rawInput: text }
}

/**
 * The same for arguments that came as a value; `raw` is their text where the value does not give it back. A text where
 * an object should be is what the model wrote, kept as it came.
 */
export function inputOfValue(value: unknown, raw?: string): ToolInput {
  if (typeof value === 'string') return inputOfText(value)
  if (raw === undefined) return { input: (value ?? {}) as JsonValue }
  return { input: valueOfText(raw) ?? {}, rawInput: raw }
}

// --- internal ---

/** `undefined` for what is no JSON, nests deeper than a log holds, or has a number that no double holds. */
function valueOfText(text: string): JsonValue | undefined {
  if (nestsTooDeep(text, ABOVE_ARGUMENTS)) return undefined
  const value = parseJson(text, false)?.value as JsonValue | undefined
  return value !== undefined && MAY_BE_HUGE.test(text) && holdsInfinity(value) ? undefined : value
}

const MAY_BE_HUGE = /\d[eE]\+?\d|\d{300}/

function holdsInfinity(value: JsonValue): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsInfinity)
}
