import { expect, test } from 'vitest'
import { newFile, openStore, randomFrom, randomLog, store, withDatabase } from './stores.js'

test('a follower sees each event once, in order, whoever writes', async () => {
  const file = newFile()
  const { header, events } = randomLog('log', randomFrom(9), 5)
  const [one, two] = [openStore(file), openStore(file)]
  const lease = await one.acquire('log')
  await one.append(lease, header, events.slice(0, 4))
  const follower = (await two.follow!('log', 2))!
  const seen = await follower.next()
  expect(await follower.next()).toEqual([])
  const waiting = follower.changed(new AbortController().signal)
  await one.append(lease, header, events.slice(4, 30))
  await waiting
  seen.push(...(await follower.next()))
  const other = await two.acquire('log', { takeover: true })
  await two.append(other, header, events.slice(30))
  await follower.changed(new AbortController().signal)
  seen.push(...(await follower.next()))
  expect(JSON.stringify(seen)).toBe(JSON.stringify(events.slice(2)))
  follower.close()
  expect(await follower.next()).toEqual([])
})

test('a follower that waits stops when it is told to', async () => {
  const backend = openStore(newFile())
  await store(backend, randomLog('log', randomFrom(9), 1))
  const follower = (await backend.follow!('log', 0))!
  await follower.next()
  const abort = new AbortController()
  const waiting = follower.changed(abort.signal)
  abort.abort()
  await waiting
})

test('a follower stops at a hole and at a removal, with a code', async () => {
  const file = newFile()
  const backend = openStore(file)
  const { header, events } = randomLog('log', randomFrom(9), 2)
  await store(backend, { header, events })
  expect(await backend.follow!('nobody', 0)).toBeUndefined()
  await expect(backend.follow!('..', 0)).rejects.toMatchObject({ code: 'SESSION_ID_INVALID' })
  const follower = (await backend.follow!('log', 0))!
  withDatabase(file, db => db.exec('DELETE FROM events WHERE seq = 2'))
  expect(JSON.stringify(await follower.next())).toBe(JSON.stringify(events.slice(0, 2)))
  for (let n = 0; n < 2; n++) await expect(follower.next()).rejects.toMatchObject({ code: 'HISTORY_UNREADABLE' })
  await backend.remove('log')
  await expect(follower.next()).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  await store(backend, { header, events })
  await expect(follower.next()).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
})
