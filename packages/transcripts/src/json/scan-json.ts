import { nestsTooDeep } from './depth.js'
import { losslessJson } from './lossless.js'

/**
 * `undefined` for text that is no JSON; the value is wrapped since it may be `null`. Of what nests so deep that walking
 * it would run out of stack, the value has no more than a log may hold.
 */
export function parseJson(text: string): { value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return { value: nestsTooDeep(text) ? losslessJson(value) : value }
  } catch {
    return undefined
  }
}
