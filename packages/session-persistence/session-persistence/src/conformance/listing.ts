import { type Check, holds, refuses, same } from './check.js'
import { addTurn, addUser, conversation, listAll, newSession, readLog, stored } from './fixtures.js'

/** The listing, and what a removal leaves of a session: nothing but its epoch. */
export function checkListing(check: Check): void {
  check('an empty store lists nothing', async ({ backend }) => {
    same(await listAll(backend), [], 'listing')
  })

  check('a session is listed with its header, length and times', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation())
    const [summary] = await listAll(await reopen())
    const { id, header, length, updatedAt, bytes, error } = summary ?? {}
    same([id, header, length, error], ['kit', session.header, session.length, undefined], 'summary')
    for (const figure of [updatedAt, bytes]) {
      holds(figure === undefined || typeof figure === 'number', 'updatedAt and bytes: expected numbers, where given')
    }
  })

  check('every session is listed once', async ({ backend, reopen }) => {
    const ids = Array.from({ length: 60 }, (_, n) => `s${String(n).padStart(2, '0')}`)
    for (const id of ids) await stored(backend, newSession(id))
    same(
      (await listAll(await reopen())).map(({ id }) => id),
      ids,
      'ids',
    )
  })

  check('a listing may be left early', async ({ backend }) => {
    for (const id of ['a', 'b', 'c']) await stored(backend, newSession(id))
    let seen = 0
    for await (const _ of backend.list()) if (++seen === 1) break
    same(seen, 1, 'how many were seen')
    same((await listAll(backend)).length, 3, 'how many there are')
  })

  const titles: [what: string, texts: string[], title: string | undefined][] = [
    ['the first user text', ['Mend the build', 'And now?'], 'Mend the build'],
    ['cut to 80 characters', ['x'.repeat(200)], 'x'.repeat(80)],
    ['kept at exactly 80 characters', ['y'.repeat(80)], 'y'.repeat(80)],
    ['not cut inside of a pair', ['😀'.repeat(100)], '😀'.repeat(80)],
    ['none without a user text', [], undefined],
  ]
  for (const [what, texts, title] of titles) {
    check(`the title is ${what}`, async ({ backend, reopen }) => {
      const session = newSession()
      session.append('turn/start', { turn: 1 })
      for (const text of texts) addUser(session, text)
      await stored(backend, session)
      const [summary] = await listAll(await reopen())
      same(summary?.title, title, 'title')
    })
  }

  check('pictures and injected context are no title', async ({ backend }) => {
    const session = newSession()
    const context = { role: 'user' as const, content: [{ type: 'text' as const, text: 'Injected' }] }
    session.append('context/message', { message: context, origin: 'kit' }, { surfaceOp: 'append' })
    const picture = { type: 'image' as const, image: 'AAAA' }
    const content = [picture, { type: 'text' as const, text: 'What is this?' }]
    session.append('user/message', { message: { role: 'user', content } }, { surfaceOp: 'append' })
    await stored(backend, session)
    same((await listAll(backend))[0]?.title, 'What is this?', 'title')
  })

  check('the listing follows the log: open, grown, forked', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation('kit', 1))
    const from = session.length
    const lease = await backend.acquire('kit')
    addTurn(session, 2)
    await backend.append(lease, session.header, session.slice(from))
    const child = await backend.acquire('child')
    await backend.fork(child, newSession('child', { parent: { id: 'kit', length: 5 } }).header, 5)
    const found = (await listAll(await reopen())).map(({ id, length, title }) => [id, length, title])
    same(
      found,
      [
        ['child', 5, 'Question 1'],
        ['kit', session.length, 'Question 1'],
      ],
      'listing',
    )
  })

  check('a removed session is gone for every instance', async ({ backend, reopen }) => {
    await stored(backend, conversation())
    await stored(backend, conversation('other', 1))
    const reader = await reopen()
    await backend.remove('kit')
    same([await backend.read('kit'), await reader.read('kit')], [undefined, undefined], 'read')
    same(
      (await listAll(reader)).map(({ id }) => id),
      ['other'],
      'listing',
    )
  })

  check('removing what is not there is refused', async ({ backend }) => {
    await refuses(backend.remove('nobody'), 'SESSION_NOT_FOUND', 'remove')
    await stored(backend, conversation())
    await backend.remove('kit')
    await refuses(backend.remove('kit'), 'SESSION_NOT_FOUND', 'a second removal')
  })

  check('a locked session is not removed', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation())
    const lease = await backend.acquire('kit')
    await refuses(backend.remove('kit'), 'SESSION_LOCKED', 'remove by the owner')
    await refuses((await reopen()).remove('kit'), 'SESSION_LOCKED', 'remove by another')
    same((await readLog(backend)).events, session.events, 'events')
    await lease.release()
    await backend.remove('kit')
    same(await backend.read('kit'), undefined, 'read')
  })

  check('a removed id can be used anew, with nothing of the old session', async ({ backend, reopen }) => {
    await stored(backend, conversation('kit', 3))
    await backend.remove('kit')
    const session = newSession('kit', { cwd: '/anew' })
    addTurn(session, 1, 'Anew')
    await stored(backend, session)
    const other = await reopen()
    const log = await readLog(other)
    same([log.header, log.events], [session.header, session.events], 'the new session')
    same(
      (await listAll(other)).map(({ title }) => title),
      ['Anew'],
      'titles',
    )
  })
}
