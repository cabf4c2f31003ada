import { closeInterruptedTurn, type SessionEvent } from '@palimpsest/session'
import {
  type Lease,
  openSession,
  PersistenceError,
  type SessionBackend,
  thisOwner,
} from '@palimpsest/session-persistence'
import type { Disk } from '../src/disk.js'
import { createJsonlBackend } from '../src/index.js'
import { lineOf, type SampleLog } from './logs.js'
import { type Promised, type Promises, STORE } from './promises.js'
import { EMPTY_IMAGE, SimulatedDisk } from './simulated-disk.js'

/** What callers knew once so many changes had been told to the disk. */
export interface Mark {
  readonly at: number
  readonly promises: Promises
}

/**
 * Uses a store as its callers do, and writes down what it promised them: before each call what they hand
 * over, after it what was acknowledged.
 */
export class Witness {
  readonly disk = new SimulatedDisk(EMPTY_IMAGE)
  readonly marks: Mark[] = []
  backend: SessionBackend
  readonly #fs: Disk
  #promises: Promises = new Map()

  /** `faults` stands between the store and the disk. */
  constructor(faults: (disk: SimulatedDisk) => Disk = disk => disk.calls) {
    this.#fs = faults(this.disk)
    this.backend = createJsonlBackend({ directory: STORE, fs: this.#fs })
  }

  get promises(): Promises {
    return this.#promises
  }

  of(id: string): Promised {
    return this.#promises.get(id)!
  }

  async acquire(id: string, { takeover = false } = {}): Promise<Lease> {
    const lease = await this.backend.acquire(id, { takeover })
    const known = this.#promises.get(id)
    if (known === undefined) this.#know(id, NOTHING)
    // Whatever the lease comes with is durable: the next owner builds on it.
    const length = await lengthOf(this.backend, id)
    this.#know(id, { epoch: lease.epoch, acknowledged: Math.max(length, known?.acknowledged ?? -1) })
    return lease
  }

  /** Appends the events of `log` up to `to`, from where the store is. */
  async append(lease: Lease, log: SampleLog, to: number): Promise<void> {
    const length = await lengthOf(this.backend, lease.id)
    const { events } = this.of(lease.id)
    const handed = to > events.length ? log.events.slice(0, to) : events
    this.#know(lease.id, { header: log.header, events: handed, removal: 'none' })
    await this.backend.append(lease, log.header, log.events.slice(Math.max(0, length), to))
    this.#know(lease.id, { acknowledged: to })
  }

  async fork(lease: Lease, child: SampleLog, length: number): Promise<void> {
    this.#know(lease.id, { header: child.header, events: child.events.slice(0, length), base: length })
    await this.backend.fork(lease, child.header, length)
    this.#know(lease.id, { acknowledged: length })
  }

  /** Opens for work as callers do: an open turn is closed in the log before they get the session. */
  async open(
    id: string,
    work: (append: (events: number) => Promise<void>) => Promise<void> = async () => {},
  ): Promise<void> {
    const { length } = (await this.backend.read(id))!
    const stored = this.of(id).events.slice(0, length)
    this.#know(id, { events: [...stored, ...closeInterruptedTurn(stored)] })
    const opened = await openSession(this.backend, id, {
      now: () => 1_800_000_000_000,
      maxDelayMs: Number.POSITIVE_INFINITY,
    })
    const { session } = opened
    this.#know(id, { acknowledged: session.length, epoch: this.of(id).epoch + 1 })
    try {
      await work(async count => {
        for (let i = 0; i < count; i++) session.append('turn/start', { turn: 100 + i })
        this.#know(id, { events: session.slice() })
        await opened.flush()
        this.#know(id, { acknowledged: session.length })
      })
    } catch (error) {
      await expectPoison(opened.flush(), error)
      await expectPoison(opened.close(), error)
      throw error
    }
    await opened.close()
  }

  async remove(id: string): Promise<void> {
    this.#know(id, { removal: 'asked', kept: [] })
    await this.backend.remove(id)
    this.#know(id, { ...NOTHING, epoch: this.of(id).epoch + 1, removal: 'done' })
  }

  /** Bytes that a dead owner has left at the end of a file, on the disk. */
  leave(path: string, text: string): void {
    const fd = this.#write(path, text)
    this.disk.fdatasyncSync(fd)
    this.disk.closeSync(fd)
    const directory = this.disk.openSync(STORE, 0)
    this.disk.fsyncSync(directory)
    this.disk.closeSync(directory)
  }

  /** Records that an owner has written when he is killed before he could sync them. */
  leaveUnsynced(log: SampleLog, from: number, to: number): void {
    const { id } = log.header
    this.#know(id, { events: log.events.slice(0, to) })
    const lines = log.events.slice(from, to).map(lineOf)
    this.disk.closeSync(this.#write(`${STORE}/${id}.jsonl`, lines.join('')))
  }

  /** From here on these bytes may be moved, never lost. */
  keep(id: string, text: string): void {
    if (!this.#promises.has(id)) this.#know(id, NOTHING)
    this.#know(id, { kept: [...this.of(id).kept, Buffer.from(text)] })
  }

  /** The process dies, and with it its leases; whoever comes next is on another boot. */
  die(): void {
    this.disk.closeAll()
    this.disk.rewrite(bury)
    this.backend = createJsonlBackend({ directory: STORE, fs: this.#fs })
  }

  // --- internal ---

  #write(path: string, text: string): number {
    const fd = this.disk.openSync(path, O_RDWR_CREAT)
    const bytes = Buffer.from(text)
    this.disk.writeSync(fd, bytes, 0, bytes.length, this.disk.contentOf(path)!.length)
    return fd
  }

  #know(id: string, news: Partial<Promised>): void {
    this.#promises = new Map(this.#promises).set(id, { ...(this.#promises.get(id) ?? NOTHING), ...news })
    this.marks.push({ at: this.disk.changes.length, promises: this.#promises })
  }
}

/** Makes this process's locks those of one that died with another boot. */
export function bury(bytes: Buffer): void {
  for (let at = bytes.indexOf(BOOT); at !== -1; at = bytes.indexOf(BOOT, at)) bytes.write(OTHER_BOOT, at)
}

// --- internal ---

const NOTHING: Promised = {
  header: { version: 0, id: '', createdAt: 0 },
  events: [] as SessionEvent[],
  base: 0,
  acknowledged: -1,
  epoch: 0,
  removal: 'none',
  kept: [],
}

const O_RDWR_CREAT = 0o102
const BOOT = `"boot":"${thisOwner().boot}"`
const OTHER_BOOT = BOOT.replace(/[0-9a-f](?=[^"]*"$)/g, digit => (digit === '0' ? '1' : '0'))

/** -1 where there is no session yet, or only what never became one. */
async function lengthOf(backend: SessionBackend, id: string): Promise<number> {
  try {
    return (await backend.read(id))?.length ?? -1
  } catch (error) {
    if (error instanceof PersistenceError && error.code === 'HEADER_DAMAGED') return -1
    throw error
  }
}

async function expectPoison(later: Promise<void>, cause: unknown): Promise<void> {
  const error = await later.then(
    () => undefined,
    error => error,
  )
  if (!(cause instanceof PersistenceError) || error !== cause)
    throw new Error(`expected the cause again, found ${error}`)
}
