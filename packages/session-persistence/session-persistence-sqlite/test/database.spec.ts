import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { openSession } from '@palimpsest/session-persistence'
import { createSqliteBackend, SCHEMA_VERSION } from '@palimpsest/session-persistence-sqlite'
import { describe, expect, test } from 'vitest'
import { assertSqliteVersion } from '../src/handle.js'
import { newDirectory, newFile, openStore, randomFrom, randomLog, store, withDatabase } from './stores.js'

const codeOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    return (error as { code: string }).code
  }
  return 'none'
}

test('the database says whose it is, in which version, and is journalled as it must be', () => {
  const file = newFile()
  openStore(file)
  withDatabase(file, db => {
    expect(db.pragma('application_id', { simple: true })).toBe(0x50414c49)
    expect(db.pragma('user_version', { simple: true })).toBe(SCHEMA_VERSION)
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal')
  })
})

test('provenance and surface operations lie in nullable columns of JSON text', async () => {
  const file = newFile()
  const { header, events } = randomLog('log', randomFrom(3), 3)
  await store(openStore(file), { header, events })
  withDatabase(file, db => {
    const columns = db.pragma('table_info(events)') as { name: string; type: string; notnull: number }[]
    for (const name of ['source_event_seqs', 'surface_op']) {
      expect(columns.find(column => column.name === name)).toMatchObject({ type: 'TEXT', notnull: 0 })
    }
    const rows = db.prepare('SELECT seq, type, source_event_seqs AS sources, surface_op AS op FROM events').all()
    for (const row of rows as { seq: number; type: string; sources: string | null; op: string | null }[]) {
      const event = events[row.seq]!
      expect(row.type).toBe(event.type)
      expect(row.sources).toBe(event.sourceEventSeqs === undefined ? null : JSON.stringify(event.sourceEventSeqs))
      expect(row.op).toBe(event.surfaceOp === undefined ? null : JSON.stringify(event.surfaceOp))
    }
  })
})

test('a type is kept whatever is in it, also what a column of text cannot hold', async () => {
  const file = newFile()
  const header = { version: 0, id: 'log', createdAt: 0 }
  const types = ['x\ud800', '\udc00\ud800', '\u0000', '"', '"x"', '"x\ud800"', '', '__proto__', '\ufffd', '😀']
  const events = types.map((type, seq) => ({ seq, time: seq, type, data: null, ignorable: true })) as never[]
  const backend = openStore(file)
  await store(backend, { header, events })
  await expect(backend.read('log')).resolves.toMatchObject({ events, damage: [] })
  const required = Array.from({ length: 2000 }, (_, seq) => ({
    seq,
    time: seq,
    type: 'required \ud800',
    data: null,
  })) as never[]
  await store(backend, { header: { ...header, id: 'large' }, events: required })
  const { report, ...open } = await openSession(backend, 'large', { acceptUnknown: ['required \ud800'] })
  expect([report.readOnly, report.damage]).toEqual([false, []])
  await open.close()
})

describe('what is not ours is refused, and left as it is', () => {
  const foreigners: [what: string, make: (file: string) => void, code: string, word?: string][] = [
    ['text', file => writeFileSync(file, 'Dear diary'), 'DATABASE_FOREIGN'],
    ['much text', file => writeFileSync(file, 'Dear diary, '.repeat(2000)), 'DATABASE_FOREIGN'],
    ['tables without a version', file => withDatabase(file, db => db.exec('CREATE TABLE t (x)')), 'DATABASE_FOREIGN'],
    [
      'tables without a version, in a write-ahead log',
      file => withDatabase(file, db => db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (x)')),
      'DATABASE_FOREIGN',
    ],
    [
      'another application',
      file =>
        withDatabase(file, db => db.exec('PRAGMA application_id = 7; PRAGMA user_version = 1; CREATE TABLE t (x)')),
      'DATABASE_FOREIGN',
    ],
    [
      'our application id without a version',
      file => withDatabase(file, db => db.exec('PRAGMA application_id = 0x50414c49; CREATE TABLE t (x)')),
      'DATABASE_FOREIGN',
    ],
    ['a newer build', file => withVersion(file, SCHEMA_VERSION + 1), 'SCHEMA_VERSION_UNSUPPORTED', 'newer'],
    ['an older build', file => withVersion(file, -1), 'SCHEMA_VERSION_UNSUPPORTED', 'older'],
    [
      'our version with other tables',
      file =>
        withDatabase(file, db =>
          db.exec('PRAGMA application_id = 0x50414c49; PRAGMA user_version = 1; CREATE TABLE t (x)'),
        ),
      'DATABASE_FOREIGN',
    ],
  ]
  for (const [what, make, code, word] of foreigners) {
    test(what, () => {
      const file = newFile()
      make(file)
      const bytes = readFileSync(file)
      const create = () => createSqliteBackend({ file })
      expect(codeOf(create)).toBe(code)
      if (word !== undefined) expect(create).toThrow(word)
      expect(readFileSync(file).equals(bytes)).toBe(true)
    })
  }

  test('a folder, a link, and a link to a database of ours', () => {
    const directory = newDirectory()
    const file = join(directory, 'real.db')
    openStore(file)
    const [folder, link, dangling] = ['folder', 'link', 'dangling'].map(name => join(directory, name)) as [
      string,
      string,
      string,
    ]
    mkdirSync(folder)
    symlinkSync(file, link)
    symlinkSync(join(directory, 'nothing'), dangling)
    for (const path of [folder, link, dangling])
      expect(codeOf(() => createSqliteBackend({ file: path }))).toBe('DATABASE_FOREIGN')
    expect(existsSync(join(directory, 'nothing'))).toBe(false)
  })
})

test('an empty file becomes a database', async () => {
  const file = newFile()
  writeFileSync(file, '')
  await store(openStore(file), randomLog('log', randomFrom(1), 1))
  expect((await openStore(file).read('log'))!.damage).toEqual([])
})

test('a database that lost its end is refused or read with a code, never with a raw error', async () => {
  const file = newFile()
  const backend = openStore(file)
  await store(backend, randomLog('log', randomFrom(1), 3))
  await backend.close()
  truncateSync(file, 5000)
  const error = await (async () => createSqliteBackend({ file }).read('log'))().catch(error => error)
  expect(['DATABASE_FOREIGN', 'WRITE_FAILED', 'HEADER_DAMAGED']).toContain(error.code)
})

test('a file of one byte, which SQLite takes for an empty one, is left as it is', () => {
  const file = newFile()
  writeFileSync(file, 'x')
  expect(codeOf(() => createSqliteBackend({ file }))).toBe('DATABASE_FOREIGN')
  expect(readFileSync(file, 'utf8')).toBe('x')
})

test('a database that cannot be opened is not said to be somebody else’s', async () => {
  const file = newFile()
  const backend = openStore(file)
  await store(backend, randomLog('log', randomFrom(1), 1))
  await backend.close()
  symlinkSync(`${file}-shm`, `${file}-shm`)
  expect(codeOf(() => openStore(file))).toBe('WRITE_FAILED')
})

test('an SQLite with the write-ahead log fault is refused', () => {
  expect(codeOf(() => assertSqliteVersion('3.51.2'))).toBe('WRITE_FAILED')
  expect(codeOf(() => assertSqliteVersion('2.99.99'))).toBe('WRITE_FAILED')
  for (const version of ['3.51.3', '3.52.0', '4.0.0']) assertSqliteVersion(version)
})

test('file and folders are private whatever the umask, and so are the files beside it', async () => {
  for (const umask of [0o000, 0o777]) {
    const before = process.umask(umask)
    const file = join(newDirectory(), 'a', 'b', 'store.db')
    try {
      await store(openStore(file), randomLog('log', randomFrom(1), 1))
    } finally {
      process.umask(before)
    }
    for (const name of readdirSync(dirname(file))) expect(statSync(join(dirname(file), name)).mode & 0o777).toBe(0o600)
    for (const folder of [dirname(file), dirname(dirname(file))]) expect(statSync(folder).mode & 0o777).toBe(0o700)
  }
})

test('a closed store holds no file open and leaves nothing beside its file', async () => {
  const file = newFile()
  const backend = openStore(file)
  await store(backend, randomLog('log', randomFrom(1), 2))
  await (await backend.follow!('log', 0))!.next()
  const lease = await backend.acquire('log')
  await backend.close()
  expect(openFiles().filter(path => path.startsWith(dirname(file)))).toEqual([])
  expect(readdirSync(dirname(file))).toEqual(['store.db'])
  await lease.release()
  expect((await backend.read('log'))!.damage).toEqual([])
  expect(openFiles().filter(path => path.startsWith(dirname(file)))).toEqual([])
})

test('creation that is not possible says so with a code', () => {
  expect(codeOf(() => createSqliteBackend({ file: '/dev/null/x/store.db' }))).toBe('WRITE_FAILED')
  expect(() => createSqliteBackend({ file: newFile(), busyMs: -1 })).toThrow(RangeError)
})

test('a name that looks like a URI is a name', () => {
  const directory = newDirectory()
  const file = join(directory, 'file:store?mode=memory')
  openStore(file)
  expect(existsSync(file)).toBe(true)
})

// --- internal ---

function withVersion(file: string, version: number): void {
  withDatabase(file, db =>
    db.exec(`PRAGMA application_id = 0x50414c49; PRAGMA user_version = ${version}; CREATE TABLE t (x)`),
  )
}

function openFiles(): string[] {
  if (!existsSync('/proc/self/fd')) return []
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
}

test('a lease whose owner cannot be told is held by somebody unknown, and is taken over', async () => {
  for (const owner of ['garbage', 'null', '{"pid":1}', '']) {
    const file = newFile()
    const backend = openStore(file)
    await (await backend.acquire('s')).release()
    withDatabase(file, db =>
      db.prepare('UPDATE leases SET owner = ?, crc = ? WHERE id = ?').run(owner, crc32(`s 1 ${owner}`), 's'),
    )
    await expect(backend.acquire('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
    expect((await backend.acquire('s', { takeover: true })).epoch).toBe(2)
  }
})
