import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { PersistenceError } from '@palimpsest/session-persistence'
import Database from 'better-sqlite3'
import { APPLICATION_ID, SCHEMA_VERSION } from './schema.js'
import { isCorrupt, isSqliteError } from './sqlite-error.js'

/** Makes the file, empty, and its folder where they are missing: private whatever the umask, their names synced. */
export function makeFile(file: string): void {
  makeFolder(dirname(file))
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined) {
    createFile(file)
    return
  }
  if (found.isFile()) return
  const what = found.isSymbolicLink() ? 'a symbolic link' : 'something that is no file'
  throw foreign(file, what)
}

/**
 * Refuses a file of somebody else, or of another build, through a connection that may not write: so not
 * one byte of it can change. An empty file is a database that is still to be made. (Never through `fs`:
 * closing a descriptor of its own would drop the locks that SQLite holds for this process.)
 */
export function assertOwnFile(file: string): void {
  // In this order: a database that others are making right now has a log only once it is no empty file any more.
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })
  const { size } = statSync(file)
  // SQLite would delete the log, and everything in it.
  if (size === 0 && log !== undefined && log.size > 0) throw foreign(file, 'an empty file beside its write-ahead log')
  if (size === 0) return
  // To SQLite such a file is as good as an empty one.
  if (size === 1) throw foreign(file, 'a single byte')
  const db = new Database(file, { readonly: true, timeout: 0 })
  try {
    if (!isEmptyDatabase(db)) assertOwn(file, db)
  } catch (cause) {
    // A journal that its writer left behind: only who may write can tell what the file is.
    if (isSqliteError(cause, 'READONLY')) return
    // Where it cannot be opened at all, as on a read-only file system, nothing is known of it.
    throw isCorrupt(cause) ? foreign(file, 'no database', cause) : cause
  } finally {
    db.close()
  }
}

/** Whether nothing was ever made in it: neither marks of any owner, nor tables. */
export function isEmptyDatabase(db: Database.Database): boolean {
  if (Number(pragma(db, 'application_id')) !== 0 || Number(pragma(db, 'user_version')) !== 0) return false
  return db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0
}

/** `DATABASE_FOREIGN` or `SCHEMA_VERSION_UNSUPPORTED`, unless a database says of itself what ours do. */
export function assertOwn(file: string, db: Database.Database): void {
  const applicationId = Number(pragma(db, 'application_id'))
  const version = Number(pragma(db, 'user_version'))
  if (applicationId !== APPLICATION_ID || version === 0) {
    throw foreign(file, `the application id 0x${applicationId.toString(16)} and version ${version}`)
  }
  if (version === SCHEMA_VERSION) return
  const newer = version > SCHEMA_VERSION
  throw new PersistenceError(
    'SCHEMA_VERSION_UNSUPPORTED',
    `${file} has schema version ${version}, which is ${newer ? 'newer' : 'older'} than ${SCHEMA_VERSION}, the only one that this build knows; ${newer ? 'update palimpsest' : 'open it with the build that wrote it'}`,
  )
}

export function pragma(db: Database.Database, name: string): unknown {
  return db.pragma(name, { simple: true })
}

export function foreign(file: string, found: string, cause?: unknown): PersistenceError {
  return new PersistenceError(
    'DATABASE_FOREIGN',
    `${file}: expected a database of Palimpsest, found ${found}; it was left as it is: name another file`,
    { cause },
  )
}

// --- internal ---

const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: FOLDER_MODE })
  if (first === undefined) return
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    chmodSync(made, FOLDER_MODE)
    syncFolder(dirname(made))
  }
}

function createFile(file: string): void {
  const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
  try {
    const fd = openSync(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE)
    fchmodSync(fd, FILE_MODE)
    closeSync(fd)
  } catch (error) {
    // Another process was faster; what it made is looked at like any other file.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    makeFile(file)
  }
  syncFolder(dirname(file))
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
