import { readFileSync, writeFileSync } from 'node:fs'
import { forkSession, openSession, type SessionBackend } from '@palimpsest/session-persistence'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import { test } from 'vitest'
import { newFile, openStore, randomFrom, randomLog, type SampleLog, store } from './stores.js'

/** How many bits of the sample database are flipped; `npm run torture` flips all. */
const FLIPS = Number(process.env.PALIMPSEST_FLIPS ?? 250)

test(`a flipped bit anywhere in the file gives the right data, reported damage, or a coded error (${FLIPS} bits)`, async () => {
  const seed = Number(process.env.PALIMPSEST_SEED ?? 20)
  const random = randomFrom(seed)
  const file = newFile()
  const logs = [randomLog('a', random, 3), randomLog('b', random, 6)]
  const backend = openStore(file)
  for (const log of logs) await store(backend, log, 7)
  const fork = await forkSession(backend, 'b', { id: 'c', length: 40 })
  await fork.close()
  logs.push({ header: fork.session.header, events: fork.session.events })
  await backend.close()
  const bytes = readFileSync(file)
  const flipped = newFile()
  for (let n = 0; n < FLIPS; n++) {
    const bit = Math.floor(random() * bytes.length * 8)
    const copy = Buffer.from(bytes)
    copy[bit >> 3]! ^= 1 << (bit & 7)
    writeFileSync(flipped, copy)
    const wrong = await judge(flipped, logs)
    if (wrong !== undefined) throw new Error(`seed ${seed}, flip ${n}, byte ${bit >> 3}, bit ${bit & 7}: ${wrong}`)
  }
}, 600_000)

// --- internal ---

/** What is wrong with how a store tells of its damage. */
async function judge(file: string, logs: readonly SampleLog[]): Promise<string | undefined> {
  let backend: SessionBackend
  try {
    backend = createSqliteBackend({ file, busyMs: 0 })
  } catch (error) {
    return isCoded(error) ? undefined : `creation: ${(error as Error).stack}`
  }
  try {
    const listed = await attempt(async () => {
      for await (const { id } of backend.list()) if (id === undefined) return
    })
    if (listed.error !== undefined && !isCoded(listed.error)) return `list: ${(listed.error as Error).stack}`
    for (const log of logs) {
      const wrong = (await judgeRead(backend, log)) ?? (await judgeOpen(backend, log))
      if (wrong !== undefined) return `${log.header.id}: ${wrong}`
    }
    return undefined
  } finally {
    await backend.close().catch(() => {})
  }
}

async function judgeRead(backend: SessionBackend, { header, events }: SampleLog): Promise<string | undefined> {
  const { value, error } = await attempt(() => backend.read(header.id))
  if (error !== undefined) return isCoded(error) ? undefined : `read: ${(error as Error).stack}`
  if (value === undefined) return 'read: gone without a word'
  const strange = value.events.find(event => JSON.stringify(event) !== JSON.stringify(events[event.seq]))
  if (strange !== undefined) return `read: event ${strange.seq} is another one`
  return value.events.length < events.length && value.damage.length === 0 ? 'read: events are missing' : undefined
}

async function judgeOpen(backend: SessionBackend, { header, events }: SampleLog): Promise<string | undefined> {
  const { value, error } = await attempt(() => openSession(backend, header.id))
  if (error !== undefined) return isCoded(error) ? undefined : `open: ${(error as Error).stack}`
  const { session, report, close } = value!
  const all = await attempt(async () => session.slice(0, Math.min(session.length, events.length)))
  if (all.error !== undefined && !isCoded(all.error)) return `open: ${(all.error as Error).stack}`
  const repaired = report.repaired[0]?.seq ?? session.length
  const strange = all.value?.find(
    event => event.seq < repaired && JSON.stringify(event) !== JSON.stringify(events[event.seq]),
  )
  await attempt(close)
  if (strange !== undefined) return `open: event ${strange.seq} is another one`
  return repaired < events.length && report.damage.length === 0 ? 'open: events are missing' : undefined
}

async function attempt<T>(work: () => Promise<T>): Promise<{ value?: T; error?: unknown }> {
  try {
    return { value: await work() }
  } catch (error) {
    return { error }
  }
}

function isCoded(error: unknown): boolean {
  const code = (error as { code?: unknown }).code
  return typeof code === 'string' && /^[A-Z_]+$/.test(code) && !code.startsWith('SQLITE')
}
