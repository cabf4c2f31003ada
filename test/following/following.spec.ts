import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionEvent } from '@palimpsest/session'
import { type SessionBackend, watchSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { buildStores, Writer } from './writer.js'

const ROUNDS = Number(process.env.PALIMPSEST_WATCH_ROUNDS ?? 3)

const STORES: [name: string, open: (directory: string) => SessionBackend][] = [
  ['jsonl', directory => createJsonlBackend({ directory })],
  ['sqlite', directory => createSqliteBackend({ file: join(directory, 'sessions.db') })],
]

const directories: string[] = []
const backends: SessionBackend[] = []
const watches: Watched[] = []

beforeAll(buildStores, 300_000)

afterEach(async () => {
  for (const watched of watches.splice(0)) await watched.stop()
  for (const backend of backends.splice(0)) await backend.close()
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
})

/** What a watch gives, as it comes. */
class Watched {
  readonly events: SessionEvent[] = []
  markers = 0
  readonly #ended: Promise<void>
  readonly #stop = new AbortController()
  #failure: unknown
  #waiting: (() => void)[] = []

  constructor(
    backend: SessionBackend,
    readonly from: number,
  ) {
    watches.push(this)
    this.#ended = this.#collect(backend).catch(error => {
      this.#failure = error
      for (const resolve of this.#waiting.splice(0)) resolve()
    })
  }

  /** Resolves once the event in front of `length` has come. */
  async reaches(length: number): Promise<void> {
    while (this.from + this.events.length < length) {
      if (this.#failure !== undefined) throw this.#failure
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
  }

  async #collect(backend: SessionBackend): Promise<void> {
    for await (const item of watchSession(backend, 's', { from: this.from, signal: this.#stop.signal })) {
      if (item.kind === 'live') this.markers += 1
      if (item.kind === 'event') this.events.push(item.event)
      for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  stop(): Promise<void> {
    this.#stop.abort()
    return this.#ended
  }
}

/** Takes the session from an owner that sleeps and then wakes up. One that sleeps over a lock of the database is woken first. */
async function overtake(store: string, directory: string, sleeper: Writer): Promise<Writer> {
  sleeper.child.kill('SIGSTOP')
  const taker = new Writer(store, directory, '--takeover')
  const isBusy = await taker.acknowledges(1).then(
    () => false,
    async error => (await taker.failed) === 'STORE_BUSY' || Promise.reject(error),
  )
  sleeper.child.kill('SIGCONT')
  if (isBusy) {
    await sleeper.acknowledges(1)
    return overtake(store, directory, sleeper)
  }
  expect(await sleeper.failed).toBe('SESSION_FENCED')
  await taker.acknowledges(1)
  return taker
}

describe.each(STORES)('over %s', (name, open) => {
  test(`watches give what the log holds in the end, over ${ROUNDS} rounds of kills and takeovers`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'palimpsest-watch-'))
    directories.push(directory)
    const backend = open(directory)
    backends.push(backend)
    let writer = new Writer(name, directory)
    await writer.acknowledges(1)
    new Watched(backend, 0)
    for (let round = 0; round < ROUNDS; round++) {
      await writer.acknowledges(1 + (round % 3))
      await writer.kill()
      const sleeper = new Writer(name, directory)
      await sleeper.acknowledges(2 + (round % 2))
      const { length } = (await backend.read('s', { from: 0, to: 0 }))!
      new Watched(backend, Math.max(0, length - 10 * round))
      writer = await overtake(name, directory, sleeper)
    }
    await writer.kill()
    const log = (await backend.read('s'))!
    for (const watched of watches) {
      await watched.reaches(log.length)
      await watched.stop()
      expect(watched.events).toEqual(log.events.slice(watched.from))
      expect(watched.markers).toBe(1)
    }
    expect(watches).toHaveLength(ROUNDS + 1)
  })
})
