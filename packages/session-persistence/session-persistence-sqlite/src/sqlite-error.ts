import { PersistenceError } from '@palimpsest/session-persistence'
import Database from 'better-sqlite3'

/** Whether this is an error of SQLite whose code, after its prefix, is one of these or a closer form of it. */
export function isSqliteError(error: unknown, ...codes: string[]): boolean {
  return error instanceof Database.SqliteError && codes.some(code => error.code.startsWith(`SQLITE_${code}`))
}

/** Somebody else holds the lock that was asked for; the same may work a moment later. */
export function isBusy(error: unknown): boolean {
  if (error instanceof PersistenceError) return error.code === 'STORE_BUSY'
  return isSqliteError(error, 'BUSY', 'LOCKED')
}

/** A page that cannot be understood: the rest of the file may well be. */
export function isCorrupt(error: unknown): boolean {
  return isSqliteError(error, 'CORRUPT', 'NOTADB')
}

/** What a caller hears of an error of SQLite: never the raw one, which is the cause. */
export function codedError(what: string, cause: unknown): PersistenceError {
  const reason = (cause instanceof Error ? cause.message : String(cause)).replace(/^E[A-Z0-9]+: /, '')
  return new PersistenceError(
    'WRITE_FAILED',
    `${what}: expected SQLite to do what it was asked, found: ${reason}; ${adviceOn(cause)}`,
    { cause },
  )
}

function adviceOn(cause: unknown): string {
  if (isCorrupt(cause))
    return 'the database file is damaged: keep a copy of it, and read with the doctor what can be read'
  if (isSqliteError(cause, 'READONLY', 'CANTOPEN', 'PERM', 'AUTH'))
    return 'let this user read and write the database, the files beside it and their folder'
  return 'make room or mend the device, then open the session again'
}

export function storeBusy(file: string, busyMs: number, cause?: unknown): PersistenceError {
  return new PersistenceError(
    'STORE_BUSY',
    `${file} was locked by another process for more than ${busyMs} ms; try again, or see who holds it`,
    { cause },
  )
}
