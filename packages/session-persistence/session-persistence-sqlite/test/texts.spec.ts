import { crc32, gunzipSync, gzipSync } from 'node:zlib'
import type { SessionEvent } from '@palimpsest/session'
import { forkSession, type OpenSession, openSession } from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { encodeBlock } from '../src/block.js'
import { openHandle } from '../src/handle.js'
import { fetchLandmarks } from '../src/landmarks.js'
import { findSession } from '../src/session-row.js'
import { newFile, openStore, type SampleLog, store, withDatabase } from './stores.js'

/** More than a log has that is read whole at opening. */
const TURNS = 400
/** What no other text is: in every kind of letters, with half of a pair, or just long. */
const BODIES = [
  'plain ascii, "quoted"\n',
  'Grüße, ',
  '漢字 😀 ',
  'half of a pair \ud83d',
  'a text\u0000of its own\u2028',
]

function logOf(id: string, words = id): SampleLog {
  const events: unknown[] = []
  const push = (type: string, data: object, marks: object = {}) =>
    events.push({ seq: events.length, time: 5 + events.length / 3, type, data, ...marks })
  for (let turn = 1; turn <= TURNS; turn++) {
    push('turn/start', { turn })
    const size = turn === 7 ? 90_000 : turn % 50 === 0 ? 9000 : 1100
    const text = `${words} ${turn} ${BODIES[turn % BODIES.length]}`.padEnd(size, `${words} ${turn % 3} `)
    push('user/message', { message: { role: 'user', content: [{ type: 'text', text }] } }, { surfaceOp: 'append' })
    push('turn/end', { turn, reason: { kind: 'completed' } })
  }
  push('turn/start', { turn: TURNS + 1 })
  const text = 'not yet in a block '.repeat(100)
  push('user/message', { message: { role: 'user', content: [{ type: 'text', text }] } }, { surfaceOp: 'append' })
  return { header: { version: 0, id, createdAt: 0 }, events: events as SessionEvent[] }
}

const messagesOf = ({ events }: SampleLog, to = events.length) =>
  events
    .slice(0, to)
    .flatMap(({ type, data }) => (type === 'user/message' ? [(data as { message: object }).message] : []))

async function opened(file: string, id = 'log') {
  const backend = openStore(file)
  const open: OpenSession = await openSession(backend, id)
  const codes = open.report.damage.map(({ code, where }) => [code, where.seq])
  const found = {
    messages: open.session.deriveMessages(),
    length: open.session.length,
    codes,
    readOnly: open.report.readOnly,
  }
  await open.close()
  await backend.close()
  return found
}

async function stored(...logs: SampleLog[]): Promise<string> {
  const file = newFile()
  const backend = openStore(file)
  // Three events a batch: every turn has its own block.
  for (const log of logs) await store(backend, log, 3)
  await backend.close()
  return file
}

test('texts of all kinds come out of their blocks as they were', async () => {
  const log = logOf('log')
  const file = await stored(log)
  const { messages, codes } = await opened(file)
  expect(messages).toEqual(messagesOf(log))
  expect(codes).toEqual([])
  const backend = openStore(file)
  expect((await backend.read('log', { from: 1, to: 30 }))!.events).toEqual(log.events.slice(1, 30))
})

test('they are all found at once, without a look at the rest of the log', async () => {
  const log = logOf('log')
  const file = await stored(log)
  const handle = openHandle(file)
  const { key, state } = findSession(handle, 'log')!
  const part = { key, from: 0, to: state.length }
  const { landmarks } = await fetchLandmarks(handle, [part], state.length, state.landmarks)!.complete()
  handle.close()
  expect(landmarks.surface).toEqual(log.events.filter(({ type }) => type === 'user/message'))
  expect(landmarks.turns.length).toBe(TURNS + 1)
  expect(landmarks.open).toEqual(log.events.slice(-2))
})

test('a text that two sessions share is read by both, and by the second one when the first is gone', async () => {
  const [one, other] = [logOf('log', 'same'), logOf('other', 'same')]
  const file = await stored(one, other)
  const count = (sql: string) => withDatabase(file, db => db.prepare<[], number>(sql).pluck().get())
  expect(count('SELECT count(*) FROM texts')).toBe(TURNS + 1)
  for (const [id, log] of [
    ['log', one],
    ['other', other],
  ] as const)
    expect((await opened(file, id)).messages).toEqual(messagesOf(log))
  const backend = openStore(file)
  await backend.remove('log')
  await backend.close()
  expect((await opened(file, 'other')).messages).toEqual(messagesOf(other))
})

describe('a block that is not what it was costs the events whose texts lie in it, and is told', () => {
  const plain = (body: Buffer) => gunzipSync(body)
  const line = (body: Buffer) => JSON.parse(plain(body).toString('latin1', 0, plain(body).indexOf(10))) as number[]
  const withLine = (body: Buffer, list: unknown) =>
    gzipSync(
      Buffer.concat([Buffer.from(`${JSON.stringify(list)}\n`), plain(body).subarray(plain(body).indexOf(10) + 1)]),
    )
  const anotherIn = (body: Buffer) => {
    const text = plain(body).subarray(plain(body).indexOf(10) + 1)
    text[5]! ^= 1
    return { id: line(body)[0]!, crc: crc32(text), body: text }
  }
  const ways: [what: string, damage: (body: Buffer) => Buffer | string | null][] = [
    ['a flipped bit', body => Buffer.from(body.map((byte, i) => (i === 40 ? byte ^ 1 : byte)))],
    ['no end', body => body.subarray(0, -9)],
    ['no more than its first bytes', body => body.subarray(0, 6)],
    ['no bytes', () => Buffer.alloc(0)],
    ['another size at its end', body => Buffer.concat([body.subarray(0, -4), Buffer.from([1, 2, 0, 0])])],
    ['a size that no block can have', body => Buffer.concat([body.subarray(0, -4), Buffer.from([0, 0, 0, 0xff])])],
    ['other bytes behind it', body => Buffer.concat([body, Buffer.from('more')])],
    ['zeros behind it', body => Buffer.concat([body, Buffer.alloc(9)])],
    ['two members', body => Buffer.concat([body, gzipSync('more')])],
    [
      'much more in it than it says',
      body => Buffer.concat([gzipSync(Buffer.alloc(1e6)).subarray(0, -4), body.subarray(-4)]),
    ],
    ['text in place of bytes', () => 'none'],
    ['no line', body => gzipSync(plain(body).subarray(plain(body).indexOf(10) + 1))],
    ['a line without numbers', body => withLine(body, ['a', 'b'])],
    [
      'a line of another text',
      body =>
        withLine(
          body,
          line(body).map((n, i) => (i % 3 === 0 ? n + 1000 : n)),
        ),
    ],
    [
      'a text that reaches out of it',
      body =>
        withLine(
          body,
          line(body).map((n, i) => (i % 3 === 1 ? n + 5 : n)),
        ),
    ],
    ['another text under its id, with the checksum of that', body => encodeBlock([anotherIn(body)])],
    ['a text of less than none', body => withLine(body, [1, -5, 0, ...line(body)])],
  ]
  for (const [what, damage] of ways) {
    test(what, async () => {
      const log = logOf('log')
      const file = await stored(log)
      const id = withDatabase(file, db => {
        const [block, body] = db
          .prepare<[], [number, Buffer]>('SELECT id, body FROM blocks ORDER BY id LIMIT 1 OFFSET 20')
          .raw()
          .get()!
        db.prepare('UPDATE blocks SET body = ? WHERE id = ?').run(damage(body), block)
        return db.prepare<[number], number>('SELECT id FROM texts WHERE block = ?').pluck().get(block)!
      })
      const seq = log.events.findIndex(({ type }, i) => type === 'user/message' && i > 3 * (id - 1))
      const { messages, length, codes, readOnly } = await opened(file)
      expect(codes).toEqual([
        ['RECORD_DAMAGED', seq],
        ['LOG_HOLE', seq],
      ])
      expect([length, readOnly]).toEqual([seq, true])
      expect(messages).toEqual(messagesOf(log, seq))
    })
  }
})

describe('a text that is not where it was costs its event, and is told', () => {
  const nth = (n: number) => `(SELECT id FROM texts ORDER BY id LIMIT 1 OFFSET ${n})`
  for (const [what, sql] of [
    ['in another block', `UPDATE texts SET block = block + 1 WHERE id = ${nth(20)}`],
    ['in no block that there is', `UPDATE texts SET block = 99999 WHERE id = ${nth(20)}`],
    ['nowhere', `UPDATE texts SET block = NULL WHERE id = ${nth(20)}`],
    ['gone', `DELETE FROM texts WHERE id = ${nth(20)}`],
    ['not compressed, and another', `UPDATE texts SET body = x'41', block = NULL WHERE id = ${nth(20)}`],
  ] as const) {
    test(what, async () => {
      const log = logOf('log')
      const file = await stored(log)
      withDatabase(file, db => db.exec(sql))
      const seq = 3 * 20 + 1
      const { length, codes, messages } = await opened(file)
      expect(codes).toEqual([
        ['RECORD_DAMAGED', seq],
        ['LOG_HOLE', seq],
      ])
      expect([length, messages]).toEqual([seq, messagesOf(log, seq)])
    })
  }
})

test('a text that is damaged before its turn closes is not packed as if it were right', async () => {
  const file = newFile()
  const log = logOf('log')
  const backend = openStore(file)
  const lease = await backend.acquire('log')
  await backend.append(lease, log.header, log.events.slice(0, 2))
  withDatabase(file, db => db.exec("UPDATE texts SET body = CAST(replace(body, 'o', 'u') AS BLOB)"))
  await backend.append(lease, log.header, log.events.slice(2, 6))
  expect(withDatabase(file, db => db.prepare('SELECT count(*), count(body) FROM texts').raw().get())).toEqual([2, 1])
  expect((await backend.read('log'))!.damage).toMatchObject([
    { code: 'RECORD_DAMAGED', where: { seq: 1 } },
    { code: 'LOG_HOLE' },
  ])
})

test.each(['null', '7', '{}', '[null]', '"x"', '['])(
  'a row that refers to its texts by %s does not stop a removal',
  async texts => {
    const file = await stored(logOf('log'))
    const backend = openStore(file)
    await (await forkSession(backend, 'log', { id: 'fork', length: 30 })).close()
    withDatabase(file, db => db.prepare("UPDATE events SET texts = ? WHERE type = 'user/message'").run(texts))
    await backend.remove('log')
    await backend.remove('fork')
    expect(withDatabase(file, db => db.prepare('SELECT count(*) FROM events').pluck().get())).toBe(0)
  },
)
