import { createSession, forkSession, openSession } from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { newFile, openStore, randomFrom, randomLog, type SampleLog, store, withDatabase } from './stores.js'

/** A stored log, then SQL over its rows; `rows` are the seqs that have rows of their own. */
async function damaged(sql: string, log = randomLog('log', randomFrom(6), 3)) {
  const file = newFile()
  const backend = openStore(file)
  await store(backend, log)
  withDatabase(file, db => db.exec(sql))
  return { file, backend, log, read: () => backend.read('log').then(found => found!) }
}

const last = ({ events }: SampleLog) => events.length - 1
const text = (events: readonly unknown[]) => JSON.stringify(events)

describe('a bad row in the middle is a hole', () => {
  const ways: [what: string, sql: string][] = [
    ['data that is no JSON', "UPDATE events SET data = '{' WHERE seq = 2"],
    ['data that is another', "UPDATE events SET data = '{}' WHERE seq = 2"],
    ['no data', "UPDATE events SET data = x'00' WHERE seq = 2"],
    ['another time', 'UPDATE events SET time = time + 1 WHERE seq = 2'],
    ['another type', "UPDATE events SET type = 'step/end' WHERE seq = 2"],
    ['another seq', 'UPDATE events SET seq = 3 WHERE seq = 2'],
    ['a mark that it had not', 'UPDATE events SET ignorable = 1 WHERE seq = 2'],
    ['another checksum', 'UPDATE events SET crc = crc + 1 WHERE seq = 2'],
    ['no row', 'DELETE FROM events WHERE seq = 2'],
  ]
  for (const [what, sql] of ways) {
    test(what, async () => {
      const { backend, log, read } = await damaged(sql)
      const { events, length, damage } = await read()
      expect(text(events)).toBe(text([...log.events.slice(0, 2), ...log.events.slice(3)]))
      expect(length).toBe(log.events.length)
      const codes = damage.map(({ code, where, kept }) => [code, where.seq, kept])
      expect(codes.at(-1)).toEqual(['LOG_HOLE', 2, null])
      if (!sql.startsWith('DELETE')) expect(codes[0]).toEqual(['RECORD_DAMAGED', 2, null])
      const { session, report } = await openSession(backend, 'log')
      expect([session.length, report.readOnly, text(session.events)]).toEqual([2, true, text(log.events.slice(0, 2))])
      const lease = await backend.acquire('log')
      const next = { ...log.events[0]!, seq: log.events.length }
      for (const event of [next, log.events[2]!]) {
        await expect(backend.append(lease, log.header, [event])).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' })
      }
      await expect(backend.open!(lease)).resolves.toMatchObject({ length: 2 })
      await lease.release()
      const fork = await forkSession(backend, 'log')
      expect(fork.session.header.parent!.length).toBe(2)
      await expect(forkSession(backend, 'log', { length: 9 })).rejects.toThrow(RangeError)
    })
  }
})

test('a bad pack is a hole as long as the pack', async () => {
  const { log, read, file } = await damaged(
    'UPDATE packs SET body = zeroblob(9) WHERE place = (SELECT min(place) FROM packs)',
  )
  const [first, end] = withDatabase(
    file,
    db => db.prepare<[], [number, number]>('SELECT min(place) & 0x3fffffff, last + 1 FROM packs').raw().get()!,
  )
  const { events, damage } = await read()
  expect(text(events)).toBe(text([...log.events.slice(0, first), ...log.events.slice(end)]))
  expect(damage.map(({ code, where }) => [code, where.seq])).toEqual([
    ['RECORD_DAMAGED', first],
    ['LOG_HOLE', first],
  ])
})

test('a text that is gone or another takes the events along that refer to it, and no others', async () => {
  for (const sql of ['DELETE FROM texts', "UPDATE texts SET body = x'002278223e'"]) {
    const { log, read } = await damaged(sql)
    const { events, damage } = await read()
    const large = log.events.filter(event => JSON.stringify(event.data).length >= 1500).map(({ seq }) => seq)
    expect(large.length).toBeGreaterThan(0)
    expect(events.length).toBeGreaterThan(0)
    for (const event of events) expect(text([event])).toBe(text([log.events[event.seq]]))
    expect(damage.length).toBeGreaterThan(0)
  }
})

describe('a bad end is cut by the next owner, and kept', () => {
  for (const [what, sql] of [
    ['bad rows', "UPDATE events SET data = 'no' WHERE seq >= (SELECT max(seq) - 1 FROM events)"],
    ['missing rows', 'DELETE FROM events WHERE seq >= (SELECT max(seq) - 1 FROM events)'],
  ] as const) {
    test(what, async () => {
      const { backend, file, log, read } = await damaged(sql)
      const end = last(log) - 1
      const before = await read()
      expect([before.length, text(before.events)]).toEqual([end, text(log.events.slice(0, end))])
      expect(before.damage).toMatchObject([
        { code: 'RECORD_DAMAGED', where: { seq: end }, kept: null, mayHaveBeenAcknowledged: true },
      ])
      const lease = await backend.acquire('log')
      expect(lease.damage).toMatchObject([
        { code: 'RECORD_DAMAGED', where: { seq: end }, mayHaveBeenAcknowledged: true },
      ])
      const kept = withDatabase(file, db => db.prepare<[], string>('SELECT row FROM kept').pluck().all())
      if (what === 'bad rows') {
        expect(lease.damage![0]!.kept).toMatch(/^kept \d+$/)
        expect(kept.length).toBe(2)
        expect(kept[0]).toContain('"no"')
      }
      expect((await read()).damage).toEqual([])
      await backend.append(lease, log.header, log.events.slice(end))
      await lease.release()
      const after = await read()
      expect([after.damage, text(after.events)]).toEqual([[], text(log.events)])
    })
  }

  test('but not where a fork shares it: then it is a hole', async () => {
    const { backend, file, log } = await damaged('SELECT 1')
    const { length } = log.events
    await (await forkSession(backend, 'log', { id: 'fork', length })).close()
    withDatabase(file, db => db.exec(`UPDATE events SET data = 'no' WHERE seq = ${length - 1} AND session = 1`))
    const { session, report } = await openSession(backend, 'log')
    expect([session.length, report.readOnly]).toEqual([length - 1, true])
    expect(report.damage.map(({ code }) => code)).toEqual(['RECORD_DAMAGED', 'LOG_HOLE'])
    const child = (await backend.read('fork'))!
    expect(child.damage.map(({ code }) => code)).toContain('RECORD_DAMAGED')
  })
})

test('a state that fails its checksum is made anew, and reported', async () => {
  const { backend, log, read } = await damaged("UPDATE sessions SET length = 3, title = 'no'")
  const before = await read()
  expect(text(before.events)).toBe(text(log.events))
  expect(before.damage).toMatchObject([{ code: 'RECORD_DAMAGED' }])
  const { session, report, close } = await openSession(backend, 'log')
  expect(report.damage).toMatchObject([{ code: 'RECORD_DAMAGED', kept: expect.stringMatching(/^kept/) }])
  expect(text(session.slice(0, log.events.length))).toBe(text(log.events))
  await close()
  expect((await read()).damage).toEqual([])
})

test('a header of another format is refused with its direction, whatever its checksum, listed, and mended', async () => {
  for (const [version, word] of [
    [1, 'newer'],
    [-1, 'older'],
  ] as const) {
    const sql = `UPDATE sessions SET header = replace(header, '"version":0', '"version":${version}')`
    const { backend, log } = await damaged(sql)
    const refusal = { code: 'FORMAT_VERSION_UNSUPPORTED', message: expect.stringContaining(word) }
    await expect(backend.read('log')).rejects.toMatchObject(refusal)
    await expect(openSession(backend, 'log')).rejects.toMatchObject(refusal)
    await expect(createSession(backend, { id: 'log' })).rejects.toMatchObject(refusal)
    await expect(backend.acquire('log')).rejects.toMatchObject(refusal)
    for await (const summary of backend.list()) {
      expect(summary).toMatchObject({ id: 'log', header: { version }, error: { code: 'FORMAT_VERSION_UNSUPPORTED' } })
    }
    // It may be no other format but a bad bit: what the events say can be had anyway.
    const events: unknown[] = []
    await backend.scan!('log', some => void events.push(...some))
    expect(text(events)).toBe(text(log.events))
  }
})

test('a header that changes to another format under a lease is not written over', async () => {
  const { backend, log, file } = await damaged('UPDATE sessions SET length = length')
  const lease = await backend.acquire('log')
  withDatabase(file, db =>
    db.exec(`UPDATE sessions SET header = replace(header, '"version":0', '"version":1'), crc = crc + 1`),
  )
  await expect(backend.append(lease, log.header, [])).rejects.toMatchObject({ code: 'FORMAT_VERSION_UNSUPPORTED' })
})

test('a bad header is reported by everyone, breaks no listing, and makes room for a new session', async () => {
  const { backend, file } = await damaged("UPDATE sessions SET header = replace(header, 'log', 'lag')")
  await store(backend, randomLog('other', randomFrom(2), 1))
  for (const ask of [() => backend.read('log'), () => openSession(backend, 'log'), () => forkSession(backend, 'log')]) {
    await expect(ask()).rejects.toMatchObject({ code: 'HEADER_DAMAGED' })
  }
  const listed = []
  for await (const summary of backend.list()) listed.push(summary)
  expect(listed).toMatchObject([
    { id: 'log', error: { code: 'HEADER_DAMAGED' } },
    { id: 'other', length: expect.any(Number) },
  ])
  const anew = randomLog('log', randomFrom(3), 1)
  await store(backend, anew)
  expect(text((await backend.read('log'))!.events)).toBe(text(anew.events))
  expect(withDatabase(file, db => db.prepare<[], number>('SELECT count(*) FROM kept').pluck().get())).toBe(1)
})

describe('an index of landmarks that does not tell all is not believed', () => {
  for (const [what, sql] of [
    ['too few', 'UPDATE events SET landmark = NULL WHERE seq = 1'],
    [
      'one for another',
      "UPDATE events SET landmark = NULL WHERE seq = 1; UPDATE events SET landmark = 1 WHERE type = 'step/end'",
    ],
    ['none', 'UPDATE events SET landmark = NULL'],
  ] as const) {
    test(what, async () => {
      const log = randomLog('log', randomFrom(4), 60)
      expect(log.events.length).toBeGreaterThan(1100)
      const { backend } = await damaged(sql, log)
      const { session, report, close } = await openSession(backend, 'log')
      expect([report.damage, report.readOnly]).toEqual([[], false])
      const sound = openStore(newFile())
      await store(sound, log)
      const expected = await openSession(sound, 'log')
      expect(text(session.deriveMessages())).toBe(text(expected.session.deriveMessages()))
      await Promise.all([close(), expected.close()])
    })
  }
})

test('a large log opens from its landmarks, and what is asked for later is exact', async () => {
  const log = randomLog('log', randomFrom(4), 60)
  const backend = openStore(newFile())
  await store(backend, log, 64)
  const lease = await backend.acquire('log')
  const lazy = (await backend.open!(lease))!
  const random = randomFrom(1)
  for (let n = 0; n < 60; n++) {
    const from = Math.floor(random() * log.events.length)
    const to = Math.min(log.events.length, from + Math.floor(random() * 90))
    expect(text(lazy.load(from, to))).toBe(text(log.events.slice(from, to)))
  }
  expect(() => lazy.load(0, log.events.length + 1)).toThrow('cannot be read')
  await lease.release()
  await backend.remove('log')
  expect(() => lazy.load(0, 1)).toThrow('removed')
})

test('an owner whose row is bad holds the session until a takeover, with an epoch above all', async () => {
  const { backend } = await damaged('UPDATE leases SET epoch = 0')
  await expect(backend.acquire('log')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  const before = Date.now()
  const lease = await backend.acquire('log', { takeover: true })
  expect(lease.epoch).toBeGreaterThanOrEqual(before)
  await lease.release()
  const { backend: other } = await damaged('DELETE FROM leases')
  expect((await other.acquire('log')).epoch).toBeGreaterThanOrEqual(before)
})

test('a damaged last turn is not guessed at in a listing', async () => {
  const { backend } = await damaged(
    "UPDATE events SET data = '{' WHERE place = (SELECT max(place) FROM events WHERE type LIKE 'turn/%')",
  )
  for await (const summary of backend.list({ turns: true })) expect(summary).not.toHaveProperty('lastTurn')
})
