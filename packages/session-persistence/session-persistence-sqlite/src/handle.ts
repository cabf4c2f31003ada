import { PersistenceError } from '@palimpsest/session-persistence'
import Database from 'better-sqlite3'
import { assertOwn, assertOwnFile, foreign, isEmptyDatabase, makeFile, pragma } from './file.js'
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.js'
import { codedError, isBusy, isCorrupt, storeBusy } from './sqlite-error.js'

/** How long SQLite itself waits for a lock, and so how long the event loop may stand still. */
const BUSY_TIMEOUT_MS = 50

/** The first release without the fault by which a reset of the write-ahead log could lose pages. */
const OLDEST_SQLITE = '3.51.3'

/** An open database of ours: journal, synchronous mode and schema are what they must be. */
export class Handle {
  readonly #statements = new Map<string, Database.Statement<unknown[], unknown>>()
  /** Inflated blocks, their texts by id; for `blocks.ts`. A block never changes. */
  readonly blocks = new Map<number, ReadonlyMap<number, Buffer>>()
  /** Whether every session is in the index of ids, once somebody has looked; for `session-row.ts`. */
  isIndexSound: boolean | undefined
  readonly #begin: Database.Statement
  readonly #beginImmediate: Database.Statement
  readonly #commit: Database.Statement
  readonly #rollback: Database.Statement

  constructor(readonly db: Database.Database) {
    this.#begin = db.prepare('BEGIN')
    this.#beginImmediate = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#rollback = db.prepare('ROLLBACK')
  }

  /** The statement, prepared once; rows are arrays. `Row` is what its columns give in a sound database. */
  rows<Row extends unknown[]>(sql: string): Database.Statement<unknown[], Row> {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.db.prepare<unknown[], unknown>(sql).raw()
      this.#statements.set(sql, statement)
    }
    return statement as Database.Statement<unknown[], Row>
  }

  run(sql: string, ...values: unknown[]): Database.RunResult {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.db.prepare<unknown[], unknown>(sql)
      this.#statements.set(sql, statement)
    }
    // Each by itself: the driver would look up every place of an array.
    return statement.run(...values)
  }

  /** One snapshot for all that `work` reads. */
  snapshot<T>(work: (handle: Handle) => T): T {
    // A page that could not be read forbids the COMMIT, though what was read around it holds.
    return this.#within(this.#begin, work, this.#rollback)
  }

  /** All that `work` writes, durable when this returns, or nothing. The lock comes first. */
  transaction<T>(work: (handle: Handle) => T): T {
    return this.#within(this.#beginImmediate, work, this.#commit)
  }

  close(): void {
    this.db.close()
  }

  // --- internal ---

  #within<T>(begin: Database.Statement, work: (handle: Handle) => T, end: Database.Statement): T {
    if (this.db.inTransaction) return work(this)
    begin.run()
    try {
      const result = work(this)
      end.run()
      return result
    } catch (error) {
      // An id of a block that never came to be may be given to another one.
      this.blocks.clear()
      rollBack(this.db)
      throw error
    }
  }
}

/** Opens the database, and makes it where the file is missing or empty. Where other processes make it or recover it, it is `STORE_BUSY`. */
export function openHandle(file: string): Handle {
  try {
    makeFile(file)
  } catch (cause) {
    if (cause instanceof PersistenceError) throw cause
    throw codedError(file, cause)
  }
  try {
    return openOnce(file)
  } catch (error) {
    throw isBusy(error) ? storeBusy(file, 0, error) : refusal(file, error)
  }
}

/** @internal */
export function assertSqliteVersion(version: string): void {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const [oldMajor = 0, oldMinor = 0, oldPatch = 0] = OLDEST_SQLITE.split('.').map(Number)
  if (((major - oldMajor || minor - oldMinor || patch - oldPatch) as number) >= 0) return
  throw new PersistenceError(
    'WRITE_FAILED',
    `expected SQLite ${OLDEST_SQLITE} or newer, found ${version}, which may lose pages when its write-ahead log is reset; install the better-sqlite3 that this package names`,
  )
}

// --- internal ---

function openOnce(file: string): Handle {
  assertOwnFile(file)
  const db = new Database(file, { timeout: BUSY_TIMEOUT_MS })
  try {
    assertSqliteVersion(String(db.prepare('SELECT sqlite_version()').pluck().get()))
    if (isEmptyDatabase(db)) createSchema(db)
    assertOwn(file, db)
    assertSchema(file, db)
    assertPragma(db, 'journal_mode', 'WAL', 'wal')
    assertPragma(db, 'synchronous', 'FULL', 2)
    return new Handle(db)
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * In one transaction, before the journal changes to a write-ahead log: so the file never has a first page
 * that does not say whose it is.
 */
function createSchema(db: Database.Database): void {
  db.exec('BEGIN EXCLUSIVE')
  try {
    if (isEmptyDatabase(db)) {
      db.pragma(`application_id = ${APPLICATION_ID}`)
      db.pragma(`user_version = ${SCHEMA_VERSION}`)
      for (const statement of SCHEMA) db.exec(statement)
    }
    db.exec('COMMIT')
  } catch (error) {
    rollBack(db)
    throw error
  }
}

/** Some failures have rolled back already; one that prevents even this is told by what came before it. */
function rollBack(db: Database.Database): void {
  try {
    if (db.inTransaction) db.exec('ROLLBACK')
  } catch {}
}

/** Sets a pragma; SQLite may leave it as it was without an error, so its answer counts. */
function assertPragma(db: Database.Database, name: string, value: string, answer: unknown): void {
  if (pragma(db, name) !== answer) db.pragma(`${name} = ${value}`)
  const found = pragma(db, name)
  if (found === answer) return
  throw new PersistenceError(
    'WRITE_FAILED',
    `${db.name}: expected ${name} ${value}, found ${String(found)}; put the store on a file system that has shared memory and locks`,
  )
}

/** A table that is not what this build made is a bad page of the schema, or another's work. */
function assertSchema(file: string, db: Database.Database): void {
  const found = new Set(db.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').pluck().all())
  const missing = SCHEMA.find(statement => !found.has(statement))
  if (missing !== undefined) throw foreign(file, `no ${/(?:TABLE|INDEX) (\w+)/.exec(missing)![1]} as version 1 has it`)
}

function refusal(file: string, error: unknown): PersistenceError {
  if (error instanceof PersistenceError) return error
  if (!isCorrupt(error)) return codedError(file, error)
  return new PersistenceError(
    'DATABASE_FOREIGN',
    `${file}: expected a database of Palimpsest, found one whose first pages are damaged (${(error as Error).message}); keep a copy, and bring back a backup`,
    { cause: error },
  )
}
