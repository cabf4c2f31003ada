import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib'
import type { SessionEvent } from '@palimpsest/session'

/** At most so many events lie in one pack, so that reading one of them costs little. */
export const LARGEST_PACK = 1024

/** And about so much JSON text, in UTF-16 units: a pack is one string while it is made and read. */
export const LARGEST_PACK_TEXT = 1024 * 1024

/** What a pack keeps of a chunk: its seq follows from its place in the pack. */
export interface PackedChunk {
  readonly time: number
  /** JSON text. */
  readonly data: string
}

/**
 * The chunks of consecutive seqs, one line each: `TIME,PREFIX,SUFFIX DATA`. `TIME` counts from the line
 * before (`=` and the whole time where that would not be exact), `PREFIX` and `SUFFIX` say how many
 * UTF-16 units the data shares with the data of the line before; a number that is the one of the line
 * before is left out. JSON text holds no newline. All of it deflated.
 */
export function encodePack(chunks: readonly PackedChunk[]): Buffer {
  const lines: string[] = []
  let before: PackedChunk = { time: 0, data: '' }
  let shown = ['', '0', '0']
  for (const chunk of chunks) {
    const prefix = sharedPrefix(before.data, chunk.data)
    const suffix = sharedSuffix(before.data, chunk.data, prefix)
    const fields = [timeField(before.time, chunk.time), String(prefix), String(suffix)]
    const middle = chunk.data.slice(prefix, chunk.data.length - suffix)
    lines.push(`${fields.map((field, i) => (field === shown[i] ? '' : field)).join()} ${middle}`)
    before = chunk
    shown = fields
  }
  return deflateRawSync(lines.join('\n'))
}

/** The events of a pack that begins with `first`. Throws on what no pack is. */
export function decodePack(body: Uint8Array, first: number): SessionEvent[] {
  const events: SessionEvent[] = []
  let time = 0
  let data = ''
  let fields = ['', '0', '0']
  for (const line of inflateRawSync(body).toString().split('\n')) {
    const space = line.indexOf(' ')
    fields = mergeFields(line.slice(0, space), fields)
    const [field = '', prefix, suffix] = fields
    time = field.startsWith('=') ? Number(field.slice(1)) : time + Number(field)
    data = data.slice(0, Number(prefix)) + line.slice(space + 1) + data.slice(data.length - Number(suffix))
    events.push({ seq: first + events.length, time, type: CHUNK, data: JSON.parse(data) })
  }
  return events
}

/** Of a pack where it stands. */
export function crcOfPack(place: number, last: number, body: Uint8Array): number {
  return crc32(body, crc32(`${place} ${last}`))
}

// --- internal ---

const CHUNK = 'assistant/chunk'

function timeField(before: number, time: number): string {
  const isExact = Number.isSafeInteger(before) && Number.isSafeInteger(time) && Number.isSafeInteger(time - before)
  return isExact ? String(time - before) : `=${time}`
}

function mergeFields(text: string, before: readonly string[]): string[] {
  if (text === ',,') return before as string[]
  return text.split(',').map((field, i) => (field === '' ? before[i]! : field))
}

/** Never ends within a surrogate pair, which half of could not be written as UTF-8. */
function sharedPrefix(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let n = 0
  while (n < most && a.charCodeAt(n) === b.charCodeAt(n)) n++
  return n > 0 && isHighSurrogate(a.charCodeAt(n - 1)) ? n - 1 : n
}

/** The same from the end, within what the prefix leaves of both. */
function sharedSuffix(a: string, b: string, prefix: number): number {
  const most = Math.min(a.length, b.length) - prefix
  let n = 0
  while (n < most && a.charCodeAt(a.length - 1 - n) === b.charCodeAt(b.length - 1 - n)) n++
  return n > 0 && isLowSurrogate(a.charCodeAt(a.length - n)) ? n - 1 : n
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}
