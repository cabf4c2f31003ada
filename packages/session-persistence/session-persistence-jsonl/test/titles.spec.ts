import { createSession, forkSession, type OpenSession } from '@palimpsest/session-persistence'
import { expect, test } from 'vitest'
import { newDirectory, openStore } from './stores.js'

test('a listing gives a fork the first text of what it shares, and of nothing that it does not share', async () => {
  const backend = openStore(newDirectory())
  const say = ({ session }: OpenSession, text: string) =>
    session.append(
      'user/message',
      { message: { role: 'user', content: [{ type: 'text', text }] } },
      { surfaceOp: 'append' },
    )
  const root = await createSession(backend, { id: 'root' })
  root.session.append('compaction/start', { start: 0, end: 0, seqs: [] })
  await root.flush()
  const early = await forkSession(backend, 'root', { id: 'early' })
  say(root, 'of the root')
  await root.flush()
  const late = await forkSession(backend, 'root', { id: 'late' })
  const below = await forkSession(backend, 'early', { id: 'below' })
  for (const fork of [early, late]) say(fork, `of ${fork.session.id}`)
  for (const open of [early, late, below]) await open.flush()
  const last = await forkSession(backend, 'early', { id: 'last' })
  say(last, 'of the last')
  for (const open of [root, early, late, below, last]) await open.close()
  const titles: Record<string, string | undefined> = {}
  for await (const { id, title } of backend.list()) titles[id] = title
  const expected = { root: 'of the root', early: 'of early', late: 'of the root', last: 'of early', below: undefined }
  expect(titles).toEqual(expected)
})

test('a message that no session can hold gives no title and no error', async () => {
  const directory = newDirectory()
  const records = [null, {}, { message: null }, { message: { content: 7 } }]
  for (const [i, data] of records.entries()) {
    const events = [{ seq: 0, time: 1, type: 'user/message', data, surfaceOp: 'append' }]
    const backend = openStore(directory)
    const lease = await backend.acquire(`s${i}`)
    await backend.append(lease, { version: 0, id: `s${i}`, createdAt: 1 }, events as never)
    await lease.release()
  }
  const listed: unknown[] = []
  for await (const { id, length, title, error } of openStore(directory).list()) listed.push([id, length, title, error])
  expect(listed.sort()).toEqual(records.map((_, i) => [`s${i}`, 1, undefined, undefined]))
})
