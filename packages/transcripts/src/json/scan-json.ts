import { nestsTooDeep } from './depth.js'
import { losslessJson } from './lossless.js'

/**
 * `undefined` for text that is no JSON; the value is wrapped since it may be `null`. Of what nests so deep that walking
 * it would run out of stack, the value has no more than a log may hold; who knows that it cannot, says so.
 */
export function parseJson(text: string, mayBeDeep = true): { value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return { value: mayBeDeep && nestsTooDeep(text) ? losslessJson(value) : value }
  } catch {
    return undefined
  }
}
