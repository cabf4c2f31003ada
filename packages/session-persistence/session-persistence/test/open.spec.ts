import { Session, type SessionEvent } from '@palimpsest/session'
import {
  createMemoryBackend,
  createSession,
  type Damage,
  forkSession,
  openSession,
  PersistenceError,
  type SessionBackend,
} from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { failingBackend, isFree, lazyMemoryBackend, over } from './backends.js'

const boom = new Error('the disk is gone')
const hole: Damage = { code: 'LOG_HOLE', where: { seq: 2 }, bytes: 10, kept: null }

/** A memory backend with a stored session `a` of `length` events, in the middle of a turn. */
async function storing(length = 5, base = createMemoryBackend()): Promise<SessionBackend> {
  const session = Session.create({ id: 'a', header: { cwd: '/work here' }, now: () => 1000 })
  session.append('turn/start', { turn: 1 })
  while (session.length < length) {
    const content = [{ type: 'text' as const, text: `message ${session.length}` }]
    session.append('user/message', { turn: 1, message: { role: 'user', content } }, { surfaceOp: 'append' })
  }
  const lease = await base.acquire('a')
  await base.append(lease, session.header, session.events)
  await lease.release()
  return base
}

async function rawLength(backend: SessionBackend): Promise<number | undefined> {
  return (await backend.read('a'))?.length
}

describe('a log with a hole', () => {
  /** Event 2 cannot be read; the log is longer. */
  async function holed(): Promise<{ base: SessionBackend; backends: Record<string, SessionBackend> }> {
    const base = await storing()
    const read: SessionBackend['read'] = async (id, range) => {
      const log = await base.read(id, range)
      return log && { ...log, events: log.events.filter(({ seq }) => seq !== 2), damage: [hole] }
    }
    const whole = over(base, { read })
    const lazy = lazyMemoryBackend(whole)
    const open: NonNullable<SessionBackend['open']> = async lease => {
      const { header } = (await base.read(lease.id))!
      const landmarks = { markers: [], surface: [], headers: [], turns: [], steps: [], open: [] }
      return { header, length: 2, landmarks, load: () => [], damage: [hole] }
    }
    return { base, backends: { whole, lazy: { ...lazy, open } } }
  }

  test('opens read-only up to it, unrepaired, without a lease', async () => {
    const { base, backends } = await holed()
    for (const [name, backend] of Object.entries(backends)) {
      const { session, report, flush, close } = await openSession(backend, 'a')
      expect(session.events, name).toEqual((await base.read('a', { to: 2 }))?.events)
      expect(report, name).toEqual({ damage: [hole], repaired: [], readOnly: true })
      expect(() => session.append('turn/start', { turn: 2 })).toThrow(/SESSION_READ_ONLY.*hole at seq 2/)
      expect(await isFree(base, 'a'), name).toBe(true)
      await flush()
      await close()
      expect(await rawLength(base), name).toBe(5)
    }
  })

  test('that shows once the turn before it was closed opens read-only up to it as well', async () => {
    const base = await storing()
    const { backends } = await holed()
    const lazy = lazyMemoryBackend(base)
    let looks = 0
    const open: SessionBackend['open'] = lease => (looks++ === 0 ? lazy : backends.lazy!).open!(lease)
    const { session, report } = await openSession(over(lazy, { open }), 'a')
    expect(session.length).toBe(2)
    expect(report).toEqual({ damage: [hole], repaired: [], readOnly: true })
    expect(await isFree(base, 'a')).toBe(true)
  })

  test('that only a reading of all shows, in front of what its landmarks stop at, is what it opens up to', async () => {
    const { base, backends } = await holed()
    const open: SessionBackend['open'] = async lease => {
      const { header } = (await base.read(lease.id))!
      const landmarks = { markers: [], surface: [], headers: [], turns: [], steps: [], open: [] }
      return { header, length: 5, landmarks, load: () => [], damage: [], unknown: [{ seq: 4, type: 'future/type' }] }
    }
    const { session, report } = await openSession(over(backends.lazy!, { open }), 'a')
    expect(session.length).toBe(2)
    expect(report).toEqual({ damage: [hole], repaired: [], readOnly: true })
    expect(() => session.append('turn/start', { turn: 2 })).toThrow(/hole at seq 2/)
    expect(await isFree(base, 'a')).toBe(true)
  })

  test('and an unknown event before it opens up to that event', async () => {
    const base = await storing(1)
    const { header, events } = (await base.read('a'))!
    const law = { seq: 1, time: 1, type: 'future/law', data: {} } as unknown as SessionEvent
    const after = {
      seq: 3,
      time: 1,
      type: 'turn/end',
      data: { turn: 1, reason: { kind: 'completed' } },
    } as SessionEvent
    const read = async () => ({ header, events: [...events, law, after], length: 4, damage: [hole] })
    const ranged: SessionBackend['read'] = async (_, { to = 4 } = {}) => {
      const log = await read()
      return { ...log, events: log.events.filter(({ seq }) => seq < to) }
    }
    const backend = over(base, { read: ranged })
    const { session, report } = await openSession(backend, 'a')
    expect([session.length, report.readOnly]).toEqual([1, true])
    expect(() => session.append('turn/start', { turn: 2 })).toThrow(/SESSION_READ_ONLY.*future\/law/)
    const { session: part } = await openSession(backend, 'a', { acceptUnknown: ['future/law'] })
    expect(part.length).toBe(2)
  })

  test('is forked up to it, and no further', async () => {
    const { backends } = await holed()
    const { session, report } = await forkSession(backends.whole!, 'a', { id: 'child' })
    expect([session.header.parent, report.readOnly]).toMatchObject([{ id: 'a', length: 2 }, false])
    await expect(forkSession(backends.whole!, 'a', { length: 3 })).rejects.toThrow(/RangeError|from 0 to 2/)
  })
})

describe('an event that no session can hold', () => {
  /** Event 2 is another one, of good bytes as far as the store can tell. */
  async function changed(change: object): Promise<{ base: SessionBackend; backends: SessionBackend[] }> {
    const base = await storing()
    const read: SessionBackend['read'] = async (id, range) => {
      const log = await base.read(id, range)
      const events = log?.events.map(event => (event.seq === 2 ? { ...event, ...change } : event)) as SessionEvent[]
      return log && { ...log, events }
    }
    const whole = over(base, { read })
    return { base, backends: [whole, lazyMemoryBackend(whole)] }
  }

  test.each<[code: string, change: object]>([
    ['NOT_LOSSLESS_JSON', { data: { message: { role: 'user', content: [] }, turn: -0 } }],
    ['SEED_INVALID', { note: 1 }],
    ['EVENT_DATA_INVALID', { data: null }],
    ['PROVENANCE_INVALID', { sourceEventSeqs: [] }],
    ['SURFACE_INTENT_REQUIRED', { surfaceOp: undefined }],
    ['SURFACE_RANGE_UNKNOWN', { surfaceOp: { op: 'replace', start: 0, end: 0 }, sourceEventSeqs: [0] }],
  ])('(%s) opens the part before it, unrepaired, without a lease', async (code, change) => {
    const { base, backends } = await changed(change)
    for (const backend of backends) {
      const { session, report } = await openSession(backend, 'a')
      expect(session.events).toEqual((await base.read('a', { to: 2 }))?.events)
      expect(report).toMatchObject({
        damage: [{ code: 'RECORD_DAMAGED', where: { seq: 2 } }],
        repaired: [],
        readOnly: true,
      })
      expect(() => session.append('turn/start', { turn: 2 })).toThrow(new RegExp(`SESSION_READ_ONLY.*event 2.*${code}`))
      expect(await isFree(base, 'a')).toBe(true)
      expect(await rawLength(base)).toBe(5)
    }
  })

  test('is refused where the log has no marks at all: nobody may guess them', async () => {
    const base = await storing()
    const read: SessionBackend['read'] = async (id, range) => {
      const log = await base.read(id, range)
      return log && { ...log, events: log.events.map(({ surfaceOp: _, ...event }) => event as SessionEvent) }
    }
    const opening = openSession(over(base, { read }), 'a')
    await expect(opening).rejects.toMatchObject({ code: 'SURFACE_INTENT_REQUIRED' })
    expect(await isFree(base, 'a')).toBe(true)
  })

  test('is found behind what the store made of it', async () => {
    const { backends } = await changed({ surfaceOp: undefined })
    const cause = new TypeError('the store stumbled')
    const open = async () => Promise.reject(new PersistenceError('WRITE_FAILED', 'the disk is full', { cause }))
    const { session, report } = await openSession({ ...backends[1]!, open } as SessionBackend, 'a')
    expect([session.length, report.readOnly]).toEqual([2, true])
  })

  test('is not looked for where something else went wrong', async () => {
    const base = await storing()
    const lazy = lazyMemoryBackend(base)
    const open = async () => Promise.reject(boom)
    await expect(openSession({ ...lazy, open } as SessionBackend, 'a')).rejects.toBe(boom)
  })
})

test('what acquire and read found is reported, in that order', async () => {
  const base = await storing(5)
  const torn: Damage = { code: 'RECORD_TORN', where: { offset: 9 }, bytes: 3, kept: 'a.torn-9-1' }
  const twice: Damage = { code: 'SEQ_REPEATED', where: { seq: 1 }, bytes: 7, kept: null }
  const backend = over(base, {
    acquire: async (...args) => ({ ...(await base.acquire(...args)), damage: [torn] }),
    read: async (...args) => {
      const log = await base.read(...args)
      return log && { ...log, damage: [twice] }
    },
  })
  const { report } = await openSession(backend, 'a')
  expect([report.damage, report.readOnly]).toEqual([[torn, twice], false])
  expect((await createSession(backend, { id: 'b' }).catch(error => error)).code).toBeUndefined()
})

describe('the stored header', () => {
  test.each([
    [{ id: 'b' }, 'HEADER_DAMAGED', /"b"/],
    [{ version: 3 }, 'FORMAT_VERSION_UNSUPPORTED', /newer/],
    [{ version: -3 }, 'FORMAT_VERSION_UNSUPPORTED', /older/],
  ])('with %j is refused before a lease is taken', async (wrong, code, message) => {
    const base = await storing()
    const acquired: string[] = []
    const backend = over(base, {
      acquire: (id, options) => {
        acquired.push(id)
        return base.acquire(id, options)
      },
      read: async (...args) => {
        const log = await base.read(...args)
        return log && { ...log, header: { ...log.header, ...wrong } }
      },
    })
    await expect(openSession(backend, 'a')).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    await expect(forkSession(backend, 'a', { id: 'b' })).rejects.toMatchObject({ code })
    expect(acquired).toEqual([])
  })

  test('as the backend completed it is the session’s', async () => {
    const base = await storing()
    const fork: SessionBackend['fork'] = (lease, header, length) => base.fork(lease, { ...header, shelf: 3 }, length)
    const { session } = await forkSession(over(base, { fork }), 'a', { id: 'child' })
    expect(session.header).toHaveProperty('shelf', 3)
    expect(session.header.parent).toEqual({ id: 'a', length: 5, crc: expect.stringMatching(/^[0-9a-f]{8}$/) })
    expect(session.header.cwd).toBe('/work here')
  })
})

describe('every failure frees the lease', () => {
  for (const [name, wrap] of Object.entries({ whole: (b: SessionBackend) => b, lazily: lazyMemoryBackend })) {
    test(`of a repair that cannot be written (${name})`, async () => {
      const base = await storing()
      const { backend } = failingBackend(1, boom, wrap(base))
      await expect(openSession(backend, 'a')).rejects.toBe(boom)
      expect([await isFree(base, 'a'), await rawLength(base)]).toEqual([true, 5])
    })

    test(`of reading at every attempt (${name})`, async () => {
      const base = wrap(await storing())
      for (let n = 1, survived = false; !survived; n++) {
        let reads = 0
        const failing = <T>(body: () => Promise<T>): Promise<T> => (++reads === n ? Promise.reject(boom) : body())
        const open = base.open && { open: (lease: never) => failing(() => base.open!(lease)) }
        const backend = over(base, { read: (...args) => failing(() => base.read(...args)), ...open })
        const opened = await openSession(backend, 'a').catch((error: unknown) => void expect(error).toBe(boom))
        survived = opened !== undefined
        await opened?.close()
        expect(await isFree(base, 'a')).toBe(true)
      }
    })
  }

  test('of a fork', async () => {
    const base = await storing()
    await expect(forkSession(over(base, { fork: () => Promise.reject(boom) }), 'a', { id: 'c' })).rejects.toBe(boom)
    const { backend } = failingBackend(1, boom, base)
    await expect(forkSession(backend, 'a', { id: 'd' })).rejects.toBe(boom)
    expect([await isFree(base, 'c'), await isFree(base, 'd'), await isFree(base, 'a')]).toEqual([true, true, true])
  })

  test('of a creation', async () => {
    const { backend, base } = failingBackend(1, boom)
    await expect(createSession(backend, { id: 'a' })).rejects.toBe(boom)
    expect([await isFree(base, 'a'), await base.read('a')]).toEqual([true, undefined])
  })

  test('of a log that the kernel refuses', async () => {
    const base = createMemoryBackend()
    const { header } = Session.create({ id: 'a' })
    const unmarked = { seq: 0, time: 1, type: 'user/message', data: { message: { role: 'user', content: [] } } }
    const lease = await base.acquire('a')
    await base.append(lease, header, [unmarked as SessionEvent])
    await lease.release()
    await expect(openSession(base, 'a')).rejects.toMatchObject({ code: 'SURFACE_INTENT_REQUIRED' })
    expect(await isFree(base, 'a')).toBe(true)
  })
})

describe('while somebody else', () => {
  test('removes the session, openSession does not find it', async () => {
    const base = await storing()
    const acquire: SessionBackend['acquire'] = async (...args) => {
      await base.remove('a')
      return base.acquire(...args)
    }
    await expect(openSession(over(base, { acquire }), 'a')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    expect(await isFree(base, 'a')).toBe(true)
  })

  test('creates it, createSession finds it taken, even if it is empty', async () => {
    const base = createMemoryBackend()
    const acquire: SessionBackend['acquire'] = async (...args) => {
      await (await createSession(base, { id: 'a' })).close()
      return base.acquire(...args)
    }
    await expect(createSession(over(base, { acquire }), { id: 'a' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    expect(await isFree(base, 'a')).toBe(true)
  })
})

describe('createSession over what cannot be read', () => {
  const reading = (error: Error) => over(createMemoryBackend(), { read: () => Promise.reject(error) })

  test('leaves a damaged header to the backend', async () => {
    const { session } = await createSession(reading(new PersistenceError('HEADER_DAMAGED', 'torn')), { id: 'a' })
    expect(session.id).toBe('a')
  })

  test('passes every other failure on', async () => {
    const newer = new PersistenceError('FORMAT_VERSION_UNSUPPORTED', 'newer')
    await expect(createSession(reading(newer), { id: 'a' })).rejects.toBe(newer)
  })

  test('refuses what the kernel refuses, and stores nothing', async () => {
    const base = createMemoryBackend()
    const seed = [{ seq: 1, time: 1, type: 'turn/start', data: { turn: 1 } }] as SessionEvent[]
    await expect(createSession(base, { id: 'a', seed })).rejects.toMatchObject({ code: 'SEED_INVALID' })
    await expect(createSession(base, { id: 'a', header: { id: 'b' } })).rejects.toMatchObject({
      code: 'HEADER_INVALID',
    })
    await expect(createSession(base, { header: { id: '../a' } })).rejects.toMatchObject({ code: 'SESSION_ID_INVALID' })
    for await (const summary of base.list()) expect.fail(`found ${summary.id}`)
  })
})

test('the clock and the error listener reach the session, however it is opened', async () => {
  const base = await storing()
  const errors: unknown[] = []
  const options = { now: () => 4711, onListenerError: (error: unknown) => errors.push(error) }
  for (const backend of [base, lazyMemoryBackend(base)]) {
    for (const opened of [
      await createSession(backend, options),
      await openSession(backend, 'a', options),
      await forkSession(backend, 'a', options),
    ]) {
      opened.session.on(() => {
        throw boom
      })
      expect(opened.session.append('turn/start', { turn: 2 }).time).toBe(4711)
      expect(errors.splice(0)).toEqual([boom])
      await opened.close()
    }
  }
})

test('a lazily opened session reads what it is asked for and no more', async () => {
  const loads: [number, number][] = []
  const base = createMemoryBackend()
  const { session: live, close } = await createSession(base, { id: 'a' })
  for (let turn = 1; turn <= 50; turn++) {
    live.append('turn/start', { turn })
    live.append('turn/end', { turn, reason: { kind: 'completed' } })
  }
  await close()
  const { session } = await openSession(lazyMemoryBackend(base, loads), 'a')
  expect([session.length, loads]).toEqual([100, []])
  expect(session.slice(90, 93)).toEqual(live.slice(90, 93))
  expect(session.at(91)).toBe(session.at(91))
  expect(loads).toEqual([[90, 93]])
})

test('a fork of a fork names its own parent', async () => {
  const base = await storing()
  await (await forkSession(base, 'a', { id: 'b', length: 3 })).close()
  const { session } = await forkSession(base, 'b', { id: 'c' })
  expect(session.header.parent).toMatchObject({ id: 'b', length: 4 })
  expect(session.at(3)?.type).toBe('turn/end')
})
