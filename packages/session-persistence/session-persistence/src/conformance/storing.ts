import type { SessionHeader } from '@palimpsest/session'
import { type Check, holds, refuses, same } from './check.js'
import {
  addTurn,
  addUser,
  conversation,
  editedConversation,
  newSession,
  readLog,
  START,
  stored,
  write,
} from './fixtures.js'

/** Append and read: the same bytes, in every range and batch, or a refusal that wrote nothing. */
export function checkStoring(check: Check): void {
  check('a session that was never stored reads as undefined', async ({ backend }) => {
    same(await backend.read('nobody'), undefined, 'read')
    same(await backend.read('nobody', { from: 0, to: 0 }), undefined, 'read of no events')
  })

  check('an empty first batch makes a session of no events', async ({ backend, reopen }) => {
    const session = await stored(backend, newSession())
    const log = await readLog(await reopen())
    same([log.header, log.events, log.length, log.damage], [session.header, [], 0, []], 'the stored session')
  })

  check('the header comes back whole, members that nobody knows too', async ({ backend, reopen }) => {
    const extra = JSON.parse(
      '{"cwd":"/a b","x-tags":["a",{"__proto__":1}],"__proto__":{"deep":[null]},"constructor":"c"}',
    )
    const spawnedBy = { id: 'boss', seq: 7 }
    const importedFrom = { format: 'elsewhere', id: 'e/1' }
    const session = await stored(backend, newSession('kit', { ...extra, spawnedBy, importedFrom }))
    same((await readLog(await reopen())).header, session.header, 'header')
  })

  check('the header of the first batch stays', async ({ backend }) => {
    const session = newSession()
    const lease = await backend.acquire('kit')
    await backend.append(lease, session.header, [])
    addUser(session, 'hello')
    const other: SessionHeader = { ...session.header, createdAt: 1 }
    await backend.append(lease, other, session.slice())
    same((await readLog(backend)).header, session.header, 'header')
  })

  check('events come back byte for byte, to this instance and to another', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation())
    same((await readLog(backend)).events, session.events, 'events')
    same((await readLog(await reopen())).events, session.events, 'events after reopening')
  })

  check('replacements, restores, sources and marks come back byte for byte', async ({ backend, reopen }) => {
    const session = await stored(backend, editedConversation())
    same((await readLog(await reopen())).events, session.events, 'events')
  })

  check('an ignorable event of a type from elsewhere is kept', async ({ backend, reopen }) => {
    const session = newSession()
    const event = { seq: 0, time: START, type: 'elsewhere/note', data: { a: [1] }, ignorable: true }
    const lease = await backend.acquire('kit')
    await backend.append(lease, session.header, [Object.freeze(event) as never])
    await lease.release()
    same((await readLog(await reopen())).events, [event], 'events')
  })

  check('times of any size and fraction are kept', async ({ backend, reopen }) => {
    const times = [0, 1, -5, 1.5, 1_700_000_000_000.25, Number.MAX_SAFE_INTEGER, 8.64e15]
    let at = 0
    const clock = newSession()
    const events = times.map((time, seq) => ({ seq, time, type: 'turn/start', data: { turn: ++at } }) as never)
    const lease = await backend.acquire('kit')
    await backend.append(lease, clock.header, events)
    same((await readLog(await reopen())).events, events, 'events')
  })

  for (const size of [1, 2, 7]) {
    check(`batches of ${size} make the same log as one batch`, async ({ backend, reopen }) => {
      const session = conversation()
      const lease = await backend.acquire('kit')
      await write(backend, lease, session, 0, size)
      await lease.release()
      same((await readLog(await reopen())).events, session.events, 'events')
    })
  }

  check('an empty batch changes nothing', async ({ backend }) => {
    const session = conversation()
    const lease = await backend.acquire('kit')
    await write(backend, lease, session)
    await backend.append(lease, session.header, [])
    const log = await readLog(backend)
    same([log.events, log.length], [session.events, session.length], 'the log')
  })

  check('10,000 events of one batch keep their order', async ({ backend, reopen }) => {
    const session = newSession()
    while (session.length < 10_000) addTurn(session, Math.floor(session.length / 13) + 1)
    await stored(backend, session)
    same((await readLog(await reopen())).events, session.events, 'events')
  })

  check('appending goes on in a new lease of another instance', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation('kit', 1))
    const from = session.length
    addTurn(session, 2)
    const other = await reopen()
    const lease = await other.acquire('kit')
    await write(other, lease, session, from, 3)
    await lease.release()
    same((await readLog(backend)).events, session.events, 'events')
  })

  check('what was acknowledged can be read at once, beside the writer', async ({ backend, reopen }) => {
    const session = conversation('kit', 1)
    const reader = await reopen()
    const lease = await backend.acquire('kit')
    for (let at = 0; at < session.length; at++) {
      await backend.append(lease, session.header, session.slice(at, at + 1))
      const log = await readLog(reader)
      same([log.length, log.events], [at + 1, session.slice(0, at + 1)], `after event ${at}`)
      same(log.damage, [], `damage after event ${at}`)
    }
  })

  check('every half-open range gives exactly its events', async ({ backend }) => {
    const session = await stored(backend, conversation('kit', 1))
    for (let from = 0; from <= session.length; from++) {
      for (let to = from; to <= session.length; to++) {
        const log = await readLog(backend, 'kit', { from, to })
        same(log.events, session.slice(from, to), `[${from}, ${to})`)
        same([log.length, log.header], [session.length, session.header], `length and header of [${from}, ${to})`)
      }
    }
  })

  check('a range may leave out either end', async ({ backend }) => {
    const session = await stored(backend, conversation())
    same((await readLog(backend, 'kit', { from: 5 })).events, session.slice(5), 'from 5')
    same((await readLog(backend, 'kit', { to: 5 })).events, session.slice(0, 5), 'to 5')
    same((await readLog(backend, 'kit', {})).events, session.events, 'neither')
  })

  check('a range beyond the end is cut there', async ({ backend }) => {
    const session = await stored(backend, conversation())
    const { length } = session
    same(
      (await readLog(backend, 'kit', { from: length - 2, to: length + 50 })).events,
      session.slice(-2 + length),
      'over the end',
    )
    const behind = await readLog(backend, 'kit', { from: length, to: length + 9 })
    same([behind.events, behind.length], [[], length], 'behind the end')
  })

  check('what read returns is its caller’s: changing the array changes nothing stored', async ({ backend }) => {
    const session = await stored(backend, conversation())
    const log = await readLog(backend)
    log.events.length = 1
    log.events.push(log.events[0]!)
    same((await readLog(backend)).events, session.events, 'events')
  })

  check('sessions whose ids begin alike are kept apart', async ({ backend, reopen }) => {
    const ids = ['a', 'aa', 'a-1', 'a_1', 'a-1-1']
    const sessions = ids.map((id, n) => conversation(id, n + 1))
    const leases = await Promise.all(ids.map(id => backend.acquire(id)))
    await Promise.all(sessions.map((session, n) => write(backend, leases[n]!, session, 0, 4)))
    const other = await reopen()
    for (const session of sessions) same((await readLog(other, session.id)).events, session.events, session.id)
  })

  const conflicts: [what: string, seqs: number[]][] = [
    ['beyond the stored length', [6]],
    ['below the stored length', [4]],
    ['from the beginning again', [0, 1, 2]],
    ['with a gap inside', [5, 7]],
    ['with a seq twice', [5, 5]],
  ]
  for (const [what, seqs] of conflicts) {
    check(
      `a batch ${what} is a conflict, writes nothing, and the right one still goes through`,
      async ({ backend }) => {
        const session = conversation()
        const lease = await backend.acquire('kit')
        await backend.append(lease, session.header, session.slice(0, 5))
        const batch = seqs.map(seq => session.at(seq)!)
        await refuses(backend.append(lease, session.header, batch), 'APPEND_CONFLICT', 'append')
        same((await readLog(backend)).events, session.slice(0, 5), 'events after the refusal')
        await write(backend, lease, session, 5)
        same((await readLog(backend)).events, session.events, 'events in the end')
      },
    )
  }

  check('a first batch that does not begin at 0 is a conflict and makes no session', async ({ backend }) => {
    const session = conversation()
    const lease = await backend.acquire('kit')
    await refuses(backend.append(lease, session.header, session.slice(1)), 'APPEND_CONFLICT', 'append')
    same(await backend.read('kit'), undefined, 'read')
  })

  for (const [version, word] of [
    [1, 'newer'],
    [-1, 'older'],
  ] as const) {
    check(`a ${word} format version is not written, and the refusal says "${word}"`, async ({ backend }) => {
      const session = newSession()
      const lease = await backend.acquire('kit')
      const append = backend.append(lease, { ...session.header, version }, [])
      const error = await refuses(append, 'FORMAT_VERSION_UNSUPPORTED', 'append')
      holds(error.message.includes(word), `expected the word "${word}", found "${error.message}"`)
      same(await backend.read('kit'), undefined, 'read')
    })
  }
}
