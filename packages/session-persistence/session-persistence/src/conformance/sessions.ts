import type { Session, SessionEvent, SessionHeader } from '@palimpsest/session'
import { createSession } from '../create-session.js'
import { openSession } from '../open-session.js'
import type { SessionBackend } from '../port.js'
import { type Check, failureOf, holds, refuses, same } from './check.js'
import {
  addTurn,
  addUser,
  conversation,
  editedConversation,
  listAll,
  newSession,
  readLog,
  START,
  stored,
} from './fixtures.js'

/** Sessions over the backend: what was acknowledged is there, and a reopened session equals the live one. */
export function checkSessions(check: Check): void {
  check('createSession stores header and seed before it resolves', async ({ backend, reopen }) => {
    const { session, report, close } = await createSession(backend, { id: 'kit', seed: editedConversation().events })
    const log = await readLog(await reopen())
    same([log.header, log.events], [session.header, session.events], 'what is stored')
    same(report, { damage: [], repaired: [], readOnly: false }, 'report')
    await close()
  })

  check('createSession refuses an id that is taken, open or closed, and harms nobody', async ({ backend, reopen }) => {
    const first = await createSession(backend, { id: 'kit' })
    const other = await reopen()
    await refuses(createSession(other, { id: 'kit' }), 'SESSION_EXISTS', 'while it is open')
    addTurn(first.session, 1)
    await first.close()
    await refuses(
      createSession(other, { id: 'kit', seed: conversation().events }),
      'SESSION_EXISTS',
      'once it is closed',
    )
    same((await readLog(other)).events, first.session.events, 'events')
    await (await openSession(other, 'kit')).close()
  })

  check('of many that create one id exactly one does', async ({ backend, reopen }) => {
    const other = await reopen()
    const asked = Array.from({ length: 6 }, (_, n) =>
      createSession(n % 2 ? backend : other, { id: 'kit', header: { n } }),
    )
    const made = (await Promise.allSettled(asked)).filter(result => result.status === 'fulfilled')
    same(made.length, 1, 'how many were made')
    same((await readLog(other)).header, made[0]?.value.session.header, 'header')
    await made[0]?.value.close()
  })

  check('openSession of what is not there says so and leaves nothing', async ({ backend, reopen }) => {
    await refuses(openSession(backend, 'nobody'), 'SESSION_NOT_FOUND', 'openSession')
    same(await listAll(await reopen()), [], 'listing')
    await (await createSession(backend, { id: 'nobody' })).close()
  })

  check('a session of no events opens', async ({ backend }) => {
    await stored(backend, newSession())
    const { session, report, close } = await openSession(backend, 'kit')
    same([session.length, report.repaired, session.deriveMessages()], [0, [], []], 'the session')
    await close()
  })

  check('flush acknowledges only what another instance can read', async ({ backend, reopen }) => {
    const { session, flush, close } = await createSession(backend, { id: 'kit' })
    const reader = await reopen()
    for (let turn = 1; turn <= 5; turn++) {
      addTurn(session, turn)
      await flush()
      same((await readLog(reader)).events, session.events, `events after turn ${turn}`)
    }
    await close()
  })

  check('flushes at once are all acknowledged, each with what came before it', async ({ backend, reopen }) => {
    const { session, flush, close } = await createSession(backend, { id: 'kit', maxBatch: 4 })
    const reader = await reopen()
    const flushed = Array.from({ length: 30 }, async (_, n) => {
      const { seq } = addUser(session, `Message ${n}`)
      await flush()
      holds((await readLog(reader)).length > seq, `expected event ${seq} to be durable`)
    })
    await Promise.all(flushed)
    same((await readLog(reader)).events, session.events, 'events')
    await close()
  })

  check('close writes what is pending and frees the session', async ({ backend, reopen }) => {
    const { session, close } = await createSession(backend, { id: 'kit', maxDelayMs: Number.POSITIVE_INFINITY })
    addTurn(session, 1)
    await Promise.all([close(), close()])
    const other = await reopen()
    same((await readLog(other)).events, session.events, 'events')
    await (await openSession(other, 'kit')).close()
  })

  check('a closed session can be read and not appended to', async ({ backend }) => {
    const live = await stored(backend, conversation())
    const { session, close } = await openSession(backend, 'kit')
    await close()
    same(session.deriveMessages(), live.deriveMessages(), 'messages')
    same([session.at(4), session.slice(7, 9)], [live.at(4), live.slice(7, 9)], 'at and slice')
    same(session.events, live.events, 'events')
    await refuses(
      attempt(() => addUser(session, 'too late')),
      'SESSION_READ_ONLY',
      'append',
    )
  })

  for (const [what, build] of [
    ['a plain', conversation],
    ['an edited', editedConversation],
  ] as const) {
    check(`reload equals live: ${what} conversation, at every length`, async ({ backend, reopen }) => {
      const live = await createSession(backend, { id: 'kit', seed: build().events })
      addTurn(live.session, 9, 'A live one')
      await live.close()
      const { session, close } = await openSession(await reopen(), 'kit')
      sameSession(session, live.session)
      await close()
    })
  }

  check('reload equals live, over and over, with a turn in each life', async ({ backend, reopen }) => {
    let live: Session = await stored(backend, newSession())
    for (let turn = 1; turn <= 5; turn++) {
      const { session, close } = await openSession(turn % 2 ? backend : await reopen(), 'kit')
      sameSession(session, live)
      addTurn(session, turn)
      await close()
      live = session
    }
    same((await readLog(backend)).events, live.events, 'events')
  })

  check('an edit can be made and undone across lives', async ({ backend, reopen }) => {
    const before = await stored(backend, conversation())
    const first = await openSession(backend, 'kit')
    const [start = 0, end = 0] = first.session.surface.seqs()
    const content = [{ type: 'text' as const, text: 'In short.' }]
    const intent = { surfaceOp: { op: 'replace' as const, start, end }, sourceEventSeqs: [start, end] }
    const { seq: node } = first.session.append('user/message', { message: { role: 'user', content } }, intent)
    await first.close()
    const second = await openSession(await reopen(), 'kit')
    sameSession(second.session, first.session)
    same(second.session.surface.shadowed(node), [start, end], 'what the replacement shadows')
    second.session.append('surface/restore', {}, { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [node] })
    same(second.session.deriveMessages(), before.deriveMessages(), 'messages after the undoing')
    await second.close()
    const third = await openSession(await reopen(), 'kit')
    sameSession(third.session, second.session)
    await third.close()
  })

  check('at, slice and events of a reopened session agree, whatever is asked first', async ({ backend }) => {
    const live = await stored(backend, editedConversation())
    for (const stride of [1, 7, live.length - 1]) {
      const { session, close } = await openSession(backend, 'kit')
      for (let n = 0, seq = 3; n < live.length; n++, seq = (seq + stride) % live.length) {
        const event = session.at(seq)
        same(event, live.at(seq), `at(${seq})`)
        holds(session.at(seq) === event, `at(${seq}): expected the same object each time`)
        same(session.slice(seq - 3, seq + 2), live.slice(seq - 3, seq + 2), `slice around ${seq}`)
      }
      holds(
        session.events.every((event, seq) => event === session.at(seq)),
        'events and at: expected the same objects',
      )
      same([session.at(live.length), session.at(-1)], [undefined, undefined], 'at outside of the log')
      await close()
    }
  })

  check('what a reopened session gives out is frozen all the way down', async ({ backend }) => {
    await stored(backend, editedConversation())
    const { session, close } = await openSession(backend, 'kit')
    const loose = [...session.events, ...session.deriveMessages(), session.header].filter(value => !isFrozen(value))
    same(loose, [], 'what is not frozen')
    await close()
  })

  check('an open session is locked, and a takeover fences its owner for good', async ({ backend, reopen }) => {
    const old = await createSession(backend, { id: 'kit' })
    addTurn(old.session, 1)
    await old.flush()
    const acknowledged = old.session.length
    const other = await reopen()
    await refuses(openSession(other, 'kit'), 'SESSION_LOCKED', 'openSession')
    const young = await openSession(other, 'kit', { takeover: true })
    addUser(old.session, 'Into the void')
    const cause = await refuses(old.flush(), 'SESSION_FENCED', 'the old owner’s flush')
    holds(
      (await failureOf(old.flush(), 'a second flush')) === cause,
      'expected the second flush to reject with the same cause',
    )
    addUser(old.session, 'The session goes on in memory')
    holds((await failureOf(old.close(), 'close')) === cause, 'expected close to reject with the same cause')
    addTurn(young.session, 2)
    await young.flush()
    const log = await readLog(backend)
    same(log.events, young.session.events, 'events')
    same(
      young.session.slice(0, acknowledged),
      old.session.slice(0, acknowledged),
      'what the old owner was acknowledged',
    )
    await young.close()
  })

  check('twenty sessions at once do not mix', async ({ backend, reopen }) => {
    const ids = Array.from({ length: 20 }, (_, n) => `s${String(n).padStart(2, '0')}`)
    const opened = await Promise.all(ids.map(id => createSession(backend, { id, maxBatch: 5 })))
    for (let turn = 1; turn <= 3; turn++) {
      for (const { session } of opened) addTurn(session, turn, `${session.id} asks`)
      await Promise.all(opened.filter((_, n) => n % 3 === turn % 3).map(({ flush }) => flush()))
    }
    await Promise.all(opened.map(({ close }) => close()))
    const other = await reopen()
    for (const { session } of opened) same((await readLog(other, session.id)).events, session.events, session.id)
    same(
      (await listAll(other)).map(({ title }) => title),
      ids.map(id => `${id} asks`),
      'titles',
    )
  })

  check('an ignorable event of an unknown type opens for work', async ({ backend, reopen }) => {
    await storeUnknown(backend, { ignorable: true })
    const { session, report, close } = await openSession(await reopen(), 'kit')
    same([report.readOnly, session.at(2)?.type, session.length], [false, 'future/law', 4], 'the session')
    addTurn(session, 2)
    await close()
    same((await readLog(backend)).length, session.length, 'length')
  })

  check('a required event of an unknown type opens read-only up to it', async ({ backend, reopen }) => {
    const events = await storeUnknown(backend)
    const other = await reopen()
    const { session, report, flush, close } = await openSession(other, 'kit')
    same(session.events, events.slice(0, 2), 'the session')
    same([report.readOnly, report.repaired], [true, []], 'report')
    await refuses(
      attempt(() => addUser(session, 'no')),
      'SESSION_READ_ONLY',
      'append',
    )
    same((await backend.acquire('kit')).id, 'kit', 'the lease is free')
    await Promise.all([flush(), close()])
    same((await readLog(other)).events, events, 'what is stored')
  })

  check('acceptUnknown opens such a session for work', async ({ backend, reopen }) => {
    const events = await storeUnknown(backend)
    const { session, report, close } = await openSession(backend, 'kit', { acceptUnknown: ['future/law'] })
    same([report.readOnly, session.events], [false, events], 'the session')
    addTurn(session, 2)
    await close()
    same((await readLog(await reopen())).events, session.events, 'events')
  })
}

// --- internal ---

/** The same to the byte, in every way in which a session can be asked. */
function sameSession(actual: Session, expected: Session): void {
  same(actual.header, expected.header, 'header')
  same(actual.length, expected.length, 'length')
  same(actual.deriveMessages(), expected.deriveMessages(), 'deriveMessages()')
  same(actual.surface.seqs(), expected.surface.seqs(), 'surface.seqs()')
  for (let length = 0; length <= expected.length; length++) {
    same(actual.requestAt(length), expected.requestAt(length), `requestAt(${length})`)
    same(actual.messagesAt(length), expected.messagesAt(length), `messagesAt(${length})`)
    same(actual.surfaceAt(length), expected.surfaceAt(length), `surfaceAt(${length})`)
  }
  same(actual.events, expected.events, 'events')
}

/** Two known events, one of a type that no build knows yet, and one more. */
async function storeUnknown(backend: SessionBackend, marks: object = {}): Promise<SessionEvent[]> {
  const known = conversation('kit', 1)
  const header: SessionHeader = known.header
  const law = { seq: 2, time: START + 2, type: 'future/law', data: { text: 'Obey.' }, ...marks }
  const end = { seq: 3, time: START + 3, type: 'turn/end', data: { turn: 1, reason: { kind: 'completed' } } }
  const events = [...known.slice(0, 2), Object.freeze(law), Object.freeze(end)] as SessionEvent[]
  const lease = await backend.acquire('kit')
  await backend.append(lease, header, events)
  await lease.release()
  return events
}

async function attempt(body: () => unknown): Promise<void> {
  body()
}

function isFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return Object.isFrozen(value) && Object.values(value).every(isFrozen)
}
