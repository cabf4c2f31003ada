import { copyFileSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionHeader } from '@palimpsest/session'
import type { Lease, SessionBackend } from '@palimpsest/session-persistence'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import { generateLog, TEXTS, type TextKind } from '../../session-persistence-jsonl/test/logs.js'
import { randomFrom, randomLog, type SampleLog } from './random-logs.js'

/** A database as its bytes, and what was acknowledged while it was written. */
export interface GeneratedDatabase {
  readonly name: string
  readonly file: Buffer
  /** Empty where the last process closed it. */
  readonly wal: Buffer
  /** Every session that ever was, as it was written. */
  readonly logs: ReadonlyMap<string, SampleLog>
  /** What was acknowledged when the write-ahead log was so long; the last one is all. */
  readonly moments: readonly Moment[]
}

export interface Moment {
  readonly walBytes: number
  /** By id: how many events each session had that there was. */
  readonly lengths: ReadonlyMap<string, number>
}

interface Recipe {
  readonly name: string
  make(folder: string): Promise<GeneratedDatabase>
  /** Each look at it costs a large log. */
  readonly isLarge: boolean
}

/** More than twenty, of everything that the store knows how to keep. */
export const DATABASES: readonly Recipe[] = [
  ...(Object.keys(TEXTS) as TextKind[]).map((text, i) =>
    database(`${text}, a fork${i % 2 === 0 ? ' of a removed parent' : ''}`, async writer => {
      const log = generateLog('s', 24, { text })
      await writer.write(log, 7)
      await writer.fork('child', log, 13)
      if (i % 2 === 0) await writer.remove('s')
    }),
  ),
  ...[1, 2, 3].map(seed =>
    database(`texts that sessions share, ${seed}`, async writer => {
      const random = randomFrom(seed)
      const logs = ['a', 'b', 'c'].map(id => randomLog(id, random, 2))
      for (const log of logs) await writer.write(log, 9)
      await writer.fork('child', logs[1]!, 20)
      await writer.remove('a')
    }),
  ),
  database('turns left open, flushed at each event', async writer => {
    for (const text of ['unicode', 'plain'] as const)
      await writer.write(generateLog(text, 21, { text, perTurn: 40 }), 1)
  }),
  database('forks of forks', async writer => {
    let log = generateLog('s', 30, { text: 'unicode' })
    await writer.write(log, 30)
    for (const [i, length] of [25, 17, 9].entries()) log = await writer.fork(`child${i}`, log, length)
    await writer.remove('child0')
    await writer.remove('s')
  }),
  database('many small sessions', async writer => {
    for (let n = 0; n < 60; n++) await writer.write(generateLog(`session-${n}`, 1 + (n % 4)), 4)
    for (let n = 0; n < 60; n += 7) await writer.remove(`session-${n}`)
  }),
  database('an index of many landmarks', writer => writer.write(generateLog('s', 1200, { perTurn: 6 }), 200), true),
  database(
    'a large log',
    async writer => {
      const log = generateLog('s', 2400, { text: 'unicode', perTurn: 500 })
      await writer.write(log, 500)
      await writer.fork('child', log, 1100)
    },
    true,
  ),
  ...[4, 5].map(seed =>
    left(`a process that was killed, ${seed}`, async writer => {
      const random = randomFrom(seed)
      const logs = ['a', 'b'].map(id => randomLog(id, random, 1))
      for (const log of logs) await writer.write(log, 6)
      await writer.fork('child', logs[0]!, 5)
      await writer.remove('a')
    }),
  ),
  left(
    'a process that was killed, over an older database',
    async writer => {
      await writer.write(generateLog('t', 9, { text: 'unicode' }), 4)
      await writer.fork('child', generateLog('s', 24), 11)
    },
    writer => writer.write(generateLog('s', 24), 10),
  ),
]

/** Writes through a backend, and notes what it acknowledged. */
class Writer {
  readonly logs = new Map<string, SampleLog>()
  readonly moments: Moment[] = []
  readonly #lengths = new Map<string, number>()

  constructor(
    public backend: SessionBackend,
    readonly file: string,
  ) {}

  async write(log: SampleLog, batch: number): Promise<void> {
    const lease = await this.#lease(log.header.id)
    await this.#append(lease, log, 0, batch)
    await lease.release()
    this.#note()
  }

  /** Shares `length` events, and goes on as the parent did, at other times. */
  async fork(id: string, parent: SampleLog, length: number): Promise<SampleLog> {
    const lease = await this.#lease(id)
    const header: SessionHeader = { ...parent.header, id, parent: { id: parent.header.id, length } }
    const later = parent.events.slice(length, length + 8).map(event => ({ ...event, time: event.time + 1000 }))
    const log = { header, events: [...parent.events.slice(0, length), ...later] }
    await this.backend.fork(lease, header, length)
    this.logs.set(id, log)
    this.#note(id, length)
    await this.#append(lease, log, length, 3)
    await lease.release()
    this.#note()
    return log
  }

  async remove(id: string): Promise<void> {
    await this.backend.remove(id)
    this.#lengths.delete(id)
    this.#note()
  }

  /** From here on all goes into a new write-ahead log. */
  async reopen(): Promise<void> {
    await this.backend.close()
    this.backend = createSqliteBackend({ file: this.file })
    this.moments.length = 0
    this.#note()
  }

  // --- internal ---

  async #lease(id: string): Promise<Lease> {
    const lease = await this.backend.acquire(id)
    this.#note()
    return lease
  }

  async #append(lease: Lease, log: SampleLog, start: number, batch: number): Promise<void> {
    this.logs.set(lease.id, log)
    for (let from = start; from < log.events.length; from += batch) {
      const events = log.events.slice(from, from + batch)
      await this.backend.append(lease, log.header, events)
      this.#note(lease.id, from + events.length)
    }
  }

  #note(id?: string, length?: number): void {
    if (id !== undefined && length !== undefined) this.#lengths.set(id, length)
    const wal = `${this.file}-wal`
    this.moments.push({ walBytes: existsSync(wal) ? statSync(wal).size : 0, lengths: new Map(this.#lengths) })
  }
}

// --- internal ---

type Write = (writer: Writer) => Promise<unknown>

/** Closed after `write`. */
function database(name: string, write: Write, isLarge = false): Recipe {
  const make = (folder: string) =>
    generate(name, folder, async writer => {
      await write(writer)
      await writer.backend.close()
    })
  return { name, make, isLarge }
}

/** As a killed process leaves it: what `write` did is in the write-ahead log only. */
function left(name: string, write: Write, before: Write = async () => {}): Recipe {
  const make = (folder: string) =>
    generate(name, folder, async writer => {
      await before(writer)
      await writer.reopen()
      await write(writer)
    })
  return { name, make, isLarge: false }
}

async function generate(name: string, folder: string, write: Write): Promise<GeneratedDatabase> {
  const path = join(folder, 'generated.db')
  const writer = new Writer(createSqliteBackend({ file: path }), path)
  await write(writer)
  const copy = join(folder, 'copy.db')
  for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end)
  const wal = existsSync(`${copy}-wal`) ? readFileSync(`${copy}-wal`) : Buffer.alloc(0)
  const file = readFileSync(copy)
  await writer.backend.close()
  for (const base of [path, copy]) for (const end of ['', '-wal', '-shm']) rmSync(base + end, { force: true })
  return { name, file, wal, logs: writer.logs, moments: writer.moments }
}
