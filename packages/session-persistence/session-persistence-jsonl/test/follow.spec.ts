import {
  appendFileSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Session, type SessionEvent } from '@palimpsest/session'
import type { Follower, Lease, SessionBackend } from '@palimpsest/session-persistence'
import { thisOwner } from '@palimpsest/session-persistence'
import { afterEach, describe, expect, test } from 'vitest'
import { type Disk, nodeDisk } from '../src/disk.js'
import { encodeLock } from '../src/lock-file.js'
import { RecordBuffer } from '../src/record.js'
import { newDirectory, openStore, sampleLog, store } from './stores.js'

const log = sampleLog('s', 40)
const other = sampleLog('s', 40, 7)
const followers: Follower[] = []

afterEach(() => {
  for (const follower of followers.splice(0)) follower.close()
})

async function follow(backend: SessionBackend, from = 0, id = 's'): Promise<Follower> {
  const follower = (await backend.follow!(id, from))!
  followers.push(follower)
  return follower
}

/** What there is for now. */
async function all(follower: Follower): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for (;;) {
    const page = await follower.next()
    if (page.length === 0) return events
    events.push(...page)
  }
}

async function started(length = 10) {
  const directory = newDirectory()
  const backend = openStore(directory)
  const lease = await backend.acquire('s')
  await backend.append(lease, log.header, log.events.slice(0, length))
  return { directory, backend, lease, path: join(directory, 's.jsonl') }
}

const append = (backend: SessionBackend, lease: Lease, from: number, to: number) =>
  backend.append(lease, log.header, log.events.slice(from, to))

/** The lines of events as the store writes them. */
function lines(events: readonly SessionEvent[]): Buffer {
  const buffer = new RecordBuffer()
  for (const event of events) buffer.add(event)
  return Buffer.from(buffer.bytes)
}

/** A disk that does something of its own once, in the middle of the next read of a log. */
function interruptedDisk() {
  const state: { interrupt?: (() => void) | undefined } = {}
  const readSync = (...args: Parameters<typeof nodeDisk.readSync>) => {
    const read = nodeDisk.readSync(...args)
    const { interrupt } = state
    state.interrupt = undefined
    interrupt?.()
    return read
  }
  return { state, fs: { ...nodeDisk, readSync } as Disk }
}

/** A disk whose first `fdatasync` sleeps until it is woken. */
function sleepyDisk() {
  let fellAsleep = () => {}
  let wake = () => {}
  const asleep = new Promise<void>(resolve => {
    fellAsleep = resolve
  })
  let isFirst = true
  const fdatasync = (fd: number, done: (error: NodeJS.ErrnoException | null) => void) => {
    if (!isFirst) return nodeDisk.fdatasync(fd, done)
    isFirst = false
    wake = () => nodeDisk.fdatasync(fd, done)
    fellAsleep()
  }
  return { fs: { ...nodeDisk, fdatasync } as Disk, asleep, wake: () => wake() }
}

const unreadable = (seq: number) =>
  expect.objectContaining({ code: 'HISTORY_UNREADABLE', message: expect.stringContaining(`event ${seq} `) })

const NEVER = new AbortController().signal

describe('a follower', () => {
  test('gives every event once, as it is written', async () => {
    const { directory, backend, lease } = await started()
    const follower = await follow(openStore(directory))
    expect(await all(follower)).toEqual(log.events.slice(0, 10))
    for (let at = 10; at < 40; at += 3) {
      await append(backend, lease, at, Math.min(40, at + 3))
      expect(await all(follower)).toEqual(log.events.slice(at, at + 3))
    }
  })

  test.each([0, 1, 5, 9, 10, 11, 15])('begins at seq %i', async from => {
    const { backend, lease } = await started()
    const follower = await follow(backend, from)
    expect(await all(follower)).toEqual(log.events.slice(from, 10))
    await append(backend, lease, 10, 20)
    expect(await all(follower)).toEqual(log.events.slice(Math.max(10, from), 20))
  })

  test('of nothing is none', async () => {
    expect(await openStore(newDirectory()).follow!('s', 0)).toBeUndefined()
  })

  test('gives the last event where only its newline is missing, and goes on behind it', async () => {
    const { backend, lease, path } = await started()
    await lease.release()
    truncateSync(path, readFileSync(path).length - 1)
    const follower = await follow(backend)
    expect(await all(follower)).toEqual(log.events.slice(0, 10))
    await append(backend, await backend.acquire('s'), 10, 14)
    expect(await all(follower)).toEqual(log.events.slice(10, 14))
  })

  test('sees a session that is made under a lease taken from somebody who had not made it', async () => {
    const directory = newDirectory()
    const [first, second] = [openStore(directory), openStore(directory)]
    await first.acquire('s')
    await append(second, await second.acquire('s', { takeover: true }), 0, 4)
    expect(await all(await follow(first))).toEqual(log.events.slice(0, 4))
  })

  test('waits for a log that is away from its name for a moment', async () => {
    const { directory, backend, lease, path } = await started()
    const follower = await follow(openStore(directory))
    await all(follower)
    await append(backend, lease, 10, 12)
    renameSync(path, `${path}.away`)
    const next = follower.next()
    renameSync(`${path}.away`, path)
    expect(await next).toEqual(log.events.slice(10, 12))
  })

  test('is told of what another store object writes', async () => {
    const { directory, backend, lease } = await started()
    const follower = await follow(openStore(directory))
    for (let at = 10; at < 20; at++) {
      await all(follower)
      const [changed] = [follower.changed(NEVER), await append(backend, lease, at, at + 1)]
      await changed
      expect(await all(follower)).toEqual([log.events[at]])
    }
  })

  test('waits no longer than its signal', async () => {
    const { backend } = await started()
    const follower = await follow(backend)
    await all(follower)
    const stop = new AbortController()
    const changed = follower.changed(stop.signal)
    stop.abort()
    await changed
    await follower.changed(stop.signal)
  })

  test('reads only what is new', async () => {
    const directory = newDirectory()
    const large = sampleLog('s', 9000)
    await store(openStore(directory), { ...large, events: large.events.slice(0, 8990) })
    const count = { bytes: 0 }
    const readSync = (...args: Parameters<typeof nodeDisk.readSync>) => {
      const read = nodeDisk.readSync(...args)
      count.bytes += read
      return read
    }
    const follower = await follow(openStore(directory, { ...nodeDisk, readSync } as Disk))
    expect(await all(follower)).toEqual(large.events.slice(0, 8990))
    const backend = openStore(directory)
    const lease = await backend.acquire('s')
    await backend.append(lease, large.header, large.events.slice(8990))
    count.bytes = 0
    expect(await all(follower)).toEqual(large.events.slice(8990))
    expect(count.bytes).toBeLessThan(16 * 1024)
  })

  test.runIf(process.platform === 'linux')('leaves no descriptor behind', async () => {
    const { directory, backend } = await started()
    const open = () =>
      readdirSync('/proc/self/fd').flatMap(fd => {
        try {
          return [readlinkSync(`/proc/self/fd/${fd}`)].filter(path => path.startsWith(directory))
        } catch {
          return []
        }
      })
    const follower = await follow(openStore(directory))
    await all(follower)
    const taker = openStore(directory)
    await taker.acquire('s', { takeover: true })
    await all(follower)
    for (const each of [backend, taker]) await each.close()
    expect(open()).toHaveLength(1)
    follower.close()
    expect(open()).toEqual([])
  })
})

describe('a follower of a log of several files', () => {
  test.each([0, 5, 19, 20, 21, 34, 35, 36, 50])('goes through all of them from seq %i', async from => {
    const directory = newDirectory()
    const backend = openStore(directory)
    await store(backend, log)
    const ids = ['s', 'child', 'grandchild']
    const seed = [...log.events]
    for (const [i, length] of [20, 35].entries()) {
      const id = ids[i + 1]!
      const lease = await backend.acquire(id)
      const header = { ...log.header, id, parent: { id: ids[i]!, length } }
      await backend.fork(lease, header, length)
      seed.splice(length)
      const session = Session.create({ id, seed })
      while (session.length < length + 20) session.append('turn/start', { turn: session.length })
      seed.push(...session.slice(length))
      await backend.append(lease, header, session.slice(length))
      await lease.release()
    }
    const follower = await follow(backend, from, 'grandchild')
    await backend.remove('child')
    await backend.remove('s')
    expect(await all(follower)).toEqual(seed.slice(from))
  })

  test.each([3000, 8100, 8999])('finds seq %i through the index, and without it', async from => {
    const directory = newDirectory()
    const large = sampleLog('s', 9000)
    await store(openStore(directory), large, 500)
    expect(await all(await follow(openStore(directory), from))).toEqual(large.events.slice(from))
    const index = join(directory, 's.index')
    const { crc: _, ...point } = JSON.parse(readFileSync(index, 'utf8').split('\n')[0]!)
    const line = new RecordBuffer()
    // Each block a block further on.
    const offsets = point.offsets.map((offset: number, i: number) =>
      i === 0 ? offset : (point.offsets[i + 1] ?? offset + 31),
    )
    line.add({ ...point, offsets })
    writeFileSync(index, line.bytes)
    expect(await all(await follow(openStore(directory), from))).toEqual(large.events.slice(from))
    rmSync(index)
    expect(await all(await follow(openStore(directory), from))).toEqual(large.events.slice(from))
  })
})

describe('what may not stay is kept back:', () => {
  test('what a sleeper writes behind the copy of a takeover', async () => {
    const { directory, backend, path } = await started()
    const follower = await follow(backend)
    await all(follower)
    const disk = sleepyDisk()
    const taker = openStore(directory, disk.fs)
    const taking = taker.acquire('s', { takeover: true })
    await disk.asleep
    appendFileSync(path, lines(other.events.slice(10, 12)))
    expect(await all(follower)).toEqual([])
    expect(await all(await follow(backend))).toEqual([])
    disk.wake()
    const lease = await taking
    expect(await all(follower)).toEqual([])
    await append(taker, lease, 10, 13)
    expect(await all(follower)).toEqual(log.events.slice(10, 13))
  })

  test('what is read while a takeover begins', async () => {
    const { directory, backend, path } = await started()
    const disk = interruptedDisk()
    const follower = await follow(openStore(directory, disk.fs))
    await all(follower)
    const { bytes } = encodeLock(thisOwner(), { isReleased: false, unsynced: 0 })
    const lock = join(directory, 's.lock.2')
    appendFileSync(path, lines(log.events.slice(10, 11)))
    for (let reads = 0; reads < 3; reads++) {
      // Looks read locks too: whichever read it is, the takeover comes before the page is given.
      disk.state.interrupt = () => writeFileSync(lock, bytes)
      expect(await follower.next()).toEqual([])
      expect(await all(follower)).toEqual([])
      rmSync(lock)
    }
    expect(await all(follower)).toEqual(log.events.slice(10, 11))
    await backend.close()
  })

  test('whole records in front of a torn one, as long as somebody may be writing', async () => {
    const { backend, lease, path } = await started()
    const follower = await follow(backend)
    await all(follower)
    const batch = lines(log.events.slice(10, 13))
    appendFileSync(path, batch.subarray(0, batch.length - 9))
    expect(await all(follower)).toEqual([])
    // The write fails, and is taken back.
    truncateSync(path, readFileSync(path).length - batch.length + 9)
    expect(await all(follower)).toEqual([])
    await append(backend, lease, 10, 12)
    expect(await all(follower)).toEqual(log.events.slice(10, 12))
  })

  test('a torn record, until its next owner has written in its place', async () => {
    const { directory, backend, lease, path } = await started()
    await lease.release()
    const batch = lines(other.events.slice(10, 12))
    appendFileSync(path, Buffer.concat([lines(log.events.slice(10, 12)), batch.subarray(0, 50)]))
    const follower = await follow(openStore(directory))
    expect(await all(follower)).toEqual(log.events.slice(0, 12))
    const next = await backend.acquire('s')
    expect(await all(follower)).toEqual([])
    await append(backend, next, 12, 16)
    expect(await all(follower)).toEqual(log.events.slice(12, 16))
  })

  test('what a failed sync leaves in doubt, until its owner has let go', async () => {
    const directory = newDirectory()
    const state = { fails: false }
    const failing = (fd: number, done: (error: NodeJS.ErrnoException | null) => void) =>
      state.fails ? setImmediate(done, Object.assign(new Error('EIO'), { code: 'EIO' })) : nodeDisk.fdatasync(fd, done)
    const fdatasyncSync = (fd: number) => {
      if (state.fails) throw Object.assign(new Error('EIO'), { code: 'EIO' })
      nodeDisk.fdatasyncSync(fd)
    }
    const backend = openStore(directory, { ...nodeDisk, fdatasync: failing, fdatasyncSync } as unknown as Disk)
    const lease = await backend.acquire('s')
    await append(backend, lease, 0, 10)
    const follower = await follow(openStore(directory))
    expect(await all(follower)).toEqual(log.events.slice(0, 10))
    state.fails = true
    await expect(append(backend, lease, 10, 12)).rejects.toMatchObject({ code: 'WRITE_FAILED' })
    expect(await all(follower)).toEqual([])
    expect(await all(await follow(openStore(directory)))).toEqual(log.events.slice(0, 10))
    await lease.release()
    expect(await all(follower)).toEqual(log.events.slice(10, 12))
  })
})

describe('a follower ends', () => {
  test('at a hole, behind all that comes before it', async () => {
    const { backend, path } = await started(30)
    flip(path, 17)
    const follower = await follow(backend)
    expect(await follower.next()).toEqual(log.events.slice(0, 17))
    await expect(follower.next()).rejects.toThrow(unreadable(17))
    await expect(follower.next()).rejects.toThrow(unreadable(17))
    // What lies behind it is nobody's business.
    expect(await all(await follow(backend, 18))).toEqual(log.events.slice(18, 30))
    await expect((await follow(backend, 17)).next()).rejects.toThrow(unreadable(17))
  })

  test('at a hole in a file that it shares', async () => {
    const { backend, directory } = await started(30)
    const lease = await backend.acquire('child')
    await backend.fork(lease, { ...log.header, id: 'child', parent: { id: 's', length: 20 } }, 20)
    flip(join(directory, 'child.base'), 17)
    const follower = await follow(backend, 0, 'child')
    expect(await follower.next()).toEqual(log.events.slice(0, 17))
    await expect(follower.next()).rejects.toThrow(unreadable(17))
  })

  test('at a hole that comes up in front of it', async () => {
    const { backend, lease, path } = await started()
    const follower = await follow(backend)
    await all(follower)
    await append(backend, lease, 10, 20)
    flip(path, 15)
    expect(await follower.next()).toEqual(log.events.slice(10, 15))
    await expect(follower.next()).rejects.toThrow(unreadable(15))
  })

  test.each(['cut off', 'overwritten'])('where what it gave is %s', async how => {
    const { backend, path } = await started()
    const follower = await follow(backend)
    await all(follower)
    truncateSync(path, readFileSync(path).length - lines(log.events.slice(9, 10)).length)
    if (how === 'overwritten') appendFileSync(path, lines(other.events.slice(9, 14)))
    await expect(follower.next()).rejects.toThrow(unreadable(9))
  })

  test.each(['gone', 'made anew', 'another'])('when its session is removed, and then %s', async then => {
    const { backend, lease } = await started()
    const follower = await follow(backend)
    await all(follower)
    await lease.release()
    await backend.remove('s')
    const header = { ...log.header, ...(then === 'another' && { createdAt: 1 }) }
    if (then !== 'gone') await store(backend, { header, events: other.events.slice(0, 20) })
    const code = then === 'made anew' ? 'HISTORY_UNREADABLE' : 'SESSION_NOT_FOUND'
    await expect(follower.next()).rejects.toMatchObject({ code })
  })

  test('when the whole store is taken away', async () => {
    const { directory, backend } = await started()
    const follower = await follow(backend)
    await all(follower)
    rmSync(directory, { recursive: true })
    await expect(follower.next()).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })
})

/** Spoils the record of a seq. */
function flip(path: string, seq: number): void {
  const bytes = readFileSync(path)
  bytes[bytes.indexOf(`{"seq":${seq},`) + 2]! ^= 1
  writeFileSync(path, bytes)
}
