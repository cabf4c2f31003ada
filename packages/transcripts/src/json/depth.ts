import { MAX_DEPTH } from '@palimpsest/session'

/** Whether a text of JSON nests deeper than a log may hold; what ends in no run of closing brackets is not looked at. */
export function nestsTooDeep(json: string): boolean {
  return (json.includes(LISTS_END) || json.includes(OBJECTS_END)) && depthOf(json) > MAX_DEPTH
}

// --- internal ---

const LISTS_END = ']'.repeat(16)
const OBJECTS_END = '}'.repeat(16)

function depthOf(json: string): number {
  let [depth, deepest] = [0, 0]
  for (let i = 0; i < json.length; i++) {
    const char = json.charCodeAt(i)
    if (char === QUOTE) i = endOfString(json, i)
    else if (char === LIST || char === OBJECT) deepest = Math.max(deepest, ++depth)
    else if (char === LIST_END || char === OBJECT_END) depth -= 1
  }
  return deepest
}

function endOfString(json: string, start: number): number {
  for (let i = start + 1; i < json.length; i++) {
    const char = json.charCodeAt(i)
    if (char === BACKSLASH) i += 1
    else if (char === QUOTE) return i
  }
  return json.length
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d]
