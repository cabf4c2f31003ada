import { Session, type SessionEvent } from '@palimpsest/session'
import { createSession, forkSession, type LazyLog, type SessionBackend } from '@palimpsest/session-persistence'
import { describe, expect, it } from 'vitest'
import {
  randomSession,
  seededRandom,
  userText,
} from '../../../packages/session-persistence/session-persistence/test/random-log.js'
import { KINDS, newStore } from './both-stores.js'

/** What the commands read with, beside whoever holds the session. */
describe.each(KINDS)('a look without a lease (%s)', kind => {
  it('sees what read sees, of sessions and of forks of them, while they are open', async () => {
    const store = newStore(kind)
    const [writer, reader] = [store.open(), store.open()]
    for (let seed = 1; seed <= 12; seed++) {
      const random = seededRandom(seed)
      const id = `s${seed}`
      const open = await createSession(writer, { id, seed: randomSession(random).events })
      const length = random(open.session.length + 1)
      const fork = await forkSession(writer, id, { id: `${id}-fork`, length })
      fork.session.append('user/message', { message: userText('on') }, { surfaceOp: 'append' })
      await fork.flush()
      for (const each of [id, `${id}-fork`]) await expectSameLook(reader, each, `seed ${seed}`)
      await fork.close()
      await open.close()
    }
    await writer.close()
    await reader.close()
  })

  it('finds nothing where there is nothing, and takes no unsafe id', async () => {
    const backend = newStore(kind).open()
    expect(await backend.look!('nobody')).toBeUndefined()
    expect(await backend.scan!('nobody', () => {})).toBeUndefined()
    expect(await backend.bytesOf!('nobody')).toBeUndefined()
    for (const ask of [backend.look!('../x'), backend.scan!('../x', () => {}), backend.bytesOf!('../x')]) {
      await expect(ask).rejects.toMatchObject({ code: 'SESSION_ID_INVALID' })
    }
    await backend.close()
  })

  it('loads nothing wrong once the session is gone', async () => {
    const backend = newStore(kind).open()
    await (await createSession(backend, { id: 'a', seed: randomSession(seededRandom(1)).events })).close()
    const log = (await backend.look!('a'))!
    await backend.remove('a')
    expect(() => log.load(0, 1)).toThrow()
    await backend.close()
  })

  it('lets through what the receiver of a scan throws, and stops there', async () => {
    const backend = newStore(kind).open()
    await (await createSession(backend, { id: 'a', seed: randomSession(seededRandom(1)).events })).close()
    const own = new Error('enough')
    const scan = backend.scan!('a', () => {
      throw own
    })
    await expect(scan).rejects.toBe(own)
    await backend.close()
  })

  it('tells the last turn only if it is asked for it', async () => {
    const backend = newStore(kind).open()
    const open = await createSession(backend, { id: 'a' })
    const list = async (turns: boolean) => {
      for await (const summary of backend.list({ turns })) return summary.lastTurn
      return undefined
    }
    expect(await list(true)).toEqual({ turn: 0, isOpen: false })
    open.session.append('turn/start', { turn: 1 })
    await open.flush()
    expect(await list(true)).toEqual({ turn: 1, isOpen: true })
    open.session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
    await open.flush()
    expect(await list(true)).toEqual({ turn: 1, isOpen: false })
    expect(await list(false)).toBeUndefined()
    await open.close()
    await backend.close()
  })
})

// --- internal ---

async function expectSameLook(backend: SessionBackend, id: string, told: string): Promise<void> {
  const { header, events, length, damage } = (await backend.read(id))!
  const scanned: SessionEvent[] = []
  const rest = await backend.scan!(id, piece => void scanned.push(...piece))
  expect(rest, told).toEqual({ header, length, damage })
  expect(scanned, told).toEqual(events)
  const session = resumed((await backend.look!(id))!)
  const whole = Session.create({ header, seed: events })
  expect(session.deriveMessages(), told).toEqual(whole.deriveMessages())
  expect(session.requestAt(length), told).toEqual(whole.requestAt(length))
  expect(session.slice(length - 3), told).toEqual(whole.slice(length - 3))
  expect(session.events, told).toEqual(events)
}

function resumed({ header, length, landmarks, load }: LazyLog): Session {
  return Session.resume({ header, length, landmarks, load: (from, to) => load(from, to) })
}
