import { crc32 } from 'node:zlib'
import { Session } from '@palimpsest/session'
import {
  createMemoryBackend,
  createSession,
  forkSession,
  type MemoryStore,
  openSession,
} from '@palimpsest/session-persistence'
import { testBackend } from '@palimpsest/session-persistence/conformance'
import { expect, test } from 'vitest'
import { lazyMemoryBackend } from './backends.js'

const APPEND = { surfaceOp: 'append' } as const

const wrappings = {
  memory: createMemoryBackend,
  'memory, lazily': (store: MemoryStore) => lazyMemoryBackend(createMemoryBackend(store)),
}

for (const [name, create] of Object.entries(wrappings)) {
  testBackend(
    name,
    {
      open: () => {
        const store: MemoryStore = new Map()
        return { backend: create(store), reopen: () => create(store) }
      },
    },
    { test },
  )
}

testBackend('memory, through one pair of eyes', { open: () => createMemoryBackend() }, { test: onlyReopening })

/** A bare backend runs the kit too; a sample of it is enough here. */
function onlyReopening(name: string, body: () => Promise<void>) {
  if (name.includes('reload equals live')) test(name, body)
}

test('a fork shares its parent’s events and copies none', async () => {
  const backend = createMemoryBackend()
  const parent = Session.create({ id: 'parent' })
  const event = parent.append('turn/start', { turn: 1 })
  await backend.append(await backend.acquire('parent'), parent.header, parent.events)
  const { header } = Session.create({ id: 'child', header: { parent: { id: 'parent', length: 1 } } })
  await backend.fork(await backend.acquire('child'), header, 1)
  expect((await backend.read('child'))?.events[0]).toBe(event)
})

test('a fork names the crc of the last shared record, as a line of JSON would have it', async () => {
  const backend = createMemoryBackend()
  const { session, flush } = await createSession(backend, { id: 'parent' })
  session.append('turn/start', { turn: 1 })
  const last = session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
  await flush()
  const child = await forkSession(backend, 'parent', { id: 'child' })
  const crc = crc32(JSON.stringify(last).replace(/\}$/, ''))
  expect(child.session.header.parent).toEqual({ id: 'parent', length: 2, crc: crc.toString(16).padStart(8, '0') })
  const empty = await forkSession(backend, 'parent', { id: 'empty', length: 0 })
  expect(empty.session.header.parent).toEqual({ id: 'parent', length: 0 })
})

test('an empty text is no title', async () => {
  const backend = createMemoryBackend()
  const { session, flush } = await createSession(backend, { id: 'a' })
  for (const text of ['', 'Well?']) {
    session.append('user/message', { message: { role: 'user', content: [{ type: 'text', text }] } }, APPEND)
  }
  await flush()
  for await (const { title } of backend.list()) expect(title).toBe('Well?')
  expect.assertions(1)
})

test('a backend without a store of its own begins empty', async () => {
  const first = createMemoryBackend()
  const { header } = Session.create({ id: 'a' })
  await first.append(await first.acquire('a'), header, [])
  await expect(openSession(createMemoryBackend(), 'a')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
})

test('bytes are what the log would take as lines of UTF-8', async () => {
  const backend = createMemoryBackend()
  const session = Session.create({ id: 'a', now: () => 0 })
  session.append('request/header', { model: 'é', settings: {} })
  await backend.append(await backend.acquire('a'), session.header, session.events)
  const lines = [session.header, ...session.events].map(line => `${JSON.stringify(line)}\n`).join('')
  for await (const summary of backend.list()) expect(summary.bytes).toBe(Buffer.byteLength(lines))
})

test('a fork that names another last record than its parent has is refused', async () => {
  const backend = createMemoryBackend()
  const session = Session.create({ id: 'a', now: () => 0 })
  session.append('turn/start', { turn: 1 })
  await backend.append(await backend.acquire('a'), session.header, session.events)
  const { header } = Session.create({ id: 'b', header: { parent: { id: 'a', length: 1, crc: '00000000' } } })
  const lease = await backend.acquire('b')
  await expect(backend.fork(lease, header, 1)).rejects.toMatchObject({ code: 'PARENT_MISMATCH' })
  expect(await backend.read('b')).toBeUndefined()
})

test('only a fork names the last record that it shares, and is as old as itself until it goes on', async () => {
  const backend = createMemoryBackend()
  const parent = { id: 'z', length: 1, crc: '00000000' }
  const copy = Session.create({ id: 'a', now: () => 5, header: { parent } })
  copy.append('turn/start', { turn: 1 })
  await backend.append(await backend.acquire('a'), copy.header, copy.events)
  expect((await backend.read('a'))!.header.parent).toEqual({ id: 'z', length: 1 })
  const { header } = Session.create({ id: 'b', now: () => 9, header: { parent: { id: 'a', length: 1 } } })
  const lease = await backend.acquire('b')
  await backend.fork(lease, header, 1)
  const ages = async () => {
    const found: unknown[] = []
    for await (const { id, updatedAt } of backend.list()) found.push([id, updatedAt])
    return found
  }
  expect(await ages()).toEqual([
    ['a', 5],
    ['b', 9],
  ])
  await backend.append(lease, header, [{ seq: 1, time: 12, type: 'step/start', data: { turn: 1, step: 1 } }])
  expect((await ages())[1]).toEqual(['b', 12])
})

test('a log of another format version is listed, and neither read nor appended to', async () => {
  for (const [version, word] of [
    [7, 'newer'],
    [-1, 'older'],
  ] as const) {
    const header = { ...Session.create({ id: 'a' }).header, version }
    const backend = createMemoryBackend(new Map([['a', { epoch: 1, isHeld: false, log: { header, events: [] } }]]))
    const refusal = { code: 'FORMAT_VERSION_UNSUPPORTED', message: expect.stringContaining(word) }
    await expect(backend.read('a')).rejects.toMatchObject(refusal)
    await expect(openSession(backend, 'a')).rejects.toMatchObject(refusal)
    const append = backend.append(await backend.acquire('a'), { ...header, version: 0 }, [])
    await expect(append).rejects.toMatchObject(refusal)
    for await (const { id } of backend.list()) expect(id).toBe('a')
  }
})
