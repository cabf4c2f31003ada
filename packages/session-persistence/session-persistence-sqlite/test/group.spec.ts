import { expect, test } from 'vitest'
import { Child } from './processes.js'
import { newFile, openStore, randomFrom, randomLog } from './stores.js'

/** So many that they take more than one transaction. */
const LOGS = 150

const logs = Array.from({ length: LOGS }, (_, i) => randomLog(`log-${i}`, randomFrom(i + 1), 1))

/** Leases of all logs; some are overtaken. */
async function acquireAll(file: string, isOvertaken: (i: number) => boolean) {
  const backend = openStore(file)
  const leases = await Promise.all(logs.map(({ header }) => backend.acquire(header.id)))
  const other = openStore(file)
  for (let i = 0; i < LOGS; i++) if (isOvertaken(i)) await other.acquire(logs[i]!.header.id, { takeover: true })
  return { backend, leases }
}

function appendAll({ backend, leases }: Awaited<ReturnType<typeof acquireAll>>) {
  return Promise.allSettled(logs.map(({ header, events }, i) => backend.append(leases[i]!, header, events)))
}

async function lengthsIn(file: string) {
  const reader = openStore(file)
  return Promise.all(logs.map(async ({ header }) => (await reader.read(header.id))?.length))
}

test('of writes that share a transaction one that is refused takes nothing from the others', async () => {
  const file = newFile()
  const isOvertaken = (i: number) => i % 40 === 7
  const results = await appendAll(await acquireAll(file, isOvertaken))
  for (const [i, result] of results.entries()) {
    if (isOvertaken(i)) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'SESSION_FENCED' } })
    else expect(result.status).toBe('fulfilled')
  }
  expect(await lengthsIn(file)).toEqual(logs.map(({ events }, i) => (isOvertaken(i) ? undefined : events.length)))
})

test('writes that met a lock together are refused one by one once it is gone', async () => {
  const file = newFile()
  const isOvertaken = (i: number) => i === 3 || i === LOGS - 1
  const acquired = await acquireAll(file, isOvertaken)
  const holder = new Child('holder.mjs', file)
  expect(await holder.next()).toBe('held')
  const appended = appendAll(acquired)
  // Behind them in the line, and only then on its own.
  const late = acquired.backend.acquire('late')
  holder.process.stdin!.write('\n')
  const results = await appended
  expect(results.map(({ status }) => status === 'rejected')).toEqual(logs.map((_, i) => isOvertaken(i)))
  expect((await late).epoch).toBe(1)
  expect(await lengthsIn(file)).toEqual(logs.map(({ events }, i) => (isOvertaken(i) ? undefined : events.length)))
})

test('what one lease asks for at once is done in that order, and nothing behind its release', async () => {
  const backend = openStore(newFile())
  const { header, events } = logs[0]!
  const lease = await backend.acquire(header.id)
  const half = events.length >> 1
  const [first, second, released, late] = await Promise.allSettled([
    backend.append(lease, header, events.slice(0, half)),
    backend.append(lease, header, events.slice(half)),
    lease.release(),
    backend.append(lease, header, events),
  ])
  expect([first, second, released].map(({ status }) => status)).toEqual(Array(3).fill('fulfilled'))
  expect(late).toMatchObject({ status: 'rejected', reason: { code: 'SESSION_FENCED' } })
  expect((await backend.read(header.id))!.events).toEqual(events)
  expect((await backend.acquire(header.id)).epoch).toBe(lease.epoch + 1)
})
