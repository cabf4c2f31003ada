import { type Check, holds, refuses, same } from './check.js'
import { addTurn, conversation, listAll, readLog, stored, write } from './fixtures.js'

/** One writer at a time, and a writer that was overtaken is told so before it is acknowledged. */
export function checkLeases(check: Check): void {
  check('a lease names its session', async ({ backend }) => {
    const lease = await backend.acquire('kit')
    same([lease.id, Number.isSafeInteger(lease.epoch)], ['kit', true], 'id and a whole epoch')
  })

  check('a held session is locked for this instance and for another', async ({ backend, reopen }) => {
    await backend.acquire('kit')
    await refuses(backend.acquire('kit'), 'SESSION_LOCKED', 'acquire')
    await refuses((await reopen()).acquire('kit'), 'SESSION_LOCKED', 'acquire by another')
  })

  check('a released lease is free for another instance', async ({ backend, reopen }) => {
    const lease = await backend.acquire('kit')
    await lease.release()
    same((await (await reopen()).acquire('kit')).id, 'kit', 'the new lease')
  })

  check('releasing twice is safe and does not free the next owner', async ({ backend }) => {
    const lease = await backend.acquire('kit')
    await lease.release()
    await lease.release()
    await backend.acquire('kit')
    await lease.release()
    await refuses(backend.acquire('kit'), 'SESSION_LOCKED', 'acquire')
  })

  check('sessions are locked one by one', async ({ backend }) => {
    await backend.acquire('a')
    same((await backend.acquire('b')).id, 'b', 'the other lease')
  })

  check('of many that ask at once exactly one gets the lease', async ({ backend, reopen }) => {
    const other = await reopen()
    const asked = Array.from({ length: 8 }, (_, n) => (n % 2 ? backend : other).acquire('kit'))
    const results = await Promise.allSettled(asked)
    same(results.filter(({ status }) => status === 'fulfilled').length, 1, 'how many got it')
  })

  check('reading needs no lease', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation())
    await backend.acquire('kit')
    const other = await reopen()
    same((await readLog(other)).events, session.events, 'events')
    same(
      (await listAll(other)).map(({ id, length }) => [id, length]),
      [['kit', session.length]],
      'listing',
    )
  })

  check('a lease under which nothing was written leaves no session', async ({ backend, reopen }) => {
    const lease = await backend.acquire('kit')
    await lease.release()
    const other = await reopen()
    same([await other.read('kit'), await listAll(other)], [undefined, []], 'read and listing')
  })

  check('epochs rise over release, reopening and takeover', async ({ backend, reopen }) => {
    const epochs: number[] = []
    for (let round = 0; round < 3; round++) {
      const lease = await (round === 1 ? await reopen() : backend).acquire('kit')
      epochs.push(lease.epoch)
      await lease.release()
    }
    epochs.push((await backend.acquire('kit')).epoch)
    epochs.push((await backend.acquire('kit', { takeover: true })).epoch)
    holds(isRising(epochs), `expected rising epochs, found ${epochs}`)
  })

  check('epochs go on rising after a removal', async ({ backend, reopen }) => {
    const epochs: number[] = []
    for (let round = 0; round < 3; round++) {
      const lease = await backend.acquire('kit')
      epochs.push(lease.epoch)
      await write(backend, lease, conversation())
      await lease.release()
      await backend.remove('kit')
    }
    epochs.push((await (await reopen()).acquire('kit')).epoch)
    holds(isRising(epochs), `expected rising epochs, found ${epochs}`)
  })

  check('takeover of a free session is an ordinary acquire', async ({ backend }) => {
    const session = await stored(backend, conversation())
    const lease = await backend.acquire('kit', { takeover: true })
    const from = session.length
    addTurn(session, 3)
    await write(backend, lease, session, from)
    same((await readLog(backend)).events, session.events, 'events')
  })

  check('an overtaken writer is fenced, writes nothing, and the new one goes on', async ({ backend, reopen }) => {
    const session = conversation()
    const old = await backend.acquire('kit')
    await backend.append(old, session.header, session.slice(0, 5))
    const other = await reopen()
    const lease = await other.acquire('kit', { takeover: true })
    await refuses(backend.append(old, session.header, session.slice(5, 6)), 'SESSION_FENCED', 'append of the old owner')
    same((await readLog(other)).events, session.slice(0, 5), 'events after the refusal')
    await write(other, lease, session, 5, 3)
    await refuses(
      backend.append(old, session.header, session.slice(5, 6)),
      'SESSION_FENCED',
      'a second append of the old owner',
    )
    await refuses(backend.append(old, session.header, []), 'SESSION_FENCED', 'an empty append of the old owner')
    same((await readLog(backend)).events, session.events, 'events in the end')
  })

  check('a fenced lease frees nobody else’s', async ({ backend, reopen }) => {
    const old = await backend.acquire('kit')
    const other = await reopen()
    await other.acquire('kit', { takeover: true })
    await old.release()
    await refuses(backend.acquire('kit'), 'SESSION_LOCKED', 'acquire')
  })

  check('a released lease writes nothing', async ({ backend }) => {
    const session = await stored(backend, conversation())
    const lease = await backend.acquire('kit')
    await lease.release()
    const { length } = session
    addTurn(session, 3)
    await refuses(write(backend, lease, session, length), 'SESSION_FENCED', 'append')
    same((await readLog(backend)).length, length, 'length')
  })

  check('creation is fenced: of two creators the overtaken one has lost', async ({ backend, reopen }) => {
    const [first, second] = [conversation('kit', 1), conversation('kit', 2)]
    const old = await backend.acquire('kit')
    const other = await reopen()
    const lease = await other.acquire('kit', { takeover: true })
    await refuses(write(backend, old, first), 'SESSION_FENCED', 'creation by the old owner')
    same(await other.read('kit'), undefined, 'read after the refusal')
    await write(other, lease, second)
    await refuses(write(backend, old, first), ['SESSION_FENCED', 'SESSION_EXISTS'], 'creation by the old owner, late')
    same((await readLog(backend)).events, second.events, 'events')
  })

  check('takeover goes on from owner to owner', async ({ backend, reopen }) => {
    const session = conversation('kit', 3)
    const owners = [backend, await reopen(), backend, await reopen()]
    for (const [n, owner] of owners.entries()) {
      const lease = await owner.acquire('kit', { takeover: true })
      await owner.append(lease, session.header, session.slice(n * 8, n * 8 + 8))
    }
    same((await readLog(await reopen())).events, session.slice(0, 32), 'events')
  })

  check('closing a backend frees its leases and keeps what was acknowledged', async ({ backend, reopen }) => {
    const session = conversation()
    const lease = await backend.acquire('kit')
    await write(backend, lease, session)
    const other = await reopen()
    await backend.close()
    same((await other.acquire('kit')).id, 'kit', 'the new lease')
    same((await readLog(other)).events, session.events, 'events')
  })
}

// --- internal ---

function isRising(numbers: readonly number[]): boolean {
  return numbers.every((number, n) => n === 0 || number > numbers[n - 1]!)
}
