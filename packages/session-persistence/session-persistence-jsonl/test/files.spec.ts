import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createSession, forkSession, type Owner, openSession, thisOwner } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { describe, expect, test } from 'vitest'
import { encodeLock } from '../src/lock-file.js'
import { filesOf, newDirectory, openStore, sampleLog, store } from './stores.js'

describe('the files', () => {
  test.each([0o000, 0o077, 0o777, 0o277])('are their owner’s alone under the umask %o', async umask => {
    const directory = join(newDirectory(), 'made', 'deeply')
    const before = process.umask(umask)
    try {
      const backend = openStore(directory)
      await store(backend, sampleLog('s', 9000), 1000)
      await (await forkSession(backend, 's', { id: 'child' })).close()
      writeFileSync(join(directory, 's.jsonl'), '{"seq":9', { flag: 'a' })
      await (await backend.acquire('s')).release()
    } finally {
      process.umask(before)
    }
    for (const made of [directory, join(directory, '..')]) expect(statSync(made).mode & 0o777).toBe(0o700)
    const names = readdirSync(directory)
    expect(names).toEqual(expect.arrayContaining(['s.jsonl', 's.index', 's.lock.2', 'child.base']))
    expect(names.some(name => name.startsWith('s.torn-'))).toBe(true)
    for (const name of names) expect([name, statSync(join(directory, name)).mode & 0o777]).toEqual([name, 0o600])
  })

  test('of a store that cannot be made are refused with a code', () => {
    const file = join(newDirectory(), 'file')
    writeFileSync(file, '')
    expect(() => createJsonlBackend({ directory: file })).toThrow(expect.objectContaining({ code: 'WRITE_FAILED' }))
  })

  test('of a removed session are all gone but the highest lock', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    await store(backend, sampleLog('s', 9000), 1000)
    writeFileSync(join(directory, 's.jsonl'), 'torn', { flag: 'a' })
    await (await backend.acquire('s')).release()
    writeFileSync(join(directory, 's.tmp-1-1-1'), 'left by a crash')
    await backend.remove('s')
    expect(filesOf(directory, 's')).toEqual(['s.lock.3'])
  })

  test('in the making are swept away by the next owner, and only those of the same session', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    await store(backend, sampleLog('s', 3))
    for (const name of ['s.tmp-1-7-1', 's2.tmp-1-7-1', 'other']) writeFileSync(join(directory, name), 'x')
    await backend.acquire('s')
    expect(readdirSync(directory).sort()).toEqual(['other', 's.jsonl', 's.lock.2', 's2.tmp-1-7-1'])
  })

  test('that are no sessions are not listed', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    await store(backend, sampleLog('s', 3))
    for (const name of ['notes.txt', '.jsonl', 'con.jsonl', 'a b.jsonl', 's.jsonl.bak'])
      writeFileSync(join(directory, name), '')
    const ids: string[] = []
    for await (const { id } of backend.list()) ids.push(id)
    expect(ids).toEqual(['s'])
  })
})

describe('a listing', () => {
  test('says of a large log what it says of a small one', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    for (const length of [60, 6000]) await store(backend, sampleLog(`s${length}`, length))
    for await (const { id, title, length, updatedAt, bytes, damage } of backend.list()) {
      const { events } = sampleLog(id, Number(id.slice(1)))
      expect({ title, length, updatedAt, damage }).toEqual({
        title: expect.stringContaining('Frage 1'),
        length: events.length,
        updatedAt: events.at(-1)!.time,
        damage: undefined,
      })
      expect(bytes).toBe(statSync(join(directory, `${id}.jsonl`)).size)
    }
  })

  test('leaves no file open', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    for (let i = 0; i < 20; i++) await store(backend, sampleLog(`s${i}`, 3))
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    for await (const { id } of backend.list()) expect(id).toMatch(/^s/)
    expect(open()).toBe(before)
  })
})

describe('a fork', () => {
  const parent = sampleLog('parent', 60)

  test('takes as many bytes for a long parent as for a short one, and grows by its own events only', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    await store(backend, parent)
    await store(backend, sampleLog('long', 6000))
    const size = async (id: string, length: number) => {
      const child = await backend.acquire(`${id}-child`)
      await backend.fork(child, { ...parent.header, id: `${id}-child`, parent: { id, length } }, length)
      await child.release()
      expect(statSync(join(directory, `${id}-child.base`)).ino).toBe(statSync(join(directory, `${id}.jsonl`)).ino)
      return statSync(join(directory, `${id}-child.jsonl`)).size
    }
    expect(Math.abs((await size('parent', 50)) - (await size('long', 5000)))).toBeLessThan(10)
  })

  test('names the crc of the last shared record as it stands on its line', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    await store(backend, parent)
    const { session, close } = await forkSession(backend, 'parent', { length: 33, id: 'child' })
    const line = readFileSync(join(directory, 'parent.jsonl'), 'utf8').split('\n')[33]!
    expect(session.header.parent).toEqual({ id: 'parent', length: 33, crc: line.slice(-10, -2) })
    await close()
  })

  test('with another file, a short one or none as its base is refused', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    await store(backend, parent)
    await (await forkSession(backend, 'parent', { length: 60, id: 'child' })).close()
    const base = join(directory, 'child.base')
    const lines = readFileSync(base, 'utf8').split(/(?<=\n)/)
    rmSync(base)
    const replace = (content: string) => () => writeFileSync(base, content)
    await store(backend, { header: { ...parent.header }, events: [] }).catch(() => {})
    const other = openStore(newDirectory())
    await store(other, { ...parent, events: parent.events.map(event => ({ ...event, time: event.time + 1 })) })
    const bases = [
      () => {},
      replace(lines.slice(0, 50).join('')),
      replace(lines[0]!),
      replace(''),
      replace(lines.join('').replace('"id":"parent"', '"id":"parend"')),
    ]
    for (const put of bases) {
      put()
      const refusal = { code: 'PARENT_MISMATCH' }
      await expect(backend.read('child')).rejects.toMatchObject(refusal)
      await expect(openSession(backend, 'child')).rejects.toMatchObject(refusal)
    }
    writeFileSync(base, lines.join(''))
    expect((await backend.read('child', { to: 60 }))!.events).toEqual(parent.events)
  })

  test('with a bad record in its base is a log with a hole', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    await store(backend, parent)
    const { session, close } = await forkSession(backend, 'parent', { length: 60, id: 'child' })
    session.append('turn/start', { turn: 9 })
    await close()
    await backend.remove('parent')
    const base = join(directory, 'child.base')
    for (const seq of [30, 59]) {
      const bytes = readFileSync(base)
      const bad = Buffer.from(bytes)
      bad[bad.indexOf(`{"seq":${seq},`) + 3]! ^= 1
      writeFileSync(base, bad)
      const read = (await backend.read('child'))!
      expect(read.events.map(event => event.seq)).toEqual([...Array(read.length).keys()].filter(other => other !== seq))
      expect(read.damage.map(({ code }) => code)).toEqual(['RECORD_DAMAGED', 'LOG_HOLE'])
      const opened = await openSession(backend, 'child')
      expect(opened.report.readOnly).toBe(true)
      expect(opened.session.events).toEqual(parent.events.slice(0, seq))
      writeFileSync(base, bytes)
    }
  })

  test('does not see what its parent writes later, nor a takeover of the parent', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    const opened = await createSession(backend, { id: 'parent', seed: parent.events })
    await (await forkSession(backend, 'parent', { length: 20, id: 'child' })).close()
    opened.session.append('turn/start', { turn: 99 })
    await opened.flush()
    const taken = await openSession(backend, 'parent', { takeover: true })
    taken.session.append('turn/start', { turn: 100 })
    await taken.close()
    expect((await backend.read('child', { to: 20 }))!.events).toEqual(parent.events.slice(0, 20))
    await opened.close().catch(() => {})
  })

  test('of a large parent opens through the parent’s index', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    const long = sampleLog('long', 9000)
    await store(backend, long, 1000)
    const { session, close } = await forkSession(backend, 'long', { length: 8500, id: 'child' })
    expect(filesOf(directory, 'child')).toContain('child.base.index')
    expect(session.slice(0, 8500)).toEqual(long.events.slice(0, 8500))
    await close()
    expect((await backend.read('child', { from: 8400, to: 8500 }))!.events).toEqual(long.events.slice(8400, 8500))
  })
})

describe('a lock', () => {
  const me = thisOwner()

  /** A session that `owner` holds, as its lock says. */
  async function heldBy(owner: Partial<Owner>) {
    const directory = newDirectory()
    const backend = openStore(directory)
    await store(backend, sampleLog('s', 3))
    writeFileSync(join(directory, 's.lock.2'), encodeLock({ ...me, ...owner }, { isReleased: false }).bytes)
    return { directory, backend }
  }

  test.each<[string, Partial<Owner>]>([
    ['of another boot of this host', { boot: 'an-earlier-boot' }],
    ['of a pid that is none', { pid: 2 ** 22 + 1 }],
    ['of a pid that was given away again', { start: '1' }],
  ])('%s stops nobody', async (_, owner) => {
    const { backend } = await heldBy(owner)
    expect((await backend.acquire('s')).epoch).toBe(3)
  })

  test.each<[string, Partial<Owner>]>([
    ['of a living process', {}],
    ['of another host’s name', { host: 'elsewhere', pid: 2 ** 22 + 1 }],
    ['of another host', { host: 'elsewhere', machine: 'other', boot: 'its-boot', pid: 2 ** 22 + 1 }],
    ['of another pid namespace', { pidns: 'pid:[1]', pid: 2 ** 22 + 1 }],
    ['of an unknown boot', { boot: '', pid: 2 ** 22 + 1 }],
  ])('%s is passed by a takeover only', async (_, owner) => {
    const { directory, backend } = await heldBy(owner)
    await expect(backend.acquire('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
    await expect(backend.remove('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
    const { ino } = statSync(join(directory, 's.jsonl'))
    expect((await backend.acquire('s', { takeover: true })).epoch).toBe(3)
    expect(statSync(join(directory, 's.jsonl')).ino).not.toBe(ino)
  })

  test('that cannot be read is passed by a takeover only; one that lost its bytes with the power by anybody', async () => {
    const { directory, backend } = await heldBy({})
    const path = join(directory, 's.lock.2')
    writeFileSync(path, 'what is this\n')
    await expect(backend.acquire('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
    for (const content of ['', '\0'.repeat(200)]) {
      writeFileSync(path, content)
      const lease = await backend.acquire('s')
      expect(lease.epoch).toBe(3)
      await lease.release()
      rmSync(join(directory, 's.lock.3'))
    }
  })

  test('of which one is a folder are not removed, and nothing is moved', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    mkdirSync(join(directory, 's.jsonl'))
    await expect(backend.remove('s')).rejects.toMatchObject({ code: 'HEADER_DAMAGED' })
    expect(filesOf(directory, 's')).toEqual(['s.jsonl', 's.lock.1'])
    rmSync(join(directory, 's.jsonl'), { recursive: true })
    await store(backend, sampleLog('s', 3))
    expect((await backend.read('s'))?.length).toBe(3)
  })

  test.each<[kind: string, put: (path: string) => void]>([
    ['a folder', path => mkdirSync(path)],
    ['a link', path => symlinkSync('elsewhere', path)],
    ['a pipe', path => execFileSync('mkfifo', [path])],
  ])('that is %s cannot be read either', async (_, put) => {
    const { directory, backend } = await heldBy({})
    put(join(directory, 's.lock.3'))
    await expect(backend.acquire('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
    expect((await backend.acquire('s', { takeover: true })).epoch).toBe(4)
  })

  test('of the last epoch that a name can hold is the end: nobody waits for a next one', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    await store(backend, sampleLog('s', 3))
    const last = join(directory, `s.lock.${'9'.repeat(15)}`)
    for (const content of ['', 'what is this\n']) {
      writeFileSync(last, content)
      await expect(backend.acquire('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
      await expect(backend.acquire('s', { takeover: true })).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
      await expect(backend.remove('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
    }
    rmSync(last)
    writeFileSync(join(directory, `s.lock.${'9'.repeat(14)}8`), '')
    expect((await backend.acquire('s')).epoch).toBe(10 ** 15 - 1)
  })

  test('that says unsynced, whoever wrote it there, has the log copied', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    await store(backend, sampleLog('s', 3))
    appendFileSync(join(directory, 's.lock.1'), 'unsynced 0\n')
    const { ino } = statSync(join(directory, 's.jsonl'))
    await backend.acquire('s')
    expect(statSync(join(directory, 's.jsonl')).ino).not.toBe(ino)
  })

  test('of a lower epoch that a slow process leaves behind misleads nobody', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    const log = sampleLog('s', 6)
    await store(backend, { ...log, events: log.events.slice(0, 2) })
    const lease = await backend.acquire('s')
    linkSync(join(directory, 's.lock.2'), join(directory, 's.lock.1'))
    await backend.append(lease, log.header, log.events.slice(2, 4))
    await expect(backend.acquire('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
    await lease.release()
    expect((await backend.acquire('s')).epoch).toBe(3)
  })

  test('that is replaced by another file of its name fences its owner', async () => {
    const directory = newDirectory()
    const backend = openStore(directory)
    const log = sampleLog('s', 6)
    const lease = await backend.acquire('s')
    await backend.append(lease, log.header, log.events.slice(0, 2))
    const path = join(directory, 's.lock.1')
    const bytes = readFileSync(path)
    rmSync(path)
    writeFileSync(path, bytes)
    await expect(backend.append(lease, log.header, log.events.slice(2, 4))).rejects.toMatchObject({
      code: 'SESSION_FENCED',
    })
  })

  test('of a session taken from it in mid-creation lets no file of its own appear', async () => {
    const directory = newDirectory()
    const [slow, fast] = [openStore(directory), openStore(directory)]
    const log = sampleLog('s', 3)
    const sleeper = await slow.acquire('s')
    const taker = await fast.acquire('s', { takeover: true })
    await expect(slow.append(sleeper, log.header, log.events)).rejects.toMatchObject({ code: 'SESSION_FENCED' })
    expect(filesOf(directory, 's')).toEqual(['s.lock.2'])
    await fast.append(taker, log.header, log.events)
    expect((await fast.read('s'))!.events).toEqual(log.events)
  })
})
