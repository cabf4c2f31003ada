import { MAX_DEPTH } from '@palimpsest/session'

/** How many levels down in an event's data the arguments of a call stand: data, message, content, part. */
export const ABOVE_ARGUMENTS = 4

/** Whether a text of JSON, put `around` levels down, nests deeper than a log may hold. */
export function nestsTooDeep(json: string, around = 0): boolean {
  return hasMoreClosers(json, MAX_DEPTH - around) && depthOf(json) + around > MAX_DEPTH
}

/** Where the string ends that begins at `start`: its closing quote. */
export function endOfString(json: string, start: number): number {
  for (let i = start + 1; i < json.length; i++) {
    const char = json.charCodeAt(i)
    if (char === BACKSLASH) i += 1
    else if (char === QUOTE) return i
  }
  return json.length
}

// --- internal ---

/** Nearly every text has few, and is done with then. */
function hasMoreClosers(json: string, count: number): boolean {
  if (json.length <= 2 * count) return false
  let left = count
  for (const closer of [']', '}'])
    for (let i = json.indexOf(closer); i >= 0; i = json.indexOf(closer, i + 1)) if (left-- === 0) return true
  return false
}

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

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d]
