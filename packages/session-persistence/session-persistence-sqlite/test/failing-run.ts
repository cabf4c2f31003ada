import { type Lease, openSession, type SessionBackend } from '@palimpsest/session-persistence'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import { randomFrom, randomLog, type SampleLog } from './random-logs.js'
import { isCoded } from './truth.js'

/** How an operation that meets the fault itself may reject. SQLite takes a page that cannot be read for a bad one. */
const HONEST = ['WRITE_FAILED', 'STORE_BUSY']
const HONEST_OF_READS = [...HONEST, 'DATABASE_FOREIGN']

/** A fixed run over one store that goes on whatever fails, and notes what was acknowledged. */
export class FailingRun {
  /** By id: how many events must be there. */
  readonly acknowledged = new Map<string, number>()
  readonly logs = new Map<string, SampleLog>()
  /** Codes of the rejections that the fault brought about. */
  readonly heard: string[] = []
  /** The first thing that may not be. */
  wrong: string | undefined
  /** The first rejection. */
  failure: string | undefined
  /** By id: how many events may be there at most, as a batch may be stored that was not acknowledged. */
  readonly #attempted = new Map<string, number>()
  /** Whether somebody tried to remove it: it may be gone. */
  readonly #removing = new Set<string>()
  #backend: SessionBackend | undefined

  constructor(
    readonly file: string,
    readonly hasFired: () => boolean,
    readonly failsReads: boolean,
  ) {}

  bounds(id: string): { from: number; to: number } {
    const from = this.#removing.has(id) ? 0 : (this.acknowledged.get(id) ?? 0)
    return { from, to: this.#attempted.get(id) ?? 0 }
  }

  async go(): Promise<void> {
    this.#backend = await this.#try('make', async () => createSqliteBackend({ file: this.file, busyMs: 0 }))
    if (this.#backend === undefined) return
    const log = randomLog('s', randomFrom(11), 2)
    const first = await this.#acquire('s')
    for (const to of [5, 12, 30]) await this.#append(first, log, to)
    await this.#fork('child', log, 20)
    const second = await this.#acquire('s', true)
    await this.#append(second, log, 40)
    if (second !== undefined) await this.#append(first, log, 42, 'SESSION_FENCED')
    await this.#append(second, log, log.events.length)
    await this.#try('release', () => second?.release())
    const other = randomLog('t', randomFrom(12), 2)
    const third = await this.#acquire('t')
    await this.#append(third, other, other.events.length)
    await this.#try('release', () => third?.release())
    await this.#remove('t')
    await this.#work('s')
    await this.#remove('s')
  }

  /** May fail as everything may, but not with a raw error; the files are closed in any case. */
  async close(): Promise<void> {
    await this.#try('close', () => this.#backend?.close())
  }

  // --- internal ---

  async #try<T>(what: string, act: () => Promise<T> | undefined): Promise<T | undefined> {
    const before = this.hasFired()
    try {
      return await act()
    } catch (error) {
      const { code, stack, cause } = error as { code?: string; stack?: string; cause?: unknown }
      this.failure ??= `${what}: ${stack}`
      if (!isCoded(error)) this.wrong ??= `${what}: ${stack}`
      if (before || !this.hasFired()) return undefined
      this.heard.push(String(code))
      const honest = this.failsReads ? HONEST_OF_READS : HONEST
      const isHonest = honest.includes(String(code)) && cause !== undefined
      if (!isHonest) this.wrong ??= `${what} met the fault: ${stack}, because of ${String(cause)}`
      return undefined
    }
  }

  #acquire(id: string, takeover = false): Promise<Lease | undefined> {
    return this.#try(`acquire ${id}`, () => this.#backend!.acquire(id, { takeover }))
  }

  /** Up to event `to`, from wherever the store says that the log ends. */
  async #append(lease: Lease | undefined, log: SampleLog, to: number, expected?: string): Promise<void> {
    if (lease === undefined) return
    const { id } = log.header
    this.logs.set(id, log)
    const from = this.acknowledged.get(id) ?? 0
    const most = Math.max(this.#attempted.get(id) ?? 0, to)
    if (expected === undefined) this.#attempted.set(id, most)
    await this.#try(`append ${id} to ${to}`, async () => {
      try {
        await this.#backend!.append(lease, log.header, log.events.slice(from, to))
      } catch (error) {
        if (expected !== undefined && (error as { code?: string }).code === expected) return
        throw error
      }
      if (expected !== undefined) this.wrong ??= `append ${id}: expected ${expected}, found that it was written`
      this.acknowledged.set(id, to)
    })
  }

  async #fork(id: string, parent: SampleLog, length: number): Promise<void> {
    const lease = await this.#acquire(id)
    if (lease === undefined) return
    const header = { ...parent.header, id, parent: { id: parent.header.id, length } }
    const log = { header, events: parent.events }
    this.logs.set(id, log)
    if ((this.acknowledged.get(parent.header.id) ?? 0) < length) return
    this.#attempted.set(id, length)
    await this.#try(`fork ${id}`, async () => {
      await this.#backend!.fork(lease, header, length)
      this.acknowledged.set(id, length)
    })
    if (this.acknowledged.get(id) === length) await this.#append(lease, log, length + 6)
    await this.#try(`release ${id}`, () => lease.release())
  }

  async #remove(id: string): Promise<void> {
    if (!this.acknowledged.has(id)) return
    this.#removing.add(id)
    await this.#try(`remove ${id}`, async () => {
      await this.#backend!.remove(id)
      this.#attempted.set(id, 0)
      this.acknowledged.delete(id)
    })
  }

  /** Through the session, as an agent does it. An open turn that it closes may be stored whether it hears of it or not. */
  async #work(id: string): Promise<void> {
    const log = this.logs.get(id)
    const length = this.acknowledged.get(id)
    if (log === undefined || length === undefined) return
    const open = await this.#try(`open ${id}`, () =>
      openSession(this.#backend!, id, { takeover: true, maxDelayMs: 60_000 }),
    )
    if (open === undefined) return
    const { session, flush, close } = open
    if (open.report.repaired.length > 0 || open.report.readOnly) {
      await this.#try(`close ${id}`, close)
      return
    }
    this.acknowledged.set(id, session.length)
    session.append('turn/start', { turn: 1000 })
    this.logs.set(id, { ...log, events: [...session.events] })
    this.#attempted.set(id, session.length)
    await this.#try(`flush ${id}`, async () => {
      await flush()
      this.acknowledged.set(id, session.length)
    })
    await this.#try(`close ${id}`, close)
  }
}
