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
