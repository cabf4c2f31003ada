import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSession, openSession, PersistenceError, type SessionBackend } from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import type { Disk } from '../src/disk.js'
import { faultyDisk } from './faulty-disk.js'
import { filesOf, newDirectory, openStore, sampleLog, store } from './stores.js'

const { header, events } = sampleLog('s', 12)

/** A session's life in short: made, written, closed, opened with a torn tail, taken over, forked. Says what was acknowledged. */
async function live(backend: SessionBackend, directory: string, acknowledged: { length: number }) {
  const first = await backend.acquire('s')
  for (let at = 0; at < 6; at += 2) {
    await backend.append(first, header, events.slice(at, at + 2))
    acknowledged.length = at + 2
  }
  await first.release()
  appendFileSync(join(directory, 's.jsonl'), '{"seq":6,"torn')
  const second = await backend.acquire('s')
  await backend.append(second, header, events.slice(6, 8))
  acknowledged.length = 8
  const third = await backend.acquire('s', { takeover: true })
  await backend.append(third, header, events.slice(8, 10))
  acknowledged.length = 10
  const child = await backend.acquire('child')
  await backend.fork(child, { ...header, id: 'child', parent: { id: 's', length: 7 } }, 7)
  await backend.append(child, { ...header, id: 'child' }, [events[7]!])
  await child.release()
  await third.release()
}

async function expectSound(directory: string, acknowledged: number) {
  const backend = openStore(directory)
  const before = await backend.read('s')
  expect(before?.length ?? 0).toBeGreaterThanOrEqual(acknowledged)
  const lease = await backend.acquire('s', { takeover: true })
  const { length = 0 } = (await backend.read('s')) ?? {}
  expect(length).toBeGreaterThanOrEqual(acknowledged)
  await backend.append(lease, header, events.slice(length))
  await lease.release()
  const after = (await backend.read('s'))!
  expect(after.events).toEqual(events)
  expect(after.damage).toEqual([])
  const child = await backend.read('child')
  if (child !== undefined) expect(child.events).toEqual(events.slice(0, child.length))
  for await (const { error, damage } of backend.list()) expect({ error, damage }).toEqual({})
}

describe('when the n-th call fails, for growing n', () => {
  const faults = [
    { code: 'EIO' as const, isLasting: false },
    { code: 'ENOSPC' as const, isLasting: true },
    { code: 'SHORT' as const, isLasting: false },
  ]
  test.each(faults)(
    'with $code (lasting: $isLasting), the caller hears of it and nothing acknowledged is lost',
    async fault => {
      const calls = fault.code === 'SHORT' ? (['writeSync'] as const) : undefined
      let survived = false
      for (let at = 1; !survived; at++) {
        const directory = newDirectory()
        const faulty = faultyDisk({ at, ...fault, ...(calls && { calls }) })
        const acknowledged = { length: 0 }
        let error: unknown
        try {
          const backend = openStore(directory, faulty.disk)
          await live(backend, directory, acknowledged)
        } catch (caught) {
          error = caught
        }
        survived = !faulty.hasFailed
        if (survived) expect(error).toBeUndefined()
        if (error !== undefined) {
          expect(error, `call ${at}`).toBeInstanceOf(PersistenceError)
          expect((error as PersistenceError).code).not.toBe('APPEND_CONFLICT')
        }
        await expectSound(directory, acknowledged.length)
      }
    },
  )
})

/** Fails the calls of one kind while it is told to. */
function switchable(names: readonly (keyof Disk)[], code: string) {
  const state = { isBroken: false }
  const real = faultyDisk({ at: 0, code: 'EIO' }).disk
  const broken =
    (name: keyof Disk) =>
    (...args: unknown[]) => {
      if (!state.isBroken) return (real[name] as (...args: unknown[]) => unknown)(...args)
      const error = Object.assign(new Error(`${code}: made to fail`), { code })
      const callback = args.at(-1)
      if (typeof callback !== 'function') throw error
      return callback(error)
    }
  const fs = { ...real, ...Object.fromEntries(names.map(name => [name, broken(name)])) } as unknown as Disk
  return { state, fs }
}

/** On the spot and on another thread. */
const DATA_SYNCS = ['fdatasync', 'fdatasyncSync'] as const

describe('a failed sync', () => {
  test('is told to the caller for good, noted, and followed by a rewrite', async () => {
    const directory = newDirectory()
    const { state, fs } = switchable(DATA_SYNCS, 'EIO')
    const backend = openStore(directory, fs)
    const path = join(directory, 's.jsonl')
    const lease = await backend.acquire('s')
    await backend.append(lease, header, events.slice(0, 4))
    const end = readFileSync(path).length
    state.isBroken = true
    const failed = backend.append(lease, header, events.slice(4, 6))
    await expect(failed).rejects.toMatchObject({ code: 'WRITE_FAILED', cause: { code: 'EIO' } })
    state.isBroken = false
    const again = await backend.append(lease, header, events.slice(4, 6)).catch(error => error)
    expect(again).toBe(await failed.catch(error => error))
    expect(readFileSync(join(directory, 's.lock.1'), 'latin1')).toMatch(new RegExp(`held unsynced ${end} *\\n$`))
    await lease.release()
    expect(readFileSync(join(directory, 's.lock.1'), 'latin1')).toMatch(/released unsynced /)

    const { ino } = statSync(path)
    const next = await backend.acquire('s')
    expect(statSync(path).ino).not.toBe(ino)
    expect(readFileSync(join(directory, 's.lock.2'), 'latin1')).toMatch(/held *\n$/)
    const { length } = (await backend.read('s'))!
    await backend.append(next, header, events.slice(length))
    expect((await backend.read('s'))!.events).toEqual(events)
  })

  test('is not forgotten when the next owner dies before the rewrite', async () => {
    const directory = newDirectory()
    const { state, fs } = switchable(DATA_SYNCS, 'EIO')
    const backend = openStore(directory, fs)
    const lease = await backend.acquire('s')
    await backend.append(lease, header, events.slice(0, 4))
    state.isBroken = true
    await backend.append(lease, header, events.slice(4, 6)).catch(() => {})
    await lease.release()
    await expect(backend.acquire('s')).rejects.toMatchObject({ code: 'WRITE_FAILED' })
    expect(readFileSync(join(directory, 's.lock.2'), 'latin1')).toMatch(/released unsynced /)
  })

  test('makes a fork copy the prefix and not share it', async () => {
    const directory = newDirectory()
    const { state, fs } = switchable(DATA_SYNCS, 'EIO')
    const backend = openStore(directory, fs)
    const lease = await backend.acquire('s')
    await backend.append(lease, header, events.slice(0, 4))
    state.isBroken = true
    await backend.append(lease, header, events.slice(4, 6)).catch(() => {})
    state.isBroken = false
    const inodes = () => [statSync(join(directory, 's.jsonl')).ino, statSync(join(directory, 'child.base')).ino]
    const child = await backend.acquire('child')
    await backend.fork(child, { ...header, id: 'child', parent: { id: 's', length: 6 } }, 6)
    expect(new Set(inodes()).size).toBe(2)
    expect((await backend.read('child'))!.events).toEqual(events.slice(0, 6))
  })
})

test('a write that fails takes its half off again', async () => {
  const directory = newDirectory()
  const { state, fs } = switchable(['writeSync'], 'ENOSPC')
  const backend = openStore(directory, fs)
  const path = join(directory, 's.jsonl')
  const opened = await createSession(backend, { id: 's' })
  opened.session.append('turn/start', { turn: 1 })
  await opened.flush()
  const bytes = readFileSync(path)
  state.isBroken = true
  opened.session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
  await expect(opened.flush()).rejects.toMatchObject({ code: 'WRITE_FAILED', cause: { code: 'ENOSPC' } })
  state.isBroken = false
  await expect(opened.close()).rejects.toMatchObject({ code: 'WRITE_FAILED' })
  expect(readFileSync(path).equals(bytes)).toBe(true)
  const { session, close } = await openSession(backend, 's')
  expect(session.at(0)?.type).toBe('turn/start')
  await close()
})

test.each([
  ['EROFS', /make it writable/],
  ['EMFILE', /raise the limit/],
  ['ENOSPC', /make room/],
] as const)(
  'an error of the file system (%s) is told in words, with what to do, and is itself the cause',
  async (code, advice) => {
    const { disk } = faultyDisk({ at: 1, code, calls: ['openSync'], isLasting: true })
    const error = await openStore(newDirectory(), disk)
      .acquire('s')
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'WRITE_FAILED', cause: { code } })
    const { message } = error as PersistenceError
    expect(message).toMatch(advice)
    expect(message).not.toContain(code)
  },
)

test('a store whose place is a file, and one that cannot be listed, say what was expected and what to do', async () => {
  const directory = newDirectory()
  writeFileSync(join(directory, 'file'), '')
  const told = {
    code: 'WRITE_FAILED',
    message: expect.stringMatching(/expected.*found.*; (make room|name a folder)/),
    cause: expect.anything(),
  }
  expect(() => openStore(join(directory, 'file'))).toThrow(expect.objectContaining(told))
  const { disk } = faultyDisk({ at: 1, code: 'EIO', calls: ['readdir'], isLasting: true })
  await expect(openStore(directory, disk).list()[Symbol.asyncIterator]().next()).rejects.toMatchObject(told)
})

test('a session that may not be read is listed with the trouble, and not called damaged', async () => {
  const directory = newDirectory()
  await store(openStore(directory), sampleLog('s', 3))
  const { disk } = faultyDisk({ at: 1, code: 'EIO', calls: ['openSync'], isLasting: true })
  for await (const summary of openStore(directory, disk).list()) {
    expect(summary).toMatchObject({
      id: 's',
      error: { code: 'WRITE_FAILED', message: expect.stringMatching(/expected.*found/) },
    })
  }
  expect.assertions(1)
})

test('links that the file system does not have are replaced by copies', async () => {
  const directory = newDirectory()
  const { state, fs } = switchable(['linkSync'], 'EPERM')
  const link = fs.linkSync
  const noBases = {
    ...fs,
    linkSync: (from: string, to: string) => {
      state.isBroken = to.includes('.base')
      return link(from, to)
    },
  } as Disk
  const backend = openStore(directory, noBases)
  await store(backend, { header, events })
  const child = await backend.acquire('child')
  await backend.fork(child, { ...header, id: 'child', parent: { id: 's', length: 5 } }, 5)
  await backend.remove('s')
  expect((await backend.read('child'))!.events).toEqual(events.slice(0, 5))
  expect(filesOf(directory, 'child')).toEqual(['child.base', 'child.jsonl', 'child.lock.1'])
})

const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: 'ignore' })

test('a disk that is really full loses nothing and can be written again when there is room', async context => {
  const directory = join(newDirectory(), 'small')
  mkdirSync(directory)
  try {
    run('mount', '-t', 'tmpfs', '-o', 'size=256k', 'palimpsest', directory)
  } catch {
    context.skip('mounting a tmpfs needs root')
  }
  try {
    const backend = openStore(directory)
    const opened = await createSession(backend, { id: 's' })
    writeFileSync(join(directory, 'ballast'), Buffer.alloc(128 * 1024))
    let acknowledged = 0
    const fill = async () => {
      for (let turn = 1; turn < 10_000; turn++) {
        opened.session.append('turn/start', { turn })
        opened.session.append('turn/end', { turn, reason: { kind: 'aborted', reason: 'x'.repeat(3000) } })
        await opened.flush()
        acknowledged = opened.session.length
      }
    }
    await expect(fill()).rejects.toMatchObject({ code: 'WRITE_FAILED', cause: { code: 'ENOSPC' } })
    await opened.close().catch(() => {})
    const read = (await backend.read('s'))!
    expect(read.damage).toEqual([])
    expect(read.events).toEqual(opened.session.slice(0, acknowledged))
    writeFileSync(join(directory, 'ballast'), '')
    const { session, flush, close } = await openSession(backend, 's')
    session.append('turn/start', { turn: 1 })
    await flush()
    await close()
    expect((await backend.read('s'))!.length).toBe(acknowledged + 1)
  } finally {
    run('umount', directory)
  }
})
