import { crc32 } from 'node:zlib'
import type { ReadAt } from '../src/lines.js'

/** The line of a record, made from docs/format.md alone. */
export function lineOf(value: object): string {
  const body = JSON.stringify(value).slice(0, -1)
  return `${body},"crc":"${crc32(body).toString(16).padStart(8, '0')}"}\n`
}

/** A record of a log-only event with a text of its own. */
export function recordOf(seq: number, text = `event ${seq}`): string {
  return lineOf({ seq, time: 1_700_000_000_000 + seq, type: 'note', data: { text }, ignorable: true })
}

/** A file in memory; `count.bytes` is what was read of it. */
export function inMemory(content: string | Buffer): { read: ReadAt; size: number; count: { bytes: number } } {
  const file = Buffer.from(content)
  const count = { bytes: 0 }
  const read: ReadAt = (bytes, position) => {
    const got = file.copy(bytes, 0, Math.min(position, file.length))
    count.bytes += got
    return got
  }
  return { read, size: file.length, count }
}

/** An event of each kind that an index remembers, and of some that it does not, in rounds of twelve. */
export function mixedEvent(
  seq: number,
  text = 'x'.repeat(60),
): Record<string, unknown> & { seq: number; type: string } {
  const at = { seq, time: 1_700_000_000_000 + seq }
  const round = Math.floor(seq / 12)
  const say = (role: string) => ({
    turn: round,
    message: { role, content: [{ type: 'text', text: `${seq} ${text}` }] },
  })
  switch (seq % 12) {
    case 0:
      return { ...at, type: 'turn/start', data: { turn: round } }
    case 1:
      return { ...at, type: 'user/message', data: say('user'), surfaceOp: 'append' }
    case 2:
      return { ...at, type: 'request/header', data: { model: `m-${round}`, settings: {} } }
    case 3:
      return { ...at, type: 'step/start', data: { turn: round, step: 1 } }
    case 7: {
      const sourceEventSeqs = [2, 3, 1, 6, 5, 4].map(back => seq - back)
      return { ...at, type: 'assistant/message', data: say('assistant'), sourceEventSeqs, surfaceOp: 'append' }
    }
    case 8: {
      const surfaceOp = { op: 'replace', start: seq - 1, end: seq - 1 }
      return { ...at, type: 'context/message', data: say('user'), sourceEventSeqs: [seq - 1], surfaceOp }
    }
    case 9: {
      const surfaceOp = { op: 'restore', node: seq - 1 }
      return { ...at, type: 'surface/restore', data: {}, sourceEventSeqs: [seq - 1], surfaceOp }
    }
    case 10:
      return round % 2 === 0
        ? { ...at, type: 'later/type', data: { text } }
        : { ...at, type: 'note', data: { text }, ignorable: true }
    case 11:
      return { ...at, type: 'turn/end', data: { turn: round, reason: { kind: 'completed' } } }
    default:
      return { ...at, type: 'assistant/chunk', data: { turn: round, step: 1, chunk: { type: 'text-delta', text } } }
  }
}
