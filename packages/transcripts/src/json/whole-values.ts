import { JsonWalk } from './walk-json.js'

/** The values that a text begins with, one behind the other, and how many bytes of it are none of them. */
export function wholeValues(text: string): { values: string[]; rest: number } {
  const bytes = Buffer.from(text)
  const values: string[] = []
  let at = 0
  for (let from = opening(bytes, at); from >= 0; from = opening(bytes, at)) {
    const end = walk.walk(bytes, from, bytes.length)
    if (end < 0) break
    values.push(bytes.toString('utf8', from, end))
    at = end
  }
  return { values, rest: Buffer.from(bytes.toString('utf8', at).trim()).length }
}

// --- internal ---

const walk = new JsonWalk()

/** Where an object or a list begins with nothing but white space before it. */
function opening(bytes: Buffer, from: number): number {
  let at = from
  while (SPACES.has(bytes[at]!)) at++
  return bytes[at] === OPEN_BRACE || bytes[at] === OPEN_BRACKET ? at : -1
}

const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d])
const [OPEN_BRACE, OPEN_BRACKET] = [0x7b, 0x5b]
