import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { addSession, KINDS, newStore } from './both-stores.js'
import { MAIN, palimpsest, scriptFile, startProgram, temporaryFolder } from './command.js'
import { fillStory } from './stores.js'

describe.each(KINDS)('every command on a store of the kind %s', kind => {
  it('runs, resumes, lists, shows, forks and removes', async () => {
    const store = newStore(kind)
    const cwd = temporaryFolder()
    const model = `scripted:${scriptFile(cwd, [{ text: 'one' }])}`
    const run = (...args: string[]) => palimpsest([...args, '--store', store.place], { cwd })
    expect(await run('run', 'go', '--id', 'first', '--model', model)).toMatchObject({ code: 0 })
    const resumed = await run('resume', 'first', 'again', '--model', model)
    expect(resumed.code).toBe(0)
    expect(resumed.stdout).toContain(`--store ${store.place}`)
    expect(await run('fork', 'first', '--at', '2.1', '--id', 'second')).toMatchObject({ code: 0 })
    const listed = JSON.parse((await run('ls', '--json')).stdout)
    expect(listed).toMatchObject([
      { id: 'first', turns: 2, openTurn: false, title: 'go' },
      { id: 'second', turns: 2, openTurn: false, title: 'go' },
    ])
    expect(JSON.parse((await run('at', 'first', '2.1', '--json')).stdout).messages).toHaveLength(3)
    expect((await run('show', 'first')).stdout).toContain('again')
    expect(JSON.parse((await run('explain', 'first', '1', '--json')).stdout)).toMatchObject({ seq: 1, citedBy: [] })
    expect((await run('log', 'first', '--json', '--last', '2')).stdout.split('\n')).toHaveLength(3)
    expect(await run('doctor')).toMatchObject({ code: 0 })
    expect(await run('rm', 'first', '--force')).toMatchObject({ code: 0 })
    expect(await run('doctor', 'second')).toMatchObject({ code: 0 })
  })

  it('is read without a change', async () => {
    const store = newStore(kind)
    await addSession(store, 'story', fillStory)
    const before = store.snapshot('story')
    for (const args of [['ls'], ['ls', '--bytes'], ['show'], ['log'], ['at', '9'], ['explain', '1'], ['doctor']]) {
      expect(await palimpsest([...args, '--store', store.place])).toMatchObject({ code: 0, stderr: '' })
    }
    expect(store.snapshot('story')).toBe(before)
  })

  it('tells where the bytes are', async () => {
    const store = newStore(kind)
    const { length } = await addSession(store, 'story', fillStory)
    await palimpsest(['fork', 'story', '--id', 'child', '--store', store.place])
    const human = await palimpsest(['ls', '--bytes', '--store', store.place])
    expect(human).toMatchObject({ code: 0, stderr: '' })
    expect(human.stdout).toMatch(/^story {2}\S+ k?B/m)
    expect(human.stdout).toMatch(/^child .*that others use too$/m)
    expect(human.stdout).toMatch(/^all 2 sessions .*counted once for each that uses it$/m)
    const { sessions, total } = JSON.parse(
      (await palimpsest(['ls', '--bytes', '--json', '--store', store.place])).stdout,
    ) as Bytes
    const story = sessions.find(({ id }) => id === 'story')!
    expect(story.parts.reduce((sum, { events = 0 }) => sum + events, 0)).toBe(length)
    expect(story.parts.find(({ what }) => what === 'tool/result')).toMatchObject({ events: 1 })
    expect(total.own + total.shared).toBe(sessions.reduce((sum, { own, shared }) => sum + own + shared, 0))
    store.spoilHeader('child')
    const spoilt = await palimpsest(['ls', '--bytes', '--store', store.place])
    expect(spoilt.code).toBe(0)
    expect(spoilt.stdout).toContain('child')
  })

  it('is told apart from what is not there, and is not made by a look', async () => {
    const place = `${kind}:${join(temporaryFolder(), 'nothing')}`
    for (const args of [
      ['ls'],
      ['show'],
      ['doctor'],
      ['log', 'x'],
      ['resume', 'x', 'go'],
      ['fork', 'x'],
      ['rm', 'x'],
    ]) {
      const ended = await palimpsest([...args, '--store', place])
      expect(ended).toMatchObject({ code: 3, stdout: '' })
      expect(ended.stderr).toContain('STORE_NOT_FOUND')
    }
    expect(existsSync(place.slice(kind.length + 1))).toBe(false)
  })
})

interface Bytes {
  sessions: { id: string; own: number; shared: number; parts: { what: string; bytes: number; events?: number }[] }[]
  total: { own: number; shared: number }
}

describe('the bytes of a JSONL session', () => {
  it('are those of its files', async () => {
    const store = newStore('jsonl')
    await addSession(store, 'story', fillStory)
    const { stdout } = await palimpsest(['ls', '--bytes', '--json', '--store', store.place])
    const sizes = readdirSync(store.place).map(name => readFileSync(join(store.place, name)).length)
    expect((JSON.parse(stdout) as Bytes).total.own).toBe(sizes.reduce((sum, size) => sum + size))
  })
})

describe('a place that is no store', () => {
  it.each<[string, () => string, number, string, string]>([
    ['a database named like a folder', () => database(folder(), ''), 3, 'STORE_INVALID', 'write --store sqlite:'],
    ['a text file as a database', () => `sqlite:${text(folder())}`, 3, 'DATABASE_FOREIGN', 'no database'],
    ['a text file as a folder', () => text(folder()), 3, 'STORE_INVALID', 'name a folder'],
    ['a folder as a database', () => `sqlite:${folder()}`, 3, 'STORE_INVALID', 'jsonl:'],
    ['an empty file as a database', () => `sqlite:${text(folder(), '')}`, 3, 'STORE_NOT_FOUND', 'check the path'],
    [
      "somebody else's database",
      () => `sqlite:${database(folder(), 'CREATE TABLE t (x)')}`,
      3,
      'DATABASE_FOREIGN',
      'expected a database of Palimpsest',
    ],
    ['a newer database', () => `sqlite:${ours(folder(), 2)}`, 3, 'SCHEMA_VERSION_UNSUPPORTED', 'newer'],
    ['no name', () => 'sqlite:', 2, 'USAGE', 'sqlite:FILE'],
    ['nothing', () => '', 2, 'USAGE', 'found nothing'],
    ['a misspelt kind', () => 'sqlit:x', 2, 'USAGE', 'sqlite:FILE'],
  ])('%s: says so, and changes nothing', async (_, make, code, name, says) => {
    const place = make()
    const file = place.replace(/^sqlite:/, '')
    const before = file.startsWith('/') && !isFolder(file) ? readFileSync(file, 'base64') : undefined
    const ended = await palimpsest(['ls', '--store', place])
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toContain(name)
    expect(ended.stderr).toContain(says)
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1)
    if (before !== undefined) expect(readFileSync(file, 'base64')).toBe(before)
  })
})

describe('a long log', () => {
  it('is printed whole into a slow pipe, and ends at once and quietly when its reader goes', async () => {
    const store = newStore('jsonl')
    const { length } = await addSession(store, 'long', session => {
      session.append('turn/start', { turn: 1 })
      const chunk = { type: 'text-delta' as const, id: '0', text: 'a piece of text '.repeat(12) }
      for (let i = 0; i < 9_000; i++) session.append('assistant/chunk', { turn: 1, step: 1, chunk })
    })
    const piped = (reader: string) => {
      const command = `"$@" 2>&1 | { ${reader}; }`
      const words = [process.execPath, MAIN, 'log', '--json', '--store', store.place]
      return startProgram('sh', ['-c', command, 'sh', ...words]).ended
    }
    // Slower than the command waits for what it left behind.
    expect((await piped('sleep 2; wc -l')).stdout.trim()).toBe(String(length))
    expect((await piped('head -n 1')).stdout.trimEnd().split('\n')).toHaveLength(1)
  })

  it('prints only what is asked of its end', async () => {
    const store = newStore('jsonl')
    await addSession(store, 'story', fillStory)
    const seqs = async (...args: string[]) =>
      (await palimpsest(['log', '--json', '--store', store.place, ...args])).stdout
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line).seq)
    expect(await seqs('--last', '3')).toEqual([10, 11, 12])
    expect(await seqs('--last', '99')).toHaveLength(13)
    expect(await seqs('--last', '4', '--type', 'turn/*')).toEqual([9])
    expect(await palimpsest(['log', '--last', '3', '--from', '1', '--store', store.place])).toMatchObject({ code: 2 })
  })
})

// --- internal ---

function folder(): string {
  const made = join(temporaryFolder(), 'place')
  mkdirSync(made)
  return made
}

function isFolder(path: string): boolean {
  try {
    readdirSync(path)
    return true
  } catch {
    return false
  }
}

function text(place: string, content = 'no database, but long enough to be looked at like one\n'): string {
  const file = join(place, 'file')
  writeFileSync(file, content)
  return file
}

function database(place: string, sql: string, pragmas: readonly string[] = ['user_version = 0']): string {
  const from = new URL('../../../packages/session-persistence/session-persistence-sqlite/package.json', import.meta.url)
  const Database = createRequire(from)('better-sqlite3')
  const file = join(place, 'file.db')
  const db = new Database(file)
  db.exec(sql || 'CREATE TABLE t (x)')
  for (const pragma of pragmas) db.pragma(pragma)
  db.close()
  return file
}

const ours = (place: string, version: number) =>
  database(place, '', ['application_id = 0x50414C49', `user_version = ${version}`])
