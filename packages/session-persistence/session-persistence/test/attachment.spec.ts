import type { Session } from '@palimpsest/session'
import { createMemoryBackend, createSession, openSession, type SessionBackend } from '@palimpsest/session-persistence'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { failingBackend, gatedBackend, isFree, over, settle, watch } from './backends.js'

const boom = new Error('the disk is gone')

function add(session: Session, count = 1): void {
  for (let n = 0; n < count; n++) session.append('turn/start', { turn: session.length + 1 })
}

async function lengthOf(backend: SessionBackend, id = 'a'): Promise<number | undefined> {
  return (await backend.read(id))?.length
}

/** A backend that notes the size of every batch after the creation. */
function noting(base = createMemoryBackend()) {
  const sizes: number[] = []
  const append: SessionBackend['append'] = (lease, header, events) => {
    if (events.length > 0) sizes.push(events.length)
    return base.append(lease, header, events)
  }
  return { backend: over(base, { append }), sizes }
}

describe('when batches go out', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  for (const [options, delay] of [
    [{}, 50],
    [{ maxDelayMs: 7 }, 7],
  ] as const) {
    test(`${delay} ms after the first event with ${JSON.stringify(options)}`, async () => {
      const { backend, sizes } = noting()
      const { session } = await createSession(backend, { id: 'a', ...options })
      add(session, 3)
      await vi.advanceTimersByTimeAsync(delay - 1)
      expect(sizes).toEqual([])
      await vi.advanceTimersByTimeAsync(1)
      expect(sizes).toEqual([3])
      add(session, 2)
      await vi.advanceTimersByTimeAsync(delay)
      expect(sizes).toEqual([3, 2])
    })
  }

  test('never by time with maxDelayMs: Infinity', async () => {
    const { backend, sizes } = noting()
    const { session, flush } = await createSession(backend, { id: 'a', maxDelayMs: Number.POSITIVE_INFINITY })
    add(session)
    expect(vi.getTimerCount()).toBe(0)
    await flush()
    expect(sizes).toEqual([1])
  })

  test('at once when a batch is full, and none is larger', async () => {
    const { backend, sizes } = noting()
    const { session, flush } = await createSession(backend, { id: 'a', maxBatch: 4 })
    add(session, 3)
    expect(sizes).toEqual([])
    add(session, 10)
    await settle()
    expect(sizes).toEqual([4, 4, 4])
    await flush()
    expect(sizes).toEqual([4, 4, 4, 1])
    expect(await lengthOf(backend)).toBe(13)
  })

  test('what comes during a write goes out when its own time has come', async () => {
    const { backend, waiting } = await openGated()
    const { session } = backend
    add(session)
    await vi.advanceTimersByTimeAsync(50)
    add(session)
    await vi.advanceTimersByTimeAsync(50)
    expect(waiting.map(({ batch }) => batch.length)).toEqual([1])
    waiting[0]!.pass()
    await settle()
    expect(waiting.map(({ batch }) => batch.length)).toEqual([1, 1])
  })

  test('a flushed session writes nothing when its timer runs out', async () => {
    const { backend, sizes } = noting()
    const { session, flush } = await createSession(backend, { id: 'a' })
    add(session)
    await flush()
    await vi.advanceTimersByTimeAsync(1000)
    expect(sizes).toEqual([1])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a failure behind the back waits for the next flush, and is no unhandled rejection', async () => {
    const { backend, tried } = failingBackend(2, boom)
    const { session, flush, close } = await createSession(backend, { id: 'a' })
    add(session)
    await vi.advanceTimersByTimeAsync(50)
    await settle()
    expect(tried.appends).toBe(2)
    await expect(flush()).rejects.toBe(boom)
    await expect(close()).rejects.toBe(boom)
  })

  test('a closed session leaves no timer', async () => {
    const { session, close } = await createSession(createMemoryBackend(), { id: 'a' })
    add(session)
    expect(vi.getTimerCount()).toBe(1)
    await close()
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('the timer keeps the process alive until its batch is out', async () => {
  const spy = vi.spyOn(globalThis, 'setTimeout')
  const { session, close } = await createSession(createMemoryBackend(), { id: 'a', maxDelayMs: 1_000_000 })
  add(session)
  const timers = spy.mock.results.map(({ value }) => value as NodeJS.Timeout)
  spy.mockRestore()
  expect(timers.map(timer => timer.hasRef())).toEqual([true])
  await close()
})

async function openGated(options: object = {}) {
  const gated = gatedBackend()
  const creating = createSession(gated.backend, { id: 'a', ...options })
  await settle()
  gated.waiting.shift()!.pass()
  return { ...gated, backend: await creating }
}

describe('one write at a time', () => {
  test('a flush during a write waits, and then takes all that came meanwhile in one batch', async () => {
    const { backend: opened, waiting, base } = await openGated()
    const { session, flush } = opened
    add(session)
    const first = watch(flush())
    add(session)
    const second = watch(flush())
    add(session, 3)
    const third = watch(flush())
    await settle()
    expect(waiting.map(({ batch }) => batch.length)).toEqual([1])
    waiting[0]!.pass()
    await settle()
    expect([first.state, second.state, third.state]).toEqual(['fulfilled', 'pending', 'pending'])
    expect(waiting.map(({ batch }) => batch.length)).toEqual([1, 4])
    waiting[1]!.pass()
    await settle()
    expect([second.state, third.state]).toEqual(['fulfilled', 'fulfilled'])
    expect(waiting).toHaveLength(2)
    expect(await lengthOf(base)).toBe(5)
  })

  test('a flush does not wait for what is appended after it', async () => {
    const { backend: opened, waiting } = await openGated({ maxBatch: 2 })
    const { session, flush } = opened
    add(session, 3)
    const flushed = watch(flush())
    add(session, 4)
    for (let n = 0; n < 2; n++) {
      expect(flushed.state).toBe('pending')
      waiting[n]!.pass()
      await settle()
    }
    expect(flushed.state).toBe('fulfilled')
    expect(session.length).toBe(7)
  })

  test('a write that hangs is waited for, by close too, and the lease is held meanwhile', async () => {
    const { backend: opened, waiting, base } = await openGated()
    add(opened.session)
    const [flushed, closed] = [watch(opened.flush()), watch(opened.close())]
    await settle()
    expect([flushed.state, closed.state, await isFree(base, 'a')]).toEqual(['pending', 'pending', false])
    expect(() => add(opened.session)).toThrow(expect.objectContaining({ code: 'SESSION_READ_ONLY' }))
    waiting[0]!.pass()
    await settle()
    expect([flushed.state, closed.state, await isFree(base, 'a')]).toEqual(['fulfilled', 'fulfilled', true])
  })

  test('nothing pending, nothing written', async () => {
    const { backend, sizes } = noting()
    const { flush, close } = await createSession(backend, { id: 'a' })
    await flush()
    await close()
    await flush()
    expect(sizes).toEqual([])
  })
})

describe('a failed write poisons', () => {
  test('whichever write fails: acknowledged is durable, nothing is written after, and the lease is free', async () => {
    for (let n = 1, survived = false; !survived; n++) {
      const { backend, base, tried } = failingBackend(n, boom)
      const acknowledged = await run(backend)
      survived = tried.appends < n
      expect(tried.appends).toBeLessThanOrEqual(n)
      expect((await lengthOf(base)) ?? 0, `failing at ${n}`).toBe(acknowledged)
      expect(await isFree(base, 'a')).toBe(true)
      if (acknowledged > 0) expect((await openSession(base, 'a')).session.length).toBeGreaterThanOrEqual(acknowledged)
    }
  })

  /** Six flushed appends, then close; how many events were acknowledged. */
  async function run(backend: SessionBackend): Promise<number> {
    let acknowledged = 0
    const opened = await createSession(backend, { id: 'a' }).catch((cause: unknown) => void expect(cause).toBe(boom))
    if (opened === undefined) return 0
    for (let round = 0; round < 6; round++) {
      add(opened.session, 2)
      const { length } = opened.session
      const failure = await opened.flush().catch((cause: unknown) => cause)
      if (failure === undefined) acknowledged = length
      else expect(failure).toBe(boom)
    }
    const isPoisoned = acknowledged < opened.session.length
    if (isPoisoned) await expect(opened.close()).rejects.toBe(boom)
    else await opened.close()
    return acknowledged
  }

  test('every flush that waits for the write hears the cause, and the session goes on in memory', async () => {
    const { backend: opened, waiting } = await openGated()
    const { session, flush, close } = opened
    add(session)
    const flushes = [flush(), flush()]
    add(session)
    flushes.push(flush())
    waiting[0]!.fail(boom)
    for (const flushed of flushes) await expect(flushed).rejects.toBe(boom)
    add(session)
    expect(session.length).toBe(3)
    await expect(flush()).rejects.toBe(boom)
    await expect(close()).rejects.toBe(boom)
    await expect(close()).rejects.toBe(boom)
    expect(waiting).toHaveLength(1)
  })

  test('a backend that throws where it should reject poisons as well', async () => {
    const base = createMemoryBackend()
    const append: SessionBackend['append'] = (lease, header, events) => {
      if (events.length > 0) throw boom
      return base.append(lease, header, events)
    }
    const { session, flush, close } = await createSession(over(base, { append }), { id: 'a' })
    add(session)
    await expect(flush()).rejects.toBe(boom)
    await expect(close()).rejects.toBe(boom)
    expect(await isFree(base, 'a')).toBe(true)
  })

  test('the write’s failure counts, not that of the release after it', async () => {
    const { backend } = failingBackend(2, boom)
    const opened = await createSession(releasing(backend, new Error('release')), { id: 'a' })
    add(opened.session)
    await expect(opened.close()).rejects.toBe(boom)
  })

  test('a release that fails alone makes close reject', async () => {
    const refused = new Error('release')
    const opened = await createSession(releasing(createMemoryBackend(), refused), { id: 'a' })
    await expect(opened.close()).rejects.toBe(refused)
  })

  function releasing(base: SessionBackend, failure: Error): SessionBackend {
    const acquire: SessionBackend['acquire'] = async (...args) => ({
      ...(await base.acquire(...args)),
      release: () => Promise.reject(failure),
    })
    return over(base, { acquire })
  }
})

test.each([{ maxDelayMs: -1 }, { maxDelayMs: Number.NaN }, { maxBatch: 0 }, { maxBatch: Number.NaN }])(
  'the options %j are a RangeError before anything is stored',
  async options => {
    const backend = createMemoryBackend()
    await expect(createSession(backend, { id: 'a', ...options })).rejects.toThrow(RangeError)
    expect(await backend.read('a')).toBeUndefined()
    await (await createSession(backend, { id: 'a' })).close()
    await expect(openSession(backend, 'a', options)).rejects.toThrow(RangeError)
    expect(await isFree(backend, 'a')).toBe(true)
  },
)
