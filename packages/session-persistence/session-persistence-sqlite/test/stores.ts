import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionBackend } from '@palimpsest/session-persistence'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import Database from 'better-sqlite3'
import { afterEach } from 'vitest'
import type { SampleLog } from './random-logs.js'

export { largeText, randomFrom, randomLog, type SampleLog } from './random-logs.js'

const directories: string[] = []
const backends: SessionBackend[] = []

/** A new directory that the test's end takes away. */
export function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'palimpsest-sqlite-'))
  directories.push(directory)
  return directory
}

export function newFile(): string {
  return join(newDirectory(), 'store.db')
}

/** A backend that the test's end closes. */
export function openStore(file: string, busyMs?: number): SessionBackend {
  const backend = createSqliteBackend({ file, ...(busyMs !== undefined && { busyMs }) })
  backends.push(backend)
  return backend
}

/** Does something to the database behind the backend's back. */
export function withDatabase<T>(file: string, work: (db: Database.Database) => T): T {
  const db = new Database(file)
  try {
    return work(db)
  } finally {
    db.close()
  }
}

afterEach(async () => {
  for (const backend of backends.splice(0)) await backend.close().catch(() => {})
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
})

/** Writes a log in batches of `batch` events through a lease, and lets go of it. */
export async function store(backend: SessionBackend, { header, events }: SampleLog, batch = 100): Promise<void> {
  const lease = await backend.acquire(header.id)
  for (let from = 0; from === 0 || from < events.length; from += batch) {
    await backend.append(lease, header, events.slice(from, from + batch))
  }
  await lease.release()
}
