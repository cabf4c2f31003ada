import { parseJson } from './json/scan-json.js'
import { isObject } from './json/shapes.js'
import { JsonWalk } from './json/walk-json.js'
import { asBuffer, decode } from './lines.js'

/** What a line holds that is no record by itself. */
export interface Inside {
  /** Whole records, in order: parts of the line's own memory. */
  readonly records: Uint8Array[]
  /** Bytes that are no record: in front of the last record, and behind it. White space at the ends of a stretch is none. */
  readonly before: number
  readonly after: number
}

/**
 * Looks for whole records in a line by walking JSON from each place where an object may begin: a stub in front of a
 * record fails where the joint breaks its grammar, and text inside a string that looks like a joint is never tried.
 */
export function recordsInside(
  bytes: Uint8Array,
  isRecord: (value: Record<string, unknown>) => boolean = () => true,
): Inside {
  const records: Uint8Array[] = []
  let before = 0
  let kept = 0
  // A hostile line costs time of the order of its length and not of its square: what is not reached is no record.
  let budget = 64 * bytes.length + 1_000_000
  for (let at = nextOpening(bytes, 0); at >= 0 && budget > 0; ) {
    const end = walk.walk(bytes, at, bytes.length)
    budget -= walk.reached - at
    const own = end < 0 ? undefined : bytes.subarray(at, end)
    if (own !== undefined && isRecordText(own, isRecord)) {
      before += solid(bytes, kept, at)
      records.push(own)
      kept = end
      at = nextOpening(bytes, end)
    } else at = nextOpening(bytes, at + 1)
  }
  return { records, before, after: solid(bytes, kept, bytes.length) }
}

// --- internal ---

const walk = new JsonWalk()
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const QUOTE = 0x22

/** A brace with a key behind it, or the end of an empty object. */
function nextOpening(bytes: Uint8Array, from: number): number {
  const buffer = asBuffer(bytes)
  for (let at = buffer.indexOf(OPEN_BRACE, from); at >= 0; at = buffer.indexOf(OPEN_BRACE, at + 1)) {
    let next = at + 1
    while (isSpace(bytes[next])) next++
    if (bytes[next] === QUOTE || bytes[next] === CLOSE_BRACE) return at
  }
  return -1
}

function isRecordText(bytes: Uint8Array, isRecord: (value: Record<string, unknown>) => boolean): boolean {
  const value = parseJson(decode(bytes))?.value
  return isObject(value) && isRecord(value)
}

/** Bytes of a stretch without white space at its ends. */
function solid(bytes: Uint8Array, from: number, to: number): number {
  let start = from
  let end = to
  while (start < end && isSpace(bytes[start])) start++
  while (end > start && isSpace(bytes[end - 1])) end--
  return end - start
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0a
}
