import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '@palimpsest/session'
import { forkSession, openSession, type SessionBackend } from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { type Disk, nodeDisk } from '../src/disk.js'
import { RecordBuffer } from '../src/record.js'
import { filesOf, newDirectory, openStore, sampleLog, store } from './stores.js'

const LENGTH = 9000
const log = sampleLog('s', LENGTH, 50)

/** A log large enough for an index, with two checkpoints and a rest. */
async function stored() {
  const directory = newDirectory()
  const backend = openStore(directory)
  await store(backend, log, 500)
  return { directory, backend, path: join(directory, 's.jsonl'), index: join(directory, 's.index') }
}

/** What is read in every way is what was written. */
async function expectWhole(backend: SessionBackend) {
  expect((await backend.read('s'))!.events).toEqual(log.events)
  for (const [from, to] of [
    [0, 0],
    [0, 1],
    [127, 129],
    [4000, 4200],
    [LENGTH - 100, LENGTH],
    [LENGTH - 1, LENGTH + 5],
    [LENGTH, LENGTH + 1],
  ] as const) {
    const read = (await backend.read('s', { from, to }))!
    expect(read.events).toEqual(log.events.slice(from, to))
    expect(read.length).toBe(LENGTH)
    expect(read.damage).toEqual([])
  }
  // Beside an owner first: who opens the session for work mends its index.
  for (const from of [0, 100, LENGTH - 300]) expect(await followed(backend, from)).toEqual(log.events.slice(from))
  for (const length of [100, LENGTH]) {
    const fork = await forkSession(backend, 's', { id: 'fork', length })
    expect(fork.session.slice(0, length)).toEqual(log.events.slice(0, length))
    await fork.close()
    await backend.remove('fork')
  }
  const { session, report, close } = await openSession(backend, 's')
  expect(report).toEqual({ damage: [], repaired: [], readOnly: false })
  const seqs = log.events.filter(({ surfaceOp }) => surfaceOp !== undefined).map(({ seq }) => seq)
  expect(session.surface.seqs()).toEqual(seqs)
  expect(session.at(5000)).toEqual(log.events[5000])
  expect(session.slice(LENGTH - 300)).toEqual(log.events.slice(LENGTH - 300))
  expect(session.events).toEqual(log.events)
  await close()
}

/** What a follower gives of a log that nobody writes. */
async function followed(backend: SessionBackend, from: number): Promise<SessionEvent[]> {
  const follower = (await backend.follow!('s', from))!
  const events: SessionEvent[] = []
  while (events.length < LENGTH - from) {
    const next = await follower.next()
    if (next.length === 0) break
    events.push(...next)
  }
  follower.close()
  return events
}

/** Counts the bytes read from logs. */
function counting() {
  const count = { bytes: 0 }
  const readSync = (...args: Parameters<typeof nodeDisk.readSync>) => {
    const read = nodeDisk.readSync(...args)
    count.bytes += read
    return read
  }
  return { count, fs: { ...nodeDisk, readSync } as Disk }
}

describe('the index', () => {
  test('is written, and then opening and reading the end touch a small part of the log', async () => {
    const { directory, path, index } = await stored()
    expect(statSync(index).size).toBeLessThan(statSync(path).size / 8)
    const { count, fs } = counting()
    const backend = openStore(directory, fs)
    await backend.read('s', { from: LENGTH - 100 })
    expect(count.bytes).toBeLessThan(statSync(path).size / 4)
    await backend.read('s')
    expect(count.bytes).toBeGreaterThanOrEqual(statSync(path).size)
  })

  test('of a small log is not written', async () => {
    const directory = newDirectory()
    await store(openStore(directory), sampleLog('s', 500))
    expect(filesOf(directory, 's')).toEqual(['s.jsonl', 's.lock.1'])
  })

  test('that is there gives what the log holds', async () => {
    await expectWhole((await stored()).backend)
  })

  test('that is deleted, empty, cut, or of zeros gives the same', async () => {
    const { backend, index } = await stored()
    const good = readFileSync(index)
    const faults = [
      () => rmSync(index),
      () => writeFileSync(index, ''),
      () => writeFileSync(index, good.subarray(0, good.length - 7)),
      () => writeFileSync(index, good.subarray(0, good.indexOf(10) + 1)),
      () => writeFileSync(index, good.subarray(good.indexOf(10) + 1)),
      () => writeFileSync(index, Buffer.alloc(good.length)),
      () => writeFileSync(index, Buffer.concat([good, good])),
    ]
    for (const fault of faults) {
      fault()
      await expectWhole(backend)
    }
  })

  test('with a flipped bit, wherever it is, gives the same', async () => {
    const { backend, index } = await stored()
    const good = readFileSync(index)
    for (let i = 0; i < 12; i++) {
      const bad = Buffer.from(good)
      bad[Math.floor((good.length * i) / 12)]! ^= 1 << (i & 7)
      writeFileSync(index, bad)
      const read = (await backend.read('s', { from: LENGTH - 100 }))!
      expect(read.events).toEqual(log.events.slice(LENGTH - 100))
    }
    await expectWhole(backend)
  })

  test('of another session, or of an earlier state, gives the same', async () => {
    const { directory, backend, index } = await stored()
    const early = readFileSync(index)
    await store(backend, { header: { ...log.header, id: 'other' }, events: sampleLog('other', LENGTH, 40).events }, 500)
    copyFileSync(join(directory, 'other.index'), index)
    await expectWhole(backend)
    const lease = await backend.acquire('s')
    await lease.release()
    writeFileSync(index, early.subarray(0, early.indexOf(10) + 1))
    await expectWhole(backend)
  })

  test.each<[member: string, ...values: unknown[]]>([
    ['to', 2, 1.5, null, 1e15],
    ['end', null, 7, 1e15, 2 ** 53 - 1],
    ['last', [-5, '00000000'], [0.5, 'x'], { length: 2 }, null],
    ['markers', [[-1, 'user/message', 'append', 90, 9]], [[1, 'turn/start', 'append', 90, 9]], 'x', {}],
    ['markers', [[1, 'user/message', 'append', -9, 9]], [[1, 'user/message', 'append', 90, 1e15]]],
    ['markers', [[1, 'user/message', 'append', 90, 9, [0, 1e9]]], [[1, 'user/message', 'append', 90, 9, [0]]]],
    ['headers', [[0, 0, 0]], [['x', 90, 9]], null],
    ['turns', [-1], [5, 5], [1e9], ['x'], {}, null, true],
    ['steps', [3, 2], [1.5], [null], 7],
    ['turnEnd', -1, 1e9, 'x'],
    ['offsets', [], [-1], null],
    ['required', [[]], [[0, 0]], [['later/type', 1e9]], null],
  ])('of a build that means something else by "%s" gives the same', async (member, ...values) => {
    const { backend, index } = await stored()
    const [first = ''] = readFileSync(index, 'utf8').split('\n')
    const { crc: _, ...point } = JSON.parse(first)
    for (const value of values) {
      const line = new RecordBuffer()
      line.add({ ...point, [member]: value })
      writeFileSync(index, line.bytes)
      expect((await backend.read('s', { from: 4000, to: 4200 }))!.events).toEqual(log.events.slice(4000, 4200))
      const { session, report, close } = await openSession(backend, 's')
      expect(report).toEqual({ damage: [], repaired: [], readOnly: false })
      const seqs = log.events.filter(({ surfaceOp }) => surfaceOp !== undefined).map(({ seq }) => seq)
      expect(session.surface.seqs()).toEqual(seqs)
      expect(session.slice(3000, 3010)).toEqual(log.events.slice(3000, 3010))
      await close()
    }
  })

  test('whose log was put back to an earlier state is not believed', async () => {
    const { backend, path } = await stored()
    const bytes = readFileSync(path)
    const half = bytes.subarray(0, bytes.indexOf(10, bytes.length >> 1) + 1)
    writeFileSync(path, half)
    const read = (await backend.read('s', { from: 100 }))!
    expect(read.length).toBeLessThan(LENGTH)
    expect(read.events).toEqual(log.events.slice(100, read.length))
  })

  test('does not hide a bad record from who reads it', async () => {
    const { backend, path } = await stored()
    const bytes = readFileSync(path)
    const line = bytes.indexOf(`{"seq":3000,`)
    bytes[line + 2]! ^= 1
    writeFileSync(path, bytes)
    const part = (await backend.read('s', { from: 2990, to: 3010 }))!
    expect(part.events.map(({ seq }) => seq)).toEqual(
      [...Array(20).keys()].map(i => 2990 + i).filter(seq => seq !== 3000),
    )
    expect(part.damage.map(({ code }) => code)).toEqual(['RECORD_DAMAGED', 'LOG_HOLE'])
    const { session, close } = await openSession(backend, 's')
    expect(session.at(2999)).toEqual(log.events[2999])
    expect(() => session.at(3000)).toThrow(expect.objectContaining({ code: 'HISTORY_UNREADABLE' }))
    expect(session.at(3001)).toEqual(log.events[3001])
    await close()
  })

  test('does not hide a bad landmark from openSession', async () => {
    const { backend, path } = await stored()
    const bytes = readFileSync(path)
    const seq = log.events.findLast(({ type, seq }) => type === 'user/message' && seq < 6000)!.seq
    bytes[bytes.indexOf(`{"seq":${seq},`) + 30]! ^= 1
    writeFileSync(path, bytes)
    const { session, report, close } = await openSession(backend, 's')
    expect(report.readOnly).toBe(true)
    expect(session.events).toEqual(log.events.slice(0, seq))
    await close()
  })
})

test('events stay readable after the session was closed, with no file left open', async () => {
  const { backend } = await stored()
  const { session, close } = await openSession(backend, 's')
  await close()
  await backend.close()
  expect(session.at(4567)).toEqual(log.events[4567])
  expect(session.slice(100, 400)).toEqual(log.events.slice(100, 400))
})
