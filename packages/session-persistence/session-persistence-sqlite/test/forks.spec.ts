import { crc32 } from 'node:zlib'
import { forkSession, mendSession } from '@palimpsest/session-persistence'
import { expect, test } from 'vitest'
import { newFile, openStore, randomFrom, randomLog, store, withDatabase } from './stores.js'

const counts = (file: string) =>
  withDatabase(file, db =>
    ['sessions', 'events', 'packs', 'texts', 'text_refs'].map(
      table => db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get()!,
    ),
  )

test('a fork adds one row, at any boundary, within packs too', async () => {
  const file = newFile()
  const backend = openStore(file)
  const log = randomLog('log', randomFrom(8), 4)
  await store(backend, log)
  const before = counts(file)
  const lengths = log.events.map((_, seq) => seq + 1)
  for (const length of lengths) {
    const lease = await backend.acquire(`fork-${length}`)
    const header = { version: 0, id: lease.id, createdAt: 0, parent: { id: 'log', length } }
    await backend.fork(lease, header, length)
    await lease.release()
    const read = (await backend.read(lease.id))!
    expect(JSON.stringify(read.events)).toBe(JSON.stringify(log.events.slice(0, length)))
    expect(read.damage).toEqual([])
  }
  expect(counts(file)).toEqual([before[0]! + lengths.length, ...before.slice(1)])
})

test('what a fork uses of its parent is told as shared, of both', async () => {
  const file = newFile()
  const backend = openStore(file)
  const log = randomLog('log', randomFrom(8), 4)
  await store(backend, log)
  const sum = async (id: string, of: 'events' | 'bytes', isShared: boolean) =>
    (await backend.bytesOf!(id))!
      .filter(part => (part.isShared ?? false) === isShared)
      .reduce((total, part) => total + (part[of] ?? 0), 0)
  const whole = await sum('log', 'bytes', false)
  expect(await sum('log', 'bytes', true)).toBe(0)
  for (let length = 1; length <= log.events.length; length += 7) {
    const lease = await backend.acquire('fork')
    await backend.fork(lease, { version: 0, id: 'fork', createdAt: 0, parent: { id: 'log', length } }, length)
    await lease.release()
    expect([await sum('log', 'events', true), await sum('fork', 'events', true)]).toEqual([length, length])
    expect(await sum('log', 'events', false)).toBe(log.events.length - length)
    expect(await sum('fork', 'bytes', true)).toBeLessThanOrEqual(await sum('log', 'bytes', true))
    // A pack that the fork cuts is told in two rounded parts.
    expect(
      Math.abs((await sum('log', 'bytes', false)) + (await sum('log', 'bytes', true)) - whole),
    ).toBeLessThanOrEqual(1)
    await backend.remove('fork')
  }
  expect(await sum('log', 'bytes', true)).toBe(0)
})

test('a parent goes on appending and packing while its forks share its open turn', async () => {
  const file = newFile()
  const backend = openStore(file)
  const { header, events } = randomLog('log', randomFrom(11), 3)
  const end = events.findIndex(({ type }) => type === 'turn/end')
  const lease = await backend.acquire('log')
  await backend.append(lease, header, events.slice(0, end))
  const fork = await forkSession(backend, 'log', { id: 'fork', length: end - 3 })
  await fork.close()
  await backend.append(lease, header, events.slice(end))
  await lease.release()
  for (const store of [backend, openStore(file)]) {
    expect(JSON.stringify((await store.read('fork', { to: end - 3 }))!.events)).toBe(
      JSON.stringify(events.slice(0, end - 3)),
    )
    expect(JSON.stringify((await store.read('log'))!.events)).toBe(JSON.stringify(events))
  }
})

test('rows stay as long as anybody refers to them, and no longer', async () => {
  const file = newFile()
  const backend = openStore(file)
  const log = randomLog('log', randomFrom(12), 4)
  await store(backend, log)
  const half = Math.floor(log.events.length / 2)
  for (const [id, parent, length] of [
    ['a', 'log', half],
    ['b', 'a', half],
    ['c', 'b', 5],
    ['d', 'log', 9],
  ] as const) {
    const lease = await backend.acquire(id)
    await backend.fork(lease, { version: 0, id, createdAt: 0, parent: { id: parent, length } }, length)
    await lease.release()
  }
  const rowsFrom = (seq: number) =>
    withDatabase(
      file,
      db => db.prepare<[number], number>('SELECT count(*) FROM events WHERE seq >= ?').pluck().get(seq)!,
    )
  await backend.remove('log')
  expect(rowsFrom(half)).toBe(0)
  expect(JSON.stringify((await backend.read('b'))!.events)).toBe(JSON.stringify(log.events.slice(0, half)))
  await backend.remove('a')
  await backend.remove('b')
  expect(rowsFrom(9)).toBe(0)
  expect(JSON.stringify((await backend.read('c'))!.events)).toBe(JSON.stringify(log.events.slice(0, 5)))
  await backend.remove('d')
  expect(rowsFrom(5)).toBe(0)
  await backend.remove('c')
  expect(counts(file)).toEqual([0, 0, 0, 0, 0])
})

test('a fork that names another last record than its parent has is refused', async () => {
  const backend = openStore(newFile())
  await store(backend, randomLog('log', randomFrom(14), 2))
  const lease = await backend.acquire('fork')
  const header = { version: 0, id: 'fork', createdAt: 0, parent: { id: 'log', length: 8, crc: '00000000' } }
  await expect(backend.fork(lease, header, 8)).rejects.toMatchObject({ code: 'PARENT_MISMATCH' })
  expect(await backend.read('fork')).toBeUndefined()
})

test('a fork whose parent is not what it was is refused', async () => {
  const file = newFile()
  const backend = openStore(file)
  await store(backend, randomLog('log', randomFrom(12), 2))
  const { close } = await forkSession(backend, 'log', { id: 'fork', length: 8 })
  await close()
  await store(backend, randomLog('other', randomFrom(13), 2))
  withDatabase(file, db => {
    const other = db.prepare<[], number>("SELECT key FROM sessions WHERE id = 'other'").pluck().get()!
    const fork = db
      .prepare<[], { header: string; base: number }>("SELECT header, base FROM sessions WHERE id = 'fork'")
      .get()!
    const crc = crc32(`${other} ${fork.base} ${fork.header}`)
    db.prepare("UPDATE sessions SET parent = ?, header_crc = ? WHERE id = 'fork'").run(other, crc)
  })
  for (const ask of [() => backend.read('fork'), () => backend.acquire('fork')]) {
    await expect(ask()).rejects.toMatchObject({ code: 'PARENT_MISMATCH' })
  }
  const ids: string[] = []
  for await (const { id } of backend.list()) ids.push(id)
  expect(ids).toEqual(['fork', 'log', 'other'])
})

test('a fork whose parent cannot be told any more is mended to what it has of its own', async () => {
  const file = newFile()
  const backend = openStore(file)
  await store(backend, randomLog('log', randomFrom(12), 2))
  const fork = await forkSession(backend, 'log', { id: 'fork', length: 8 })
  fork.session.append('user/message', { message: { role: 'user', content: [] } }, { surfaceOp: 'append' })
  await fork.close()
  const own = fork.session.slice(8)
  withDatabase(file, db => db.exec("UPDATE sessions SET header_crc = header_crc + 1 WHERE id = 'log'"))
  await expect(backend.read('fork')).rejects.toMatchObject({ code: 'PARENT_MISMATCH' })
  const mended = await mendSession(backend, 'fork', { id: 'mended' })
  expect(mended).toMatchObject({
    holes: [{ from: 0, to: 8 }],
    damage: [{ code: 'PARENT_MISMATCH' }, { code: 'LOG_HOLE' }],
  })
  const { events = [] } = (await backend.read('mended')) ?? {}
  expect(events.at(-1)?.data).toEqual(own.at(-1)?.data)
})
