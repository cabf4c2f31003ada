import type { SessionEvent } from '@palimpsest/session'
import { Session } from '@palimpsest/session'
import {
  createMemoryBackend,
  createSession,
  type Damage,
  type MemoryStore,
  type SessionBackend,
  type WatchItem,
  type WatchOptions,
  watchSession,
} from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { over } from './backends.js'

async function started(length: number) {
  const store: MemoryStore = new Map()
  const backend = createMemoryBackend(store)
  const session = Session.create({ id: 's' })
  while (session.length < length) session.append('turn/start', { turn: session.length + 1 })
  const lease = await backend.acquire('s')
  await backend.append(lease, session.header, session.events)
  return { store, backend, session, lease }
}

/** Everything up to the end of the watch, or up to the marker. */
async function collect(backend: SessionBackend, options: WatchOptions = {}, until = 'live') {
  const items: WatchItem[] = []
  for await (const item of watchSession(backend, 's', { pollMs: 1, ...options })) {
    items.push(item)
    if (item.kind === until) break
  }
  return items
}

const seqsOf = (items: readonly WatchItem[]) => items.flatMap(item => (item.kind === 'event' ? [item.event.seq] : []))

describe('a watch', () => {
  test.each([{ from: -1 }, { from: 1.5 }, { from: Number.NaN }, { pollMs: 0 }, { pollMs: Number.NaN }])(
    'refuses %o',
    async options => {
      const { backend } = await started(3)
      await expect(collect(backend, options)).rejects.toThrow(RangeError)
    },
  )

  test('reads a long history by ranges, as fast as it is taken', async () => {
    const { backend } = await started(3000)
    const ranges: { from?: number; to?: number }[] = []
    const read: SessionBackend['read'] = (id, range = {}) => {
      ranges.push(range)
      return backend.read(id, range)
    }
    const items = watchSession(over(backend, { read }), 's', { pollMs: 1 })
    for (let seq = 0; seq < 10; seq++) await items.next()
    expect(ranges.filter(({ from = 0, to = Infinity }) => to > from)).toHaveLength(1)
    for (let seq = 10; seq < 3000; seq++)
      expect((await items.next()).value).toMatchObject({ kind: 'event', event: { seq } })
    expect((await items.next()).value).toEqual({ kind: 'live', length: 3000 })
    for (const { from = 0, to = Infinity } of ranges) expect(to - from).toBeLessThanOrEqual(500)
    await items.return()
  })

  test('puts the marker behind what was stored when it began, however fast somebody writes', async () => {
    const { backend, session, lease } = await started(5)
    const items: WatchItem[] = []
    for await (const item of watchSession(backend, 's', { pollMs: 1 })) {
      items.push(item)
      if (items.length > 12) break
      session.append('turn/start', { turn: session.length + 1 })
      await backend.append(lease, session.header, session.slice(session.length - 1))
    }
    expect(items.findIndex(({ kind }) => kind === 'live')).toBe(5)
    expect(items[5]).toEqual({ kind: 'live', length: 5 })
    expect(seqsOf(items)).toEqual([...Array(12).keys()])
  })

  test('tells of damage that hides no event between the history and the marker', async () => {
    const { backend } = await started(3)
    const torn: Damage = { code: 'RECORD_TORN', where: { offset: 99, seq: 3 }, bytes: 7, kept: null }
    const read: SessionBackend['read'] = async (id, range) => {
      const log = await backend.read(id, range)
      return log && { ...log, damage: [torn] }
    }
    const items = await collect(over(backend, { read }))
    expect(items.slice(3)).toEqual([
      { kind: 'damage', damage: torn },
      { kind: 'live', length: 3 },
    ])
  })

  test.each([0, 2, 4])('from seq %i ends at a hole, behind what comes before it', async from => {
    const { backend, session } = await started(9)
    const holed = (events: readonly SessionEvent[]) => events.filter(({ seq }) => seq < 4 || seq > 5)
    const read: SessionBackend['read'] = async (id, range) => {
      const log = await backend.read(id, range)
      return log && { ...log, events: holed(log.events) }
    }
    const seen: number[] = []
    const watching = async () => {
      for await (const item of watchSession(over(backend, { read }), 's', { from, pollMs: 1 })) {
        if (item.kind === 'event') seen.push(item.event.seq)
      }
    }
    const message = expect.stringContaining('event 4 ')
    await expect(watching()).rejects.toMatchObject({ name: 'SessionError', code: 'HISTORY_UNREADABLE', message })
    expect(seen).toEqual(session.slice(from, 4).map(({ seq }) => seq))
  })

  test('ends where what it gave is taken back', async () => {
    const { backend, store } = await started(6)
    const items = watchSession(backend, 's', { pollMs: 1 })
    for (let i = 0; i < 7; i++) await items.next()
    store.get('s')!.log!.events.splice(4)
    await expect(items.next()).rejects.toMatchObject({ code: 'HISTORY_UNREADABLE' })
  })

  test('that hears of an abort while the store fails just ends', async () => {
    const { backend } = await started(2)
    const stop = new AbortController()
    let reads = 0
    const read: SessionBackend['read'] = (id, range) => {
      reads += 1
      if (reads <= 2) return backend.read(id, range)
      stop.abort()
      return Promise.reject(new Error('the store has gone'))
    }
    expect(seqsOf(await collect(over(backend, { read }), { signal: stop.signal }, 'none'))).toEqual([0, 1])
  })

  test('leaves its signal as it was', async () => {
    const stop = new AbortController()
    let listeners = 0
    const { addEventListener, removeEventListener } = AbortSignal.prototype
    stop.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners += 1
      addEventListener.apply(stop.signal, args)
    }
    stop.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners -= 1
      removeEventListener.apply(stop.signal, args)
    }
    const backend = createMemoryBackend()
    const open = await createSession(backend, { id: 's' })
    const items = watchSession(backend, 's', { pollMs: 1, signal: stop.signal })
    await items.next()
    for (let turn = 1; turn < 30; turn++) {
      const next = items.next()
      open.session.append('turn/start', { turn })
      await open.flush()
      await next
    }
    await items.return()
    expect(listeners).toBe(0)
    await open.close()
  })
})
