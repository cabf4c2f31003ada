import { createMemoryBackend, openSession } from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { largeText, newFile, openStore, randomFrom, randomLog, store, withDatabase } from './stores.js'

const count = (file: string, sql: string): number =>
  withDatabase(file, db => db.prepare<[], number>(sql).pluck().get()!)

describe('a log reads the same, however it was flushed', () => {
  for (let seed = 1; seed <= 12; seed++) {
    test(`seed ${seed}`, async () => {
      const log = randomLog('log', randomFrom(seed), 2 + (seed % 5))
      const memory = createMemoryBackend()
      await store(memory, log)
      const expected = JSON.stringify((await memory.read('log'))!.events)
      const sizes: number[] = []
      for (const batch of [1, 3, 20, 1000]) {
        const file = newFile()
        const backend = openStore(file)
        await store(backend, log, batch)
        const { events, damage, length } = (await openStore(file).read('log'))!
        expect([damage, length]).toEqual([[], log.events.length])
        expect(JSON.stringify(events)).toBe(expected)
        const from = Math.floor(length / 3)
        const part = (await backend.read('log', { from, to: from + 9 }))!.events
        expect(JSON.stringify(part)).toBe(JSON.stringify(log.events.slice(from, from + 9)))
        sizes.push(count(file, 'SELECT (SELECT count(*) FROM events) + (SELECT sum(length(body)) FROM packs)'))
        const open = await openSession(openStore(file), 'log')
        expect(JSON.stringify(open.session.slice(0, length))).toBe(expected)
        await open.close()
      }
      expect(new Set(sizes).size).toBe(1)
    })
  }
})

test('the chunks of a closed turn lie in packs, those of an open one in rows', async () => {
  const file = newFile()
  const { header, events } = randomLog('log', randomFrom(5), 3)
  const backend = openStore(file)
  const lease = await backend.acquire('log')
  const end = events.findIndex(({ type }) => type === 'turn/end')
  const rows = "SELECT count(*) FROM events WHERE type = 'assistant/chunk' AND texts IS NULL"
  await backend.append(lease, header, events.slice(0, end))
  expect(count(file, rows)).toBeGreaterThan(0)
  expect(count(file, 'SELECT count(*) FROM packs')).toBe(0)
  await backend.append(lease, header, events.slice(end, end + 1))
  expect(count(file, rows)).toBe(0)
  expect(count(file, 'SELECT count(*) FROM packs')).toBeGreaterThan(0)
})

test('a long run of chunks is packed in pieces, and any part of it can be read', async () => {
  const file = newFile()
  const header = { version: 0, id: 'log', createdAt: 0 }
  const chunk = (seq: number) => ({
    seq,
    time: seq,
    type: 'assistant/chunk',
    data: { turn: 1, step: 1, chunk: { n: seq } },
  })
  const events = [
    { seq: 0, time: 0, type: 'turn/start', data: { turn: 1 } },
    ...Array.from({ length: 5000 }, (_, i) => chunk(i + 1)),
    { seq: 5001, time: 1, type: 'turn/end', data: { turn: 1, reason: { kind: 'completed' } } },
  ] as never[]
  const backend = openStore(file)
  await store(backend, { header, events }, 700)
  expect(count(file, 'SELECT count(*) FROM events')).toBe(2)
  for (const [from, to] of [
    [0, 5002],
    [1000, 1100],
    [1024, 1026],
    [4990, 5002],
    [5001, 5002],
  ] as const) {
    expect((await backend.read('log', { from, to }))!.events).toEqual(events.slice(from, to))
  }
})

test('chunks that are large together lie in several packs, one that is larger than any in its own', async () => {
  const file = newFile()
  const header = { version: 0, id: 'log', createdAt: 0 }
  // Many strings, none of them large enough to be stored as a text.
  const parts = (n: number) => Array.from({ length: n }, (_, i) => `${i}-`.padEnd(1000, 'x'))
  const chunk = (seq: number, n: number) => ({ seq, time: seq, type: 'assistant/chunk', data: { parts: parts(n) } })
  const events = [
    { seq: 0, time: 0, type: 'turn/start', data: { turn: 1 } },
    ...Array.from({ length: 40 }, (_, i) => chunk(i + 1, i === 20 ? 2500 : 100)),
    { seq: 41, time: 1, type: 'turn/end', data: { turn: 1, reason: { kind: 'completed' } } },
  ] as never[]
  const backend = openStore(file)
  await store(backend, { header, events }, 7)
  expect(count(file, 'SELECT count(*) FROM events')).toBe(2)
  expect(count(file, 'SELECT count(*) FROM packs')).toBe(5)
  expect((await backend.read('log'))!.events).toEqual(events)
})

describe('large texts', () => {
  const session = (id: string, texts: readonly string[]) => ({
    header: { version: 0, id, createdAt: 0 },
    events: texts.map((text, seq) => ({
      seq,
      time: seq,
      type: 'user/message',
      data: { message: { role: 'user', content: [{ type: 'text', text, __proto__: null }] } },
      surfaceOp: 'append',
    })) as never[],
  })

  test('are stored once, whoever uses them, and go with the last who does', async () => {
    const file = newFile()
    const backend = openStore(file)
    await store(backend, session('a', [largeText(1), largeText(2), largeText(1)]))
    await store(backend, session('b', [largeText(2), largeText(3)]))
    const texts = () => count(file, 'SELECT count(*) FROM texts')
    expect(texts()).toBe(3)
    expect((await backend.bytesOf!('a'))!.filter(({ what }) => what === 'text').length).toBe(2)
    await backend.remove('a')
    expect(texts()).toBe(2)
    expect((await backend.read('b'))!.events).toEqual(session('b', [largeText(2), largeText(3)]).events)
    await backend.remove('b')
    expect([texts(), count(file, 'SELECT count(*) FROM text_refs')]).toEqual([0, 0])
  })

  test('differ where only halves of pairs do', async () => {
    const [one, two] = ['\ud83d', '\ude80'].map(half => half + 'x'.repeat(2000)) as [string, string]
    const file = newFile()
    await store(openStore(file), session('a', [one, two]))
    expect((await openStore(file).read('a'))!.events).toEqual(session('a', [one, two]).events)
    expect(count(file, 'SELECT count(*) FROM texts')).toBe(2)
  })

  test('may be all the data of an event', async () => {
    const file = newFile()
    const event = { seq: 0, time: 0, type: 'note', data: largeText(6), ignorable: true }
    await store(openStore(file), { header: { version: 0, id: 'a', createdAt: 0 }, events: [event] as never[] })
    await expect(openStore(file).read('a')).resolves.toMatchObject({ events: [event], damage: [] })
  })

  test('leave null behind, which other nulls are not taken for', async () => {
    const file = newFile()
    const data = JSON.parse(
      `{"model":"m","settings":{"__proto__":{"x":${JSON.stringify(largeText(4))}},"a":null,"1":${JSON.stringify(largeText(5))}},"system":null}`,
    )
    const event = { seq: 0, time: 0, type: 'request/header', data }
    await store(openStore(file), { header: { version: 0, id: 'a', createdAt: 0 }, events: [event] as never[] })
    const [stored] = (await openStore(file).read('a'))!.events
    expect(JSON.stringify(stored)).toBe(JSON.stringify(event))
  })
})
