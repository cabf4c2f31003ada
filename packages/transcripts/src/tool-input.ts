import type { JsonValue } from '@palimpsest/session'
import { parseJson } from './json/scan-json.js'

export interface ToolInput {
  input: JsonValue
  rawInput?: string
}

/** The members of a tool call part for arguments that came as text, by the kernel's rule for a model's own text. */
export function inputOfText(text: string): ToolInput {
  if (text === '') return { input: {}, rawInput: '' }
  const parsed = parseJson(text)
  if (parsed === undefined) return { input: {}, rawInput: text }
  const input = parsed.value as JsonValue
  return JSON.stringify(input) === text ? { input } : { input, rawInput: text }
}

/**
 * The same for arguments that came as a value; `raw` is their text where the value does not give it back. A text where
 * an object should be is what the model wrote, kept as it came.
 */
export function inputOfValue(value: unknown, raw?: string): ToolInput {
  if (typeof value === 'string') return inputOfText(value)
  const input = (value ?? {}) as JsonValue
  return raw === undefined ? { input } : { input, rawInput: raw }
}
