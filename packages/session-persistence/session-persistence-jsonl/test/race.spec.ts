import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lease, SessionBackend } from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { type Disk, nodeDisk } from '../src/disk.js'
import { filesOf, newDirectory, openStore, sampleLog, store } from './stores.js'

const log = sampleLog('s', 12)

const SLOW_SYNC_MS = 2

/** A disk whose n-th `fdatasync` waits until it is let go: a process that sleeps there. */
function sleepyDisk(nth: number) {
  let count = 0
  let wake = () => {}
  let fellAsleep = () => {}
  const asleep = new Promise<void>(resolve => {
    fellAsleep = resolve
  })
  const fdatasync = (fd: number, done: (error: NodeJS.ErrnoException | null) => void) => {
    count += 1
    // A slow device, so that no sync is made on the spot, where nobody could sleep over it.
    if (count !== nth) return void setTimeout(() => nodeDisk.fdatasync(fd, done), SLOW_SYNC_MS)
    wake = () => nodeDisk.fdatasync(fd, done)
    fellAsleep()
  }
  return { fs: { ...nodeDisk, fdatasync } as Disk, asleep, wake: () => wake() }
}

async function expectOwner(backend: SessionBackend, lease: Lease, directory: string) {
  const { length = 0 } = (await backend.read('s')) ?? {}
  await backend.append(lease, log.header, log.events.slice(length))
  const read = (await backend.read('s'))!
  expect(read.events).toEqual(log.events)
  expect(read.damage).toEqual([])
  expect(filesOf(directory, 's')).toEqual(['s.jsonl', `s.lock.${lease.epoch}`])
}

describe('an owner that sleeps', () => {
  test('over the copy of its takeover cannot put it over a later owner’s log', async () => {
    const directory = newDirectory()
    const [slowDisk, backend] = [sleepyDisk(1), openStore(directory)]
    await store(backend, { ...log, events: log.events.slice(0, 4) })
    await backend.acquire('s')
    const sleeper = openStore(directory, slowDisk.fs).acquire('s', { takeover: true })
    await slowDisk.asleep
    const taker = await backend.acquire('s', { takeover: true })
    await backend.append(taker, log.header, log.events.slice(4, 8))
    slowDisk.wake()
    await expect(sleeper).rejects.toMatchObject({ code: 'SESSION_FENCED' })
    await expectOwner(backend, taker, directory)
  })

  test('over the creation of its session cannot put it in place of a later owner’s', async () => {
    const directory = newDirectory()
    const [slowDisk, backend] = [sleepyDisk(1), openStore(directory)]
    const slow = openStore(directory, slowDisk.fs)
    const lease = await slow.acquire('s')
    const creation = slow.append(lease, log.header, log.events.slice(0, 2))
    await slowDisk.asleep
    const taker = await backend.acquire('s', { takeover: true })
    slowDisk.wake()
    await expect(creation).rejects.toMatchObject({ code: 'SESSION_FENCED' })
    expect(await backend.read('s')).toBeUndefined()
    await expectOwner(backend, taker, directory)
  })

  test('between its write and its acknowledgement acknowledges nothing', async () => {
    const directory = newDirectory()
    const [slowDisk, backend] = [sleepyDisk(2), openStore(directory)]
    const slow = openStore(directory, slowDisk.fs)
    const lease = await slow.acquire('s')
    await slow.append(lease, log.header, log.events.slice(0, 4))
    const append = slow.append(lease, log.header, log.events.slice(4, 6))
    await slowDisk.asleep
    const taker = await backend.acquire('s', { takeover: true })
    const bytes = readFileSync(join(directory, 's.jsonl'))
    slowDisk.wake()
    await expect(append).rejects.toMatchObject({ code: 'SESSION_FENCED' })
    await expect(slow.append(lease, log.header, log.events.slice(4, 6))).rejects.toMatchObject({
      code: 'SESSION_FENCED',
    })
    expect(readFileSync(join(directory, 's.jsonl')).equals(bytes)).toBe(true)
    await expectOwner(backend, taker, directory)
  })
})

describe('of many that want one session at once', () => {
  test('exactly one gets it, time and again, and the epoch rises by one each time', async () => {
    const directory = newDirectory()
    const backends = Array.from({ length: 8 }, () => openStore(directory))
    for (let round = 1; round <= 25; round++) {
      const results = await Promise.allSettled(backends.map(backend => backend.acquire('s')))
      const leases = results.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
      expect(leases).toHaveLength(1)
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'SESSION_LOCKED' })
      await leases[0]!.release()
    }
    // Locks of losers count too, but none of them stays.
    expect(filesOf(directory, 's')).toHaveLength(1)
  })

  test('by takeover, the last one has it and all others are fenced', async () => {
    const directory = newDirectory()
    const backends = Array.from({ length: 6 }, () => openStore(directory))
    await store(backends[0]!, { ...log, events: log.events.slice(0, 4) })
    for (let round = 0; round < 10; round++) {
      const results = await Promise.allSettled(backends.map(backend => backend.acquire('s', { takeover: true })))
      const held = results.flatMap((result, i) =>
        result.status === 'fulfilled' ? [[backends[i]!, result.value] as const] : [],
      )
      expect(held.length).toBeGreaterThan(0)
      const next = log.events.slice(4, 5)
      const writes = await Promise.allSettled(held.map(([backend, lease]) => backend.append(lease, log.header, next)))
      const winners = held.filter((_, i) => writes[i]!.status === 'fulfilled')
      expect(winners.length).toBeLessThanOrEqual(1)
      const highest = Math.max(...held.map(([, { epoch }]) => epoch))
      for (const [, { epoch }] of winners) expect(epoch).toBe(highest)
      const read = (await backends[0]!.read('s'))!
      expect(read.damage).toEqual([])
      expect(read.events).toEqual(log.events.slice(0, read.length))
      if (winners.length > 0) break
    }
    expect((await backends[0]!.read('s'))!.length).toBe(5)
  })
})
