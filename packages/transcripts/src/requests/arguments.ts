import type { ToolCallPart } from '@palimpsest/session'
import { RawJson } from '../json/raw-json.js'
import { rawTextAt } from '../json/raw-text.js'
import { parseJson } from '../json/scan-json.js'
import { isObject, stringOf } from '../json/shapes.js'

/** A call's arguments for an API that takes them as text: the model's own text, where it was kept. */
export function argumentsText({ input, rawInput }: ToolCallPart): string {
  return rawInput || JSON.stringify(input)
}

/** The same for an API that takes an object: its text stands for it where a double would change its digits or a parser its keys. */
export function argumentsObject({ input, rawInput }: ToolCallPart): unknown {
  if (rawInput === undefined || !isObject(parseJson(rawInput)?.value)) return input
  return rawTextAt(rawInput, []) === undefined ? input : new RawJson(rawInput.trim())
}

/** The free text of a call whose tool takes no JSON, or `undefined` for any other call. */
export function customInput({ input, providerOptions }: ToolCallPart): string | undefined {
  if (providerOptions?.openai?.type !== 'custom' || !isObject(input)) return undefined
  return stringOf(input.input)
}
