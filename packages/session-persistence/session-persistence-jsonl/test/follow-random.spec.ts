import type { SessionEvent, SessionHeader } from '@palimpsest/session'
import type { Follower, Lease, SessionBackend } from '@palimpsest/session-persistence'
import { expect, test } from 'vitest'
import { type Disk, nodeDisk } from '../src/disk.js'
import { newDirectory, openStore } from './stores.js'

const ROUNDS = Number(process.env.PALIMPSEST_FOLLOW_ROUNDS ?? 60)
const SEED = Number(process.env.PALIMPSEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const STEPS = 120
const HEADER: SessionHeader = { version: 0, id: 's', createdAt: 1 }

type Done = (error: NodeJS.ErrnoException | null, ...more: never[]) => void

/** Disks whose slow calls come back when the schedule wants it: everybody may sleep there for any time. */
class Schedule {
  readonly sleepers: (() => void)[] = []
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to and without `below`. */
  pick(below: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * below)
  }

  wakeOne(): void {
    this.sleepers.splice(this.pick(this.sleepers.length), 1)[0]?.()
  }

  disk(): Disk {
    const sleep = (wake: () => void) => void this.sleepers.push(wake)
    return {
      ...nodeDisk,
      // Nothing here loses power, so nothing is synced; and the longer one sleeps, the more may happen.
      fdatasync: (_: number, done: Done) => sleep(() => done(null)),
      fsync: (_: number, done: Done) => sleep(() => done(null)),
      fdatasyncSync: () => {},
      fsyncSync: () => {},
      readdir: (path: string, done: never) => sleep(() => nodeDisk.readdir(path, done)),
    } as unknown as Disk
  }
}

/** Takes the lease, appends, lets go, as the schedule wants; what is refused ends its lease. */
class RandomWriter {
  isBusy = false
  #lease: Lease | undefined
  #length = 0

  constructor(
    readonly name: string,
    readonly backend: SessionBackend,
    /** Another look at the store, which does not sleep. */
    readonly eyes: SessionBackend,
  ) {}

  act(schedule: Schedule): void {
    if (this.isBusy) return
    this.isBusy = true
    const what = schedule.pick(8)
    const batch = 1 + schedule.pick(4)
    void this.#act(what, batch)
      .catch(error => {
        if (!['SESSION_FENCED', 'SESSION_LOCKED', 'SESSION_EXISTS', 'APPEND_CONFLICT'].includes(error.code)) throw error
        const lease = this.#lease
        this.#lease = undefined
        return lease?.release()
      })
      .finally(() => {
        this.isBusy = false
      })
  }

  async #act(what: number, batch: number): Promise<void> {
    if (this.#lease === undefined) {
      this.#lease = await this.backend.acquire('s', { takeover: what < 5 })
      this.#length = (await this.eyes.read('s', { from: 0, to: 0 }))?.length ?? 0
    } else if (what === 0) {
      const lease = this.#lease
      this.#lease = undefined
      await lease.release()
    } else {
      await this.backend.append(this.#lease, HEADER, this.#events(batch))
      this.#length += batch
    }
  }

  /** No two writers write the same. */
  #events(count: number): SessionEvent[] {
    const make = (i: number) => ({
      seq: this.#length + i,
      time: ++written,
      type: 'turn/start',
      data: { turn: written },
    })
    return Array.from({ length: count }, (_, i) => make(i) as SessionEvent)
  }
}

let written = 0

test(`followers give the log and nothing else, whoever sleeps where (seed ${SEED}, ${ROUNDS} rounds)`, async () => {
  const total = { events: 0, takeovers: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const schedule = new Schedule(SEED + round)
    const directory = newDirectory()
    const eyes = openStore(directory)
    const writers = ['a', 'b', 'c'].map(name => new RandomWriter(name, openStore(directory, schedule.disk()), eyes))
    const followers: { follower: Follower; from: number; given: SessionEvent[] }[] = []
    const look = async () => {
      for (const { follower, given } of followers) given.push(...(await follower.next()))
    }
    const settle = () => new Promise(resolve => setImmediate(resolve))
    for (let step = 0; step < STEPS; step++) {
      writers[schedule.pick(3)]!.act(schedule)
      if (schedule.pick(3) > 0) schedule.wakeOne()
      await settle()
      if (schedule.pick(2) === 0) await look()
      if (schedule.pick(20) === 0) {
        const from = schedule.pick(12)
        const follower = await eyes.follow!('s', from)
        if (follower !== undefined) followers.push({ follower, from, given: [] })
      }
    }
    while (writers.some(({ isBusy }) => isBusy)) {
      schedule.wakeOne()
      await settle()
    }
    total.takeovers += (await openStore(directory).acquire('s', { takeover: true })).epoch
    const { events = [] } = (await eyes.read('s')) ?? {}
    for (let looks = 0; looks < 3; looks++) await look()
    for (const { follower, from, given } of followers) {
      expect(given, `round ${round} of seed ${SEED}`).toEqual(events.slice(from))
      follower.close()
      total.events += given.length
    }
  }
  expect(total.events).toBeGreaterThan(ROUNDS * 10)
  expect(total.takeovers).toBeGreaterThan(ROUNDS * 5)
})
