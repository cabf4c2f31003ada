import { createMemoryBackend, createSession } from '@palimpsest/session-persistence'
import { expect, it } from 'vitest'
import { randomSession, seededRandom } from './random-log.js'

it('the bytes of a session are those of its header and its events, by their type', async () => {
  const backend = createMemoryBackend()
  const { events } = randomSession(seededRandom(1))
  await (await createSession(backend, { id: 'a', seed: events })).close()
  const parts = (await backend.bytesOf!('a'))!
  const [summary] = await all(backend.list())
  expect(parts.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(summary!.bytes)
  expect(parts.reduce((sum, { events: count = 0 }) => sum + count, 0)).toBe(summary!.length)
  expect(parts.find(({ what }) => what === 'turn/start')!.events).toBe(4)
  expect(await backend.bytesOf!('nobody')).toBeUndefined()
  await expect(backend.bytesOf!('../x')).rejects.toMatchObject({ code: 'SESSION_ID_INVALID' })
})

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}
