import type { JSONPath } from 'jsonc-parser'
import { endOfString } from './depth.js'

/**
 * The text of the value at `path` in a text of JSON, found without a stack: for what nests too deep for a parser that
 * calls itself. Of a key used twice the first one counts. `undefined` where the path leads to nothing.
 */
export function valueAt(json: string, path: JSONPath): string | undefined {
  let at = skipSpace(json, 0)
  for (const segment of path) {
    const inside = typeof segment === 'number' ? entryAt(json, at, segment) : memberAt(json, at, segment)
    if (inside === undefined) return undefined
    at = inside
  }
  return json.slice(at, endOfValue(json, at))
}

// --- internal ---

function entryAt(json: string, list: number, index: number): number | undefined {
  if (json[list] !== '[') return undefined
  let at = skipSpace(json, list + 1)
  for (let i = 0; i < index && at < json.length; i++) at = behindComma(json, endOfValue(json, at))
  return at < json.length && json[at] !== ']' ? at : undefined
}

function memberAt(json: string, object: number, name: string): number | undefined {
  if (json[object] !== '{') return undefined
  let at = skipSpace(json, object + 1)
  while (json[at] === '"') {
    const end = endOfString(json, at) + 1
    const value = skipSpace(json, skipSpace(json, end) + 1)
    if (JSON.parse(json.slice(at, end)) === name) return value
    at = behindComma(json, endOfValue(json, value))
  }
  return undefined
}

/** The next entry, or the end of the text where there is none. */
function behindComma(json: string, end: number): number {
  const comma = skipSpace(json, end)
  return json[comma] === ',' ? skipSpace(json, comma + 1) : json.length
}

function endOfValue(json: string, start: number): number {
  let depth = 0
  for (let i = start; i < json.length; i++) {
    const char = json[i]!
    if (char === '"') i = endOfString(json, i)
    else if (char === '[' || char === '{') depth += 1
    else if (depth === 0 && ENDS_PLAIN.has(char)) return i
    else if (char === ']' || char === '}') depth -= 1
    else continue
    if (depth === 0) return i + 1
  }
  return json.length
}

const ENDS_PLAIN = new Set(',]} \n\r\t')

function skipSpace(json: string, from: number): number {
  let at = from
  while (SPACES.has(json[at]!)) at++
  return at
}

const SPACES = new Set(' \n\r\t')
