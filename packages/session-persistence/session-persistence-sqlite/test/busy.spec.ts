import { expect, test } from 'vitest'
import { Child } from './processes.js'
import { newFile, openStore, randomFrom, randomLog, store } from './stores.js'

test('a lock held by another process is waited for, and then gives way', async () => {
  const file = newFile()
  const backend = openStore(file)
  const { header, events } = randomLog('log', randomFrom(1), 1)
  const lease = await backend.acquire('log')
  const holder = new Child('holder.mjs', file)
  expect(await holder.next()).toBe('held')
  const written = backend.append(lease, header, events)
  let isWritten = false
  const seen = written.then(() => {
    isWritten = true
  })
  // Reading is never in anybody's way, and the loop goes on.
  expect(await backend.read('log')).toBeUndefined()
  expect(isWritten).toBe(false)
  holder.process.stdin!.write('\n')
  await seen
  expect((await backend.read('log'))!.length).toBe(events.length)
})

test('after busyMs it is STORE_BUSY: nothing is written, and the lease is as good as before', async () => {
  const file = newFile()
  const backend = openStore(file, 120)
  const { header, events } = randomLog('log', randomFrom(1), 1)
  const lease = await backend.acquire('log')
  const holder = new Child('holder.mjs', file)
  expect(await holder.next()).toBe('held')
  await expect(backend.append(lease, header, events)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  await expect(backend.acquire('other')).rejects.toMatchObject({ code: 'STORE_BUSY' })
  await expect(backend.remove('log')).rejects.toMatchObject({ code: 'STORE_BUSY' })
  holder.process.stdin!.write('\n')
  expect(await holder.next()).toBe('freed')
  await backend.append(lease, header, events)
  expect((await backend.read('log'))!.length).toBe(events.length)
})

test('a lease whose release could not be stored is free for its own process, and then for others', async () => {
  const file = newFile()
  const log = randomLog('log', randomFrom(1), 1)
  await store(openStore(file), log)
  const backend = openStore(file, 0)
  const lease = await backend.acquire('log')
  const holder = new Child('holder.mjs', file)
  expect(await holder.next()).toBe('held')
  await expect(lease.release()).rejects.toMatchObject({ code: 'STORE_BUSY' })
  holder.process.stdin!.write('\n')
  expect(await holder.next()).toBe('freed')
  await expect(backend.append(lease, log.header, [])).rejects.toMatchObject({ code: 'SESSION_FENCED' })
  const next = await openStore(file).acquire('log')
  expect(next.epoch).toBe(lease.epoch + 1)
  await expect(backend.acquire('log')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  await next.release()
  await backend.remove('log')
})

test('a follower that cannot open the database yet does not hold the event loop up', async () => {
  const file = newFile()
  const log = randomLog('log', randomFrom(1), 1)
  const backend = openStore(file, 60_000)
  await store(backend, log)
  await backend.close()
  const holder = new Child('holder.mjs', file, 'exclusive')
  expect(await holder.next()).toBe('held')
  const following = backend.follow!('log', 0)
  const reading = backend.read('log')
  // The very process that waits lets the other one go on.
  await new Promise(resolve => setTimeout(resolve))
  holder.process.stdin!.write('\n')
  const follower = await following
  expect(await follower!.next()).toHaveLength(log.events.length)
  expect((await reading)!.length).toBe(log.events.length)
  follower!.close()
})

test('many operations that wait do not add up to one long block', async () => {
  const file = newFile()
  const backend = openStore(file, 1500)
  const leases = await Promise.all(Array.from({ length: 10 }, (_, n) => backend.acquire(`s${n}`)))
  const holder = new Child('holder.mjs', file)
  expect(await holder.next()).toBe('held')
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  const all = Promise.all(leases.map(lease => backend.append(lease, { version: 0, id: lease.id, createdAt: 0 }, [])))
  const settled = all.then(
    () => 'written',
    ({ code }) => code,
  )
  // The loop gets its turns while all of them wait.
  while (turns < 5) await new Promise(resolve => setImmediate(resolve))
  clearInterval(timer)
  holder.process.stdin!.write('\n')
  expect(await settled).toBe('written')
})

test('a database that is there opens while another process holds its lock', async () => {
  const file = newFile()
  await store(openStore(file), randomLog('log', randomFrom(1), 1))
  const holder = new Child('holder.mjs', file)
  expect(await holder.next()).toBe('held')
  expect((await openStore(file, 0).read('log'))!.damage).toEqual([])
})

test('a database that another process keeps to itself does not hold up who names it, and is opened once it is free', async () => {
  const file = newFile()
  const log = randomLog('log', randomFrom(1), 1)
  const first = openStore(file)
  await store(first, log)
  await first.close()
  const holder = new Child('holder.mjs', file, 'exclusive')
  expect(await holder.next()).toBe('held')
  await expect(openStore(file, 0).read('log')).rejects.toMatchObject({ code: 'STORE_BUSY' })
  const reading = openStore(file, 60_000).read('log')
  await new Promise(resolve => setTimeout(resolve))
  holder.process.stdin!.write('\n')
  expect((await reading)!.length).toBe(log.events.length)
})
