import { Session, type SessionEvent } from '@palimpsest/session'
import type { Lease, SessionBackend } from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { newPlace, stopped, useWorkers, Worker } from './crew.js'
import { foreignIn, forgottenIn } from './ledger.js'
import { type Acknowledged, STOP_OPERATIONS, type StopOperation } from './said.js'
import { seeded } from './seeded.js'
import { openStore, STORES } from './stores.js'
import { appendTurn, digestOf, STAMP } from './turns.js'

/** How an operation may end that was overtaken. What takes its own lease may find it taken when it comes to that. */
const REFUSED: Record<StopOperation, readonly string[]> = {
  append: ['SESSION_FENCED'],
  pack: ['SESSION_FENCED'],
  create: ['SESSION_FENCED', 'SESSION_LOCKED', 'SESSION_EXISTS'],
  takeover: ['SESSION_FENCED', 'SESSION_LOCKED'],
  fork: ['SESSION_FENCED', 'SESSION_LOCKED', 'SESSION_EXISTS'],
  remove: ['SESSION_FENCED', 'SESSION_LOCKED'],
}
/** Longer than a machine under load needs to let a transaction pass that nobody sleeps in. */
const TAKER_BUSY_MS = 100

useWorkers()

describe.each(STORES)('%s: an owner that is stopped before each of its calls, overtaken, and woken', store => {
  test.each(STOP_OPERATIONS)('in %s', { timeout: 300_000 }, async operation => {
    const place = newPlace()
    const backend = openStore(store, place, { busyMs: TAKER_BUSY_MS })
    const sleeper = new Worker({ role: 'stop', store, place, operation })
    const ends: Record<string, number> = {}
    for (;;) {
      const said = await sleeper.next()
      if (said?.finished !== undefined) break
      expect(said).toMatchObject({ stopping: expect.any(String) })
      await stopped(sleeper.pid)
      const end = await overtake(sleeper, backend, said!.stopping!, operation)
      ends[end] = (ends[end] ?? 0) + 1
    }
    console.log(`${store}, ${operation}: ${JSON.stringify(ends)}`)
    expect(Object.keys(ends).some(end => REFUSED[operation].includes(end))).toBe(true)
    await backend.close()
  })
})

// --- internal ---

/** Gives how the sleeper's operation ended. */
async function overtake(
  sleeper: Worker,
  backend: SessionBackend,
  id: string,
  operation: StopOperation,
): Promise<string> {
  // Who holds the session and sleeps is alive.
  if (operation === 'append' || operation === 'pack') {
    await expect(backend.acquire(id)).rejects.toMatchObject({
      code: expect.stringMatching(/^(SESSION_LOCKED|STORE_BUSY)$/),
    })
  }
  let taker = await Taker.take(backend, id)
  const wasBusy = taker === undefined
  await taker?.write()
  sleeper.child.kill('SIGCONT')
  const { code, acknowledged } = await sleeper.until('outcome')
  taker ??= (await Taker.take(backend, id))!
  // A sleeper that had not taken its own lease yet takes over from the taker, who then is the one overtaken.
  const isSleepers = (acknowledged?.epoch ?? 0) > taker.lease.epoch
  if (isSleepers) await expect(taker.write()).rejects.toMatchObject({ code: 'SESSION_FENCED' })
  else await taker.write()
  sleeper.go()
  const lastWord = await sleeper.until('outcome')
  if (acknowledged !== undefined) expect(lastWord).toEqual(isSleepers ? {} : { code: 'SESSION_FENCED' })
  if (code !== undefined) expect(REFUSED[operation]).toContain(code)
  if (!isSleepers) await taker.write()

  const log = (await backend.read(id))!
  expect(log, 'the log of the taker').toBeDefined()
  const said = [...(acknowledged === undefined ? [] : [acknowledged]), ...taker.acknowledged]
  expect([...forgottenIn(log, said), ...foreignIn(log)]).toEqual([])
  expect(log.damage).toEqual([])
  await taker.lease.release()
  sleeper.go()
  return `${code ?? (isSleepers ? 'took over later' : 'done')}${wasBusy ? ' while the taker waited' : ''}`
}

/** The next owner, who takes what he finds and writes behind it, or makes the session. */
class Taker {
  readonly acknowledged: Acknowledged[] = []
  readonly #backend: SessionBackend
  readonly #session: Session
  readonly lease: Lease
  #durable: number

  private constructor(backend: SessionBackend, lease: Lease, session: Session) {
    this.#backend = backend
    this.lease = lease
    this.#session = session
    this.#durable = session.length
    this.#note(0)
  }

  /** `undefined` while the other one sleeps in the middle of a transaction. */
  static async take(backend: SessionBackend, id: string): Promise<Taker | undefined> {
    try {
      const lease = await backend.acquire(id, { takeover: true })
      const log = await backend.read(id)
      const length = () => session?.length ?? 0
      const now = () => lease.epoch * STAMP + length()
      let session: Session | undefined
      session = Session.create(log === undefined ? { id, now } : { header: log.header, seed: log.events, now })
      return new Taker(backend, lease, session)
    } catch (error) {
      if ((error as { code?: string }).code === 'STORE_BUSY') return undefined
      throw error
    }
  }

  async write(): Promise<void> {
    const from = this.#durable
    for (const _ of appendTurn(this.#session, seeded(from), 2));
    await this.#backend.append(this.lease, this.#session.header, this.#session.slice(from))
    this.#durable = this.#session.length
    this.#note(from)
  }

  #note(from: number): void {
    const events: readonly SessionEvent[] = this.#session.slice(from)
    const { id, epoch } = this.lease
    this.acknowledged.push({ id, from, to: this.#session.length, digest: digestOf(events), epoch })
  }
}
