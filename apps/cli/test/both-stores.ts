import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Session } from '@palimpsest/session'
import { createSession, type SessionBackend } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import type BetterSqlite3 from 'better-sqlite3'
import { temporaryFolder } from './command.js'

/** A store in a folder of its own that is used through the command, and spoilt behind its back. */
export interface TestedStore {
  readonly kind: 'jsonl' | 'sqlite'
  /** What `--store` takes. */
  readonly place: string
  open(): SessionBackend
  /** Makes one event unreadable, one that is no chunk. */
  spoil(id: string, seq: number): void
  spoilHeader(id: string): void
  /** All that is stored, to see whether it changed. */
  snapshot(id: string): string
}

export const KINDS = ['jsonl', 'sqlite'] as const

export function newStore(kind: TestedStore['kind']): TestedStore {
  return kind === 'jsonl'
    ? jsonlStore(join(temporaryFolder(), 'store'))
    : sqliteStore(join(temporaryFolder(), 'store.db'))
}

/** Adds a session that `fill` fills. */
export async function addSession(store: TestedStore, id: string, fill: (session: Session) => void): Promise<Session> {
  const backend = store.open()
  const open = await createSession(backend, { id, now: () => 1_700_000_000_000 })
  fill(open.session)
  await open.close()
  await backend.close()
  return open.session
}

// --- internal ---

function jsonlStore(directory: string): TestedStore {
  const file = (id: string) => join(directory, `${id}.jsonl`)
  const spoilLine = (id: string, isMeant: (line: string) => boolean) => {
    const lines = readFileSync(file(id), 'utf8').split('\n')
    const at = lines.findIndex(isMeant)
    lines[at] = 'x'.repeat(lines[at]!.length)
    writeFileSync(file(id), lines.join('\n'))
  }
  return {
    kind: 'jsonl',
    place: directory,
    open: () => createJsonlBackend({ directory }),
    spoil: (id, seq) => spoilLine(id, line => line.startsWith(`{"seq":${seq},`)),
    spoilHeader: id => spoilLine(id, () => true),
    snapshot: id => readFileSync(file(id), 'base64'),
  }
}

/** The driver is the store's own dependency. */
const Database = createRequire(
  new URL('../../../packages/session-persistence/session-persistence-sqlite/package.json', import.meta.url),
)('better-sqlite3') as typeof BetterSqlite3

function sqliteStore(file: string): TestedStore {
  const run = <T>(work: (db: BetterSqlite3.Database) => T): T => {
    if (!existsSync(file)) throw new Error(`expected a database at ${file}`)
    const db = new Database(file)
    try {
      return work(db)
    } finally {
      db.close()
    }
  }
  const key = 'session = (SELECT key FROM sessions WHERE id = ?)'
  return {
    kind: 'sqlite',
    place: `sqlite:${file}`,
    open: () => createSqliteBackend({ file }),
    spoil: (id, seq) =>
      run(db => {
        const { changes } = db.prepare(`UPDATE events SET data = 'x' || data WHERE ${key} AND seq = ?`).run(id, seq)
        if (changes !== 1) throw new Error(`expected one row of event ${seq} of ${id}, found ${changes}`)
      }),
    spoilHeader: id =>
      run(db => db.prepare("UPDATE sessions SET header = replace(header, 'version', 'Version') WHERE id = ?").run(id)),
    snapshot: id =>
      run(db => {
        const rows = db.prepare(`SELECT * FROM events WHERE ${key} ORDER BY place`).all(id)
        return JSON.stringify([rows, db.prepare('SELECT * FROM sessions WHERE id = ?').get(id)])
      }),
  }
}
