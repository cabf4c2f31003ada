import type { Session, SessionEvent, SessionHeader } from '@palimpsest/session'
import { forkSession } from '../fork-session.js'
import type { SessionBackend } from '../port.js'
import { type Check, failureOf, holds, refuses, same } from './check.js'
import { addTurn, conversation, listAll, newSession, readLog, stored, write } from './fixtures.js'

/** A fork shares a prefix, and neither side can tell that it does. */
export function checkForks(check: Check): void {
  for (const length of [0, 1, 9, 28]) {
    check(`a fork of ${length} events is that prefix of its parent`, async ({ backend, reopen }) => {
      const parent = await stored(backend, conversation())
      const header = await fork(backend, 'kit', 'child', length)
      const log = await readLog(await reopen(), 'child')
      same([log.events, log.length, log.damage], [parent.slice(0, length), length, []], 'the child')
      const { id, parent: ref } = log.header
      same([id, ref?.id, ref?.length], ['child', 'kit', length], 'the child’s header')
      same({ ...log.header, parent: undefined }, { ...header, parent: undefined }, 'the rest of its header')
    })
  }

  check('child and parent go on apart', async ({ backend, reopen }) => {
    const parent = await stored(backend, conversation())
    const shared = parent.length
    await fork(backend, 'kit', 'child', shared)
    const child = continued(parent.slice(), 'child', 7)
    await writeOn(backend, child, shared)
    addTurn(parent, 3, 'The parent’s own')
    await writeOn(backend, parent, shared)
    const other = await reopen()
    same((await readLog(other, 'child')).events, child.events, 'the child')
    same((await readLog(other)).events, parent.events, 'the parent')
  })

  check('every range of a fork gives its events, across the boundary too', async ({ backend }) => {
    const parent = await stored(backend, conversation('kit', 1))
    await fork(backend, 'kit', 'child', 6)
    const child = continued(parent.slice(0, 6), 'child', 2)
    await writeOn(backend, child, 6)
    for (let from = 0; from <= 16; from += 2) {
      for (let to = from; to <= 16; to++) {
        const log = await readLog(backend, 'child', { from, to })
        same([log.events, log.length], [child.slice(from, to), child.length], `[${from}, ${to})`)
      }
    }
  })

  check('a fork of a fork, on either side of the first boundary', async ({ backend, reopen }) => {
    const parent = await stored(backend, conversation())
    await fork(backend, 'kit', 'child', 10)
    const child = continued(parent.slice(0, 10), 'child', 2)
    await writeOn(backend, child, 10)
    for (const length of [4, 10, 17, child.length]) {
      await fork(backend, 'child', `grandchild-${length}`, length)
      same((await readLog(await reopen(), `grandchild-${length}`)).events, child.slice(0, length), `fork at ${length}`)
    }
  })

  check('removing parents breaks no fork', async ({ backend, reopen }) => {
    const parent = await stored(backend, conversation())
    await fork(backend, 'kit', 'child', 20)
    await fork(backend, 'child', 'grandchild', 12)
    await backend.remove('kit')
    same((await readLog(await reopen(), 'child')).events, parent.slice(0, 20), 'the child')
    await backend.remove('child')
    same((await readLog(await reopen(), 'grandchild')).events, parent.slice(0, 12), 'the grandchild')
    same(
      (await listAll(backend)).map(({ id }) => id),
      ['grandchild'],
      'listing',
    )
  })

  check('another session under the parent’s id does not reach the fork', async ({ backend, reopen }) => {
    const parent = await stored(backend, conversation())
    await fork(backend, 'kit', 'child', 9)
    await backend.remove('kit')
    const usurper = newSession('kit')
    addTurn(usurper, 1, 'Somebody else')
    await stored(backend, usurper)
    same((await readLog(await reopen(), 'child')).events, parent.slice(0, 9), 'the child')
  })

  check('a parent that somebody is writing can be forked', async ({ backend, reopen }) => {
    const parent = conversation()
    const lease = await backend.acquire('kit')
    await backend.append(lease, parent.header, parent.slice(0, 15))
    const other = await reopen()
    await fork(other, 'kit', 'child', 15)
    await write(backend, lease, parent, 15)
    same((await readLog(other, 'child')).events, parent.slice(0, 15), 'the child')
    same((await readLog(other)).events, parent.events, 'the parent')
  })

  check('a fork of what is not there makes no session', async ({ backend }) => {
    await refuses(fork(backend, 'nobody', 'child', 0), 'SESSION_NOT_FOUND', 'fork')
    same(await backend.read('child'), undefined, 'read')
  })

  check('a fork longer than its parent makes no session', async ({ backend }) => {
    const { length } = await stored(backend, conversation())
    await failureOf(fork(backend, 'kit', 'child', length + 1), 'fork')
    same(await backend.read('child'), undefined, 'read')
  })

  check('a fork does not go over a stored session', async ({ backend }) => {
    await stored(backend, conversation())
    const taken = await stored(backend, conversation('child', 1))
    await refuses(fork(backend, 'kit', 'child', 3), 'SESSION_EXISTS', 'fork')
    same((await readLog(backend, 'child')).events, taken.events, 'the stored session')
  })

  check('an overtaken owner does not fork', async ({ backend, reopen }) => {
    await stored(backend, conversation())
    const lease = await backend.acquire('child')
    const other = await reopen()
    await other.acquire('child', { takeover: true })
    await refuses(backend.fork(lease, childHeader('kit', 'child', 3), 3), 'SESSION_FENCED', 'fork')
    same(await other.read('child'), undefined, 'read')
  })

  check(
    'forkSession takes all that is durable, opens it for work, and tells where it came from',
    async ({ backend, reopen }) => {
      const parent = await stored(backend, conversation())
      const { session, report, flush, close } = await forkSession(backend, 'kit', { id: 'child' })
      same(session.events, parent.events, 'the child')
      same([session.header.parent?.id, session.header.parent?.length], ['kit', parent.length], 'its parent')
      same(report, { damage: [], repaired: [], readOnly: false }, 'report')
      addTurn(session, 3)
      await flush()
      const log = await readLog(await reopen(), 'child')
      same([log.events, log.header], [session.events, session.header], 'what is stored')
      await close()
      same((await readLog(backend)).events, parent.events, 'the parent')
    },
  )

  check('forkSession closes the turn that was open at the boundary, in the child only', async ({ backend, reopen }) => {
    const parent = await stored(backend, conversation())
    // The first turn's call has begun at 7 and has no result yet.
    const { session, report, close } = await forkSession(backend, 'kit', { id: 'child', length: 7 })
    same(session.slice(0, 7), parent.slice(0, 7), 'the shared part')
    same(
      report.repaired.map(({ type }) => type),
      ['tool/result', 'step/end', 'turn/end'],
      'what was repaired',
    )
    const other = await reopen()
    same((await readLog(other, 'child')).events, session.events, 'what is stored of the child')
    same((await readLog(other)).events, parent.events, 'what is stored of the parent')
    await close()
  })

  check('forkSession finds an id of its own', async ({ backend }) => {
    await stored(backend, conversation())
    const [a, b] = [await forkSession(backend, 'kit'), await forkSession(backend, 'kit')]
    same(new Set(['kit', a.session.id, b.session.id]).size, 3, 'how many different ids')
    await Promise.all([a.close(), b.close()])
  })

  check('forkSession refuses what cannot be, and leaves nothing', async ({ backend }) => {
    const { length } = await stored(backend, conversation())
    await refuses(forkSession(backend, 'nobody', { id: 'child' }), 'SESSION_NOT_FOUND', 'a parent that is not there')
    await refuses(forkSession(backend, 'kit', { id: 'kit' }), 'SESSION_EXISTS', 'an id that is taken')
    for (const wrong of [length + 1, -1, 1.5, Number.NaN]) {
      const error = await failureOf(forkSession(backend, 'kit', { id: 'child', length: wrong }), `length ${wrong}`)
      holds(error instanceof RangeError, `length ${wrong}: expected a RangeError, found ${error}`)
    }
    same(
      (await listAll(backend)).map(({ id }) => id),
      ['kit'],
      'listing',
    )
    same((await backend.acquire('child')).id, 'child', 'the child’s id is free')
  })
}

// --- internal ---

async function fork(backend: SessionBackend, parent: string, child: string, length: number): Promise<SessionHeader> {
  const header = childHeader(parent, child, length)
  const lease = await backend.acquire(child)
  try {
    await backend.fork(lease, header, length)
  } finally {
    await lease.release()
  }
  return header
}

function childHeader(parent: string, child: string, length: number): SessionHeader {
  return newSession(child, { parent: { id: parent, length } }).header
}

/** What the child's log should be: the shared events and a turn of its own. */
function continued(shared: readonly SessionEvent[], id: string, turn: number): Session {
  const session = newSession(id, {}, shared)
  addTurn(session, turn, 'The child’s own')
  return session
}

async function writeOn(backend: SessionBackend, session: Session, from: number): Promise<void> {
  const lease = await backend.acquire(session.id)
  await write(backend, lease, session, from, 5)
  await lease.release()
}
