import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionBackend } from '@palimpsest/session-persistence'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { DATABASES, type GeneratedDatabase } from './generated-databases.js'
import { randomFrom } from './random-logs.js'
import { type Expected, findUntruth } from './truth.js'

// A store whose checksums are always right: what flips.spec.ts looks for must then be found.
vi.mock('node:zlib', async original => ({ ...(await original<typeof import('node:zlib')>()), crc32: () => 0 }))

const folder = mkdtempSync(
  join(statSync('/dev/shm', { throwIfNoEntry: false }) ? '/dev/shm' : tmpdir(), 'palimpsest-control-'),
)
const file = join(folder, 'control.db')
let stored: GeneratedDatabase
let expected: Expected

beforeAll(async () => {
  stored = await DATABASES.find(({ name }) => name.startsWith('plain'))!.make(folder)
  expected = { logs: stored.logs, lengths: stored.moments.at(-1)!.lengths, isExact: false, worker: 'child' }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('without checksums flipped bits are told as the truth, and that is found', async () => {
  const random = randomFrom(7)
  const found = new Set<string>()
  for (let n = 0; n < 600; n++) {
    const bytes = Buffer.from(stored.file)
    bytes[Math.floor(random() * bytes.length)]! ^= 1 << Math.floor(random() * 8)
    const wrong = await untruthOf(bytes)
    if (wrong !== undefined) found.add(/is another one|another header|missing, unreported/.exec(wrong)?.[0] ?? 'else')
  }
  expect([...found]).toContain('is another one')
})

describe('a store that lies', () => {
  const lies: [string, (backend: SessionBackend) => Partial<SessionBackend>][] = [
    [
      'keeps a lost end to itself',
      backend => ({
        async read(id, range) {
          const log = await backend.read(id, range)
          return log && { ...log, events: log.events.slice(0, -1) }
        },
      }),
    ],
    [
      'keeps a hole to itself',
      backend => ({
        async read(id, range) {
          const log = await backend.read(id, range)
          return log && { ...log, events: log.events.filter(({ seq }) => seq !== 5) }
        },
      }),
    ],
    [
      'throws a raw error',
      () => ({ read: () => Promise.reject(Object.assign(new Error(), { code: 'SQLITE_CORRUPT' })) }),
    ],
    ['has lost a session', () => ({ read: async () => undefined })],
    ['leaves a session out of its listing', () => ({ async *list() {} })],
    ['acknowledges what it does not write', () => ({ append: async () => {} })],
  ]
  test.each(lies)('%s: it is found', async (_, lie) => {
    expect(await untruthOf(stored.file)).toBeUndefined()
    expect(await untruthOf(stored.file, lie)).toBeTypeOf('string')
  })
})

// --- internal ---

async function untruthOf(bytes: Buffer, lie: (backend: SessionBackend) => Partial<SessionBackend> = () => ({})) {
  for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true })
  writeFileSync(file, bytes)
  let backend: SessionBackend
  try {
    backend = createSqliteBackend({ file, busyMs: 0 })
  } catch {
    return undefined
  }
  try {
    return await findUntruth(lying(backend, lie(backend)), expected)
  } finally {
    await backend.close().catch(() => {})
  }
}

function lying(backend: SessionBackend, lie: Partial<SessionBackend>): SessionBackend {
  return new Proxy(backend, {
    get(target, name) {
      if (name in lie) return lie[name as keyof SessionBackend]
      const value = target[name as keyof SessionBackend] as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
