import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '@palimpsest/session'
import type { SessionSummary } from '@palimpsest/session-persistence'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lineOf } from './logs.js'
import { newDirectory, openStore } from './stores.js'

const message = (text: unknown) => ({ message: { role: 'user', content: [{ type: 'text', text }] } })
/** Mostly what the writer writes: one line that is unlike it sends the whole log the slow way. */
const mostly = <T>(usual: T[], ...unlike: T[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...usual) }, fc.constantFrom(...unlike))

const edge = fc.record({
  type: fc.constantFrom('turn/start', 'turn/end'),
  data: mostly<object>(
    [{ turn: 1 }, { turn: 27, note: 'ü' }, { turn: 0 }],
    ...[-1, 1.5, 1e21, '3', null].map(turn => ({ turn })),
    {},
    { note: 1, turn: 5 },
  ),
})
const prompt = fc.record({
  type: fc.constant('user/message'),
  data: fc.constantFrom('first', 'ü\n{"seq":', '', 7).map(message),
})
const other = fc.record({
  type: fc.constantFrom('assistant/chunk', 'step/end', 'turn', 'user/message2'),
  data: fc.constantFrom({}, message('no')),
})
const data = fc.oneof(edge, prompt, other)
const time = mostly([0, 1, 1_700_000_000_000], 10 ** 15, 10 ** 16, 0.5, -3)
/** What may be wrong with a line, or only unlike what the writer writes. */
const twist = mostly(['none'], 'typed first', 'spaced', 'repeated', 'lost', 'flipped', 'glued', 'stub')
const records = fc.array(fc.record({ data, time, twist }), { maxLength: 12 })

function textOf(events: { data: { type: string; data: unknown }; time: number; twist: string }[], from = 0): string {
  let seq = from
  return events
    .map(({ data: { type, data }, time, twist }) => {
      if (twist === 'lost') seq += 1
      const event = { seq: twist === 'repeated' ? Math.max(0, seq - 1) : seq, time, type, data }
      seq = event.seq + 1
      const line = lineOf(twist === 'typed first' ? { type, seq: event.seq, time, data } : event)
      if (twist === 'spaced') return lineOf({ seq: event.seq, time, type, ' ': '', data })
      if (twist === 'flipped') return line.replace('"data"', '"dbta"')
      if (twist === 'glued') return line.slice(0, -1)
      return twist === 'stub' ? `${line.slice(0, 20)}\n` : line
    })
    .join('')
}

/** What the listing says, and what all events say. */
async function looksAt(
  text: string,
): Promise<{ listed: SessionSummary; events: readonly SessionEvent[]; codes: string[] }> {
  const directory = newDirectory()
  writeFileSync(join(directory, 'x.jsonl'), lineOf({ version: 0, id: 'x', createdAt: 5 }) + text, { mode: 0o600 })
  const backend = openStore(directory)
  const log = (await backend.read('x'))!
  for await (const listed of backend.list({ turns: true })) {
    return { listed, events: log.events, codes: log.damage.map(({ code }) => code) }
  }
  throw new Error('expected one session, found none')
}

function titleIn(events: readonly SessionEvent[]): string | undefined {
  const texts = events.flatMap(event => (event.type === 'user/message' ? event.data.message.content : []))
  return texts.map(part => (part as { text?: unknown }).text).find(text => typeof text === 'string' && text !== '') as
    | string
    | undefined
}

const NO_TURN = { turn: 0, isOpen: false }

function lastTurnIn(events: readonly SessionEvent[]): SessionSummary['lastTurn'] {
  const edge = events.findLast(({ type }) => type === 'turn/start' || type === 'turn/end')
  const number = (edge?.data as { turn?: unknown } | undefined)?.turn
  return edge === undefined
    ? NO_TURN
    : { turn: typeof number === 'number' ? number : 0, isOpen: edge.type === 'turn/start' }
}

test('a listing says of a small log what all its events say, and finds all that is wrong with it', () =>
  fc.assert(
    fc.asyncProperty(records, mostly([0], 1, 2, 3), async (records, cut) => {
      const text = textOf(records)
      const { listed, events, codes } = await looksAt(text.slice(0, text.length - cut))
      expect(listed.length).toBe((events.at(-1)?.seq ?? -1) + 1)
      expect(listed.updatedAt).toBe(events.at(-1)?.time ?? 5)
      expect(listed.title).toBe(titleIn(events))
      expect(listed.lastTurn).toEqual(lastTurnIn(events))
      expect((listed.damage ?? []).map(({ code }) => code)).toEqual(codes)
    }),
    { numRuns: 400 },
  ))

test('a listing says of a large log what its last events say', () =>
  fc.assert(
    fc.asyncProperty(records, fc.integer({ min: 16_000, max: 33_000 }), async (records, bytes) => {
      const head = { seq: 0, time: 1, type: 'user/message', data: message('of the head') }
      const long = { seq: 1, time: 1, type: 'note', data: { text: 'x'.repeat(bytes >> 1) } }
      const first = [head, long, { ...long, seq: 2 }].map(lineOf).join('')
      const rest = textOf(
        records.map(record => ({ ...record, twist: 'none' })),
        3,
      )
      const { listed, events } = await looksAt(first + rest)
      expect(listed.length).toBe(records.length + 3)
      expect(listed.updatedAt).toBe(events.at(-1)?.time)
      expect(listed.title).toBe('of the head')
      expect(listed.lastTurn ?? NO_TURN).toEqual(lastTurnIn(events))
      expect(listed.damage).toBeUndefined()
    }),
    { numRuns: 100 },
  ))
