import type { Session, SessionEvent } from '@palimpsest/session'
import { openSession } from '../open-session.js'
import type { SessionBackend } from '../port.js'
import { type WatchItem, type WatchOptions, watchSession } from '../watch-session.js'
import { type Check, holds, refuses, same } from './check.js'
import {
  addAssistant,
  addTurn,
  addUser,
  conversation,
  editedConversation,
  newSession,
  readLog,
  stored,
  write,
} from './fixtures.js'

/** A watch gives the history and then what is written, every event once, whoever writes it. */
export function checkFollowing(check: Check): void {
  check('a watch gives the history, the marker, and then what another instance writes', async store => {
    const session = conversation()
    const writer = await store.reopen()
    const lease = await writer.acquire('kit')
    await writer.append(lease, session.header, session.slice(0, 10))
    await watching(store.backend, {}, async watch => {
      same(await watch.history(), session.slice(0, 10), 'the history')
      for (let at = 10; at < session.length; at += 3) {
        await writer.append(lease, session.header, session.slice(at, at + 3))
        same(await watch.take(Math.min(3, session.length - at)), session.slice(at, at + 3), `what came at ${at}`)
      }
    })
  })

  for (const from of [1, 9, 13, 14, 20]) {
    check(`a watch from seq ${from} of 14 events gives what comes from there on`, async ({ backend }) => {
      const session = await stored(backend, conversation('kit', 1))
      same(session.length, 14, 'the events of the fixture')
      await watching(backend, { from }, async watch => {
        same(await watch.history(session.length), session.slice(from), 'the history')
        await grow(backend, session, 2)
        same(await watch.take(session.length - Math.max(from, 14)), session.slice(Math.max(from, 14)), 'what came')
      })
    })
  }

  check('a watch of a session without events begins with the marker', async ({ backend }) => {
    const session = await stored(backend, newSession())
    await watching(backend, {}, async watch => {
      same(await watch.history(), [], 'the history')
      await grow(backend, session, 1)
      same(await watch.take(session.length), session.events, 'what came')
    })
  })

  check('a watch of what was never stored is refused', async ({ backend }) => {
    await watching(backend, {}, watch => refuses(watch.next(), 'SESSION_NOT_FOUND', 'the watch'))
    const lease = await backend.acquire('kit')
    await watching(backend, {}, watch => refuses(watch.next(), 'SESSION_NOT_FOUND', 'the watch of a lease'))
    await lease.release()
    const items = watchSession(backend, '../kit')
    await refuses(items.next(), 'SESSION_ID_INVALID', 'the watch of an id that no store can keep')
  })

  check('a watch gives what is written while its history is taken once, in its place', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation('kit', 3))
    const length = session.length
    await watching(await reopen(), {}, async watch => {
      same(await watch.take(7), session.slice(0, 7), 'the beginning')
      await grow(backend, session, 4)
      same(await watch.history(), session.slice(7, length), 'the rest of the history')
      same(await watch.take(session.length - length), session.slice(length), 'what came meanwhile')
    })
  })

  check('a watch of 6,000 events gives them in order', async ({ backend }) => {
    const session = newSession()
    for (let turn = 1; session.length < 6000; turn++) addTurn(session, turn)
    await stored(backend, session)
    await watching(backend, { from: 100 }, async watch => {
      same(await watch.history(session.length), session.slice(100), 'the history')
    })
  })

  check('a watch gives replacements, restores, sources and marks byte for byte', async ({ backend, reopen }) => {
    const session = await stored(backend, editedConversation())
    await watching(await reopen(), {}, async watch => {
      same(await watch.history(), session.events, 'the history')
      const lease = await backend.acquire('kit')
      const note = { seq: session.length, time: 1.5, type: 'elsewhere/note', data: { a: ['\u2028\ud800'] } }
      await backend.append(lease, session.header, [Object.freeze({ ...note, ignorable: true }) as never])
      same(await watch.take(1), [{ ...note, ignorable: true }], 'an event from elsewhere')
    })
  })

  check('a watch goes on over a takeover and gives nothing of the owner that was overtaken', async store => {
    const session = conversation('kit', 3)
    const [first, second] = [store.backend, await store.reopen()]
    const old = await first.acquire('kit')
    await first.append(old, session.header, session.slice(0, 5))
    await watching(await store.reopen(), {}, async watch => {
      same(await watch.history(), session.slice(0, 5), 'the history')
      await first.append(old, session.header, session.slice(5, 8))
      const lease = await second.acquire('kit', { takeover: true })
      const stray = newSession('kit', {}, session.slice(0, 8))
      addTurn(stray, 9, 'Of the owner that was overtaken')
      await refuses(write(first, old, stray, 8), 'SESSION_FENCED', 'append of the old owner')
      same(await watch.take(3), session.slice(5, 8), 'what came before the takeover')
      await write(second, lease, session, 8, 4)
      same(await watch.take(session.length - 8), session.slice(8), 'what came after it')
    })
  })

  check('a watch goes on from owner to owner', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation('kit', 1))
    const others = [backend, await reopen(), await reopen()]
    await watching(backend, {}, async watch => {
      same(await watch.history(), session.events, 'the history')
      for (let turn = 2; turn <= 6; turn++) {
        const from = session.length
        await grow(others[turn % 3]!, session, turn)
        same(await watch.take(session.length - from), session.slice(from), `what owner ${turn} wrote`)
      }
    })
  })

  check('a watch of a session in mid-turn sees how recovery closes it', async ({ backend, reopen }) => {
    const session = newSession()
    session.append('turn/start', { turn: 1 })
    addUser(session, 'Do it')
    session.append('step/start', { turn: 1, step: 1 })
    addAssistant(session, 1, 1, ['a', 'b'])
    await stored(backend, session)
    await watching(backend, {}, async watch => {
      same(await watch.history(), session.events, 'the history')
      const opened = await openSession(await reopen(), 'kit')
      const { repaired } = opened.report
      same(
        repaired.map(({ type }) => type),
        ['tool/result', 'tool/result', 'step/end', 'turn/end'],
        'the repair',
      )
      same(await watch.take(4), repaired, 'what came')
      opened.session.append('turn/start', { turn: 2 })
      await opened.flush()
      same(await watch.take(1), opened.session.slice(opened.session.length - 1), 'the next turn')
      await opened.close()
    })
  })

  check('a watch does not see a batch that was refused', async ({ backend }) => {
    const session = conversation()
    const lease = await backend.acquire('kit')
    await backend.append(lease, session.header, session.slice(0, 6))
    await watching(backend, {}, async watch => {
      same(await watch.history(), session.slice(0, 6), 'the history')
      const gap = [session.at(6)!, session.at(8)!]
      await refuses(backend.append(lease, session.header, gap), 'APPEND_CONFLICT', 'a batch with a gap')
      for (const at of [6, 9]) {
        await backend.append(lease, session.header, session.slice(at, at + 3))
        same(await watch.take(3), session.slice(at, at + 3), 'what came')
      }
    })
  })

  check('a watch holds no lease', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation('kit', 1))
    await watching(await reopen(), {}, async watch => {
      await watch.history()
      const lease = await backend.acquire('kit')
      await lease.release()
      same((await readLog(backend)).length, session.length, 'length')
    })
  })

  check('a watch gives the same as another one', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation('kit', 1))
    const length = session.length
    await watching(backend, {}, async one => {
      same(await one.history(), session.events, 'the history of one')
      await watching(await reopen(), {}, async other => {
        same(await other.history(), session.events, 'the history of the other')
        await grow(backend, session, 2)
        for (const each of [one, other]) same(await each.take(14), session.slice(length), 'what came')
      })
    })
  })

  check('a watch of a fork begins with the shared prefix and does not see the parent go on', async store => {
    const { backend } = store
    const parent = await stored(backend, conversation())
    const child = await forked(backend, parent, 'child', 9)
    await watching(await store.reopen(), { id: 'child' }, async watch => {
      same(await watch.history(), parent.slice(0, 9), 'the history')
      await grow(backend, parent, 3)
      await grow(backend, child, 7)
      same(await watch.take(child.length - 9), child.slice(9), 'what came')
    })
  })

  check('a watch of a fork goes on when its parent is removed', async ({ backend }) => {
    const parent = await stored(backend, conversation())
    const child = await forked(backend, parent, 'child', 20)
    await watching(backend, { id: 'child' }, async watch => {
      same(await watch.take(4), parent.slice(0, 4), 'the beginning')
      await backend.remove('kit')
      same(await watch.history(), parent.slice(4, 20), 'the rest of the history')
      await grow(backend, child, 7)
      same(await watch.take(child.length - 20), child.slice(20), 'what came')
    })
  })

  check('a watch ends when its session is removed', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation())
    await watching(await reopen(), {}, async watch => {
      same(await watch.history(), session.events, 'the history')
      await backend.remove('kit')
      await refuses(watch.next(), 'SESSION_NOT_FOUND', 'the watch')
    })
  })

  check('a watch does not go over to another session of its id', async ({ backend }) => {
    const session = await stored(backend, conversation('kit', 1))
    await watching(backend, {}, async watch => {
      same(await watch.history(), session.events, 'the history')
      await backend.remove('kit')
      const usurper = newSession('kit', { createdAt: 1 })
      for (let turn = 1; turn < 4; turn++) addTurn(usurper, turn, 'Somebody else')
      await stored(backend, usurper)
      await refuses(watch.next(), 'SESSION_NOT_FOUND', 'the watch')
    })
  })

  check('a watch is ended by an abort, without an error, wherever it is', async ({ backend }) => {
    await stored(backend, conversation())
    const ended = { done: true, value: undefined }
    await watching(backend, {}, async watch => {
      await watch.history()
      const waiting = watch.items.next()
      watch.stop.abort()
      same(await within(waiting, 'the end'), ended, 'the end of a watch that waits')
    })
    await watching(backend, {}, async watch => {
      await watch.take(3)
      watch.stop.abort()
      same(await watch.items.next(), ended, 'the end of a watch in its history')
    })
    await watching(backend, {}, async watch => {
      watch.stop.abort()
      same(await watch.items.next(), ended, 'the end of a watch that had not begun')
    })
  })
}

// --- internal ---

const POLL_MS = 5
/** Bounds a check that fails, and nothing else. */
const PATIENCE_MS = 30_000

class Watch {
  readonly stop = new AbortController()
  readonly items: AsyncGenerator<WatchItem, void, void>

  constructor(backend: SessionBackend, { id = 'kit', ...options }: WatchOptions & { id?: string }) {
    this.items = watchSession(backend, id, { pollMs: POLL_MS, ...options, signal: this.stop.signal })
  }

  async next(): Promise<WatchItem | undefined> {
    return (await within(this.items.next(), 'an item of the watch')).value ?? undefined
  }

  /** The next `count` items, which are events. */
  async take(count: number): Promise<SessionEvent[]> {
    const events: SessionEvent[] = []
    while (events.length < count) {
      const item = await this.next()
      holds(item?.kind === 'event', `the watch: expected an event, found ${item?.kind ?? 'its end'}`)
      events.push(item.event)
    }
    return events
  }

  /** What comes before the marker, which names `length`, or else the seq behind the last event. */
  async history(length?: number): Promise<SessionEvent[]> {
    const events: SessionEvent[] = []
    for (;;) {
      const item = await this.next()
      if (item?.kind === 'event') events.push(item.event)
      else {
        same(item, { kind: 'live', length: length ?? (events.at(-1)?.seq ?? -1) + 1 }, 'the marker')
        return events
      }
    }
  }
}

async function watching(
  backend: SessionBackend,
  options: WatchOptions & { id?: string },
  body: (watch: Watch) => Promise<unknown>,
): Promise<void> {
  const watch = new Watch(backend, options)
  try {
    await body(watch)
  } finally {
    watch.stop.abort()
    await watch.items.return().catch(() => {})
  }
}

/** Another turn, written under a lease of its own. */
async function grow(backend: SessionBackend, session: Session, turn: number): Promise<void> {
  const from = session.length
  addTurn(session, turn)
  const lease = await backend.acquire(session.id)
  await write(backend, lease, session, from, 5)
  await lease.release()
}

async function forked(backend: SessionBackend, parent: Session, id: string, length: number): Promise<Session> {
  const child = newSession(id, { parent: { id: parent.id, length } }, parent.slice(0, length))
  const lease = await backend.acquire(id)
  await backend.fork(lease, child.header, length)
  await lease.release()
  return child
}

async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`expected ${what} within ${PATIENCE_MS} ms, found none`)), PATIENCE_MS)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
