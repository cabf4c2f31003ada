import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { SESSION_FORMAT_VERSION } from '@palimpsest/session'
import {
  createSession,
  forkSession,
  mendSession,
  openSession,
  type SessionBackend,
  type StoredLog,
} from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { filesOf, newDirectory, openStore, type SampleLog, sampleLog, store } from './stores.js'

const lineOf = (value: object): string => {
  const body = JSON.stringify(value).slice(0, -1)
  return `${body},"crc":"${crc32(body).toString(16).padStart(8, '0')}"}\n`
}

/** A stored log of one batch, and its bytes. */
async function stored(length: number, id = 's') {
  const directory = newDirectory()
  const backend = openStore(directory)
  const log = sampleLog(id, length)
  await store(backend, log)
  const path = join(directory, `${id}.jsonl`)
  const bytes = readFileSync(path)
  const lines = bytes.toString('utf8').split(/(?<=\n)/)
  return { directory, backend, log, path, bytes, lines }
}

const codes = (log: { damage?: readonly { code: string }[] } | undefined) => (log?.damage ?? []).map(({ code }) => code)

/** Nothing that was read is another event than the one that was written. */
function expectTrue({ events }: StoredLog, log: SampleLog) {
  for (const event of events) expect(event).toEqual(log.events[event.seq])
}

/** Under its name only: what else is linked to the bytes keeps them. */
function replaceFile(path: string, change: (bytes: string) => string): void {
  const bytes = readFileSync(path, 'utf8')
  rmSync(path)
  writeFileSync(path, change(bytes))
}

async function summaryOf(backend: SessionBackend, id: string) {
  for await (const summary of backend.list()) if (summary.id === id) return summary
  return undefined
}

describe('a file that ends too early', () => {
  test('is read, listed and mended at every byte', async () => {
    const { directory, backend, log, path, bytes, lines } = await stored(8)
    const ends: number[] = []
    for (const [i, line] of lines.entries()) ends.push((ends[i - 1] ?? 0) + Buffer.byteLength(line))
    for (let cut = bytes.length; cut >= 0; cut--) {
      writeFileSync(path, bytes.subarray(0, cut))
      // A record without its newline is whole.
      const whole = ends.filter(end => end - 1 <= cut).length
      const isTorn = !ends.some(end => end === cut || end - 1 === cut) || cut === 0
      if (whole === 0) {
        await expect(backend.read('s')).rejects.toMatchObject({ code: 'HEADER_DAMAGED' })
        expect(codes(await summaryOf(backend, 's'))).toEqual(['HEADER_TORN'])
        continue
      }
      const read = (await backend.read('s'))!
      expect(read.events).toEqual(log.events.slice(0, whole - 1))
      expect(read.length).toBe(whole - 1)
      expect(codes(read)).toEqual(isTorn ? ['RECORD_TORN'] : [])
      expect(codes(await summaryOf(backend, 's'))).toEqual(isTorn ? ['RECORD_TORN'] : [])
      const lease = await backend.acquire('s')
      await backend.append(lease, log.header, log.events.slice(whole - 1))
      await lease.release()
      expect(codes(lease)).toEqual(isTorn ? ['RECORD_TORN'] : [])
      // The missing newline comes with the next record.
      const isShort = cut === bytes.length - 1
      expect(readFileSync(path).equals(isShort ? bytes.subarray(0, cut) : bytes)).toBe(true)
      if (!isTorn) continue
      const offset = ends[whole - 1]!
      const { kept, where } = lease.damage![0]!
      expect(where.offset).toBe(offset)
      expect(readFileSync(join(directory, kept!)).equals(bytes.subarray(offset, cut))).toBe(true)
    }
  })

  test('keeps each tail in a side file of its own', async () => {
    const { directory, backend, path, bytes } = await stored(3)
    for (const tail of ['{"seq":3', '{"seq":3,"x"', '']) {
      appendFileSync(path, tail)
      await (await backend.acquire('s')).release()
    }
    const kept = filesOf(directory, 's').filter(name => name.includes('.torn-'))
    expect(kept).toEqual([`s.torn-${bytes.length}-1`, `s.torn-${bytes.length}-2`])
    expect(kept.map(name => readFileSync(join(directory, name), 'utf8'))).toEqual(['{"seq":3', '{"seq":3,"x"'])
  })

  test('with a whole bad line at its end says that it may have been acknowledged', async () => {
    const { backend, path, log } = await stored(3)
    appendFileSync(path, 'no record\nnor this\n{"torn')
    const damage = (await backend.read('s'))!.damage
    expect(damage).toMatchObject([
      { code: 'RECORD_DAMAGED', bytes: 19, kept: null, mayHaveBeenAcknowledged: true, where: { line: 5, seq: 3 } },
      { code: 'RECORD_TORN', bytes: 6, kept: null },
    ])
    expect(damage[1]).not.toHaveProperty('mayHaveBeenAcknowledged')
    const { report, session, close } = await openSession(backend, 's')
    expect(report.damage.map(({ kept }) => kept)).toEqual([expect.stringMatching(/^s\.torn-/), expect.any(String)])
    expect(report.readOnly).toBe(false)
    expect(session.slice(0, 3)).toEqual(log.events)
    await close()
  })

  test('of zeros, as a loss of power leaves it, is a tail', async () => {
    const { backend, path, bytes } = await stored(5)
    truncateSync(path, bytes.length + 5000)
    const lease = await backend.acquire('s')
    expect(lease.damage).toMatchObject([{ code: 'RECORD_TORN', bytes: 5000 }])
    expect(readFileSync(path).equals(bytes)).toBe(true)
  })

  test('under a live lock is not written yet, and no damage', async () => {
    const { backend, path, log } = await stored(3)
    const lease = await backend.acquire('s')
    appendFileSync(path, '{"seq":3,"ti')
    const read = (await backend.read('s'))!
    expect(read.damage).toEqual([])
    expect(read.events).toEqual(log.events)
    expect(codes(await summaryOf(backend, 's'))).toEqual([])
    await lease.release()
    expect(codes(await backend.read('s'))).toEqual(['RECORD_TORN'])
  })
})

test('of every bit that flips none goes unseen as another event', async () => {
  const { backend, log, path, bytes } = await stored(6)
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const bad = Buffer.from(bytes)
    bad[bit >> 3]! ^= 1 << (bit & 7)
    writeFileSync(path, bad)
    let read: StoredLog | undefined
    try {
      read = await backend.read('s')
    } catch (error) {
      expect(error).toMatchObject({ code: 'HEADER_DAMAGED' })
      expect((await summaryOf(backend, 's'))?.error).toMatchObject({ code: 'HEADER_DAMAGED' })
      continue
    }
    expectTrue(read!, log)
    expect(read!.header).toEqual(log.header)
    // The last newline is the one byte that a sound log can do without.
    const isNoticed = read!.damage.length > 0 || bit >> 3 === bytes.length - 1
    expect(isNoticed, `bit ${bit}`).toBe(true)
  }
})

describe('a bad record with good ones behind it', () => {
  test('is a hole: read gives both parts, openSession the first, and nothing is cut', async () => {
    const { directory, backend, log, path, lines } = await stored(12)
    lines[6] = lines[6]!.replace('"seq"', '"sek"')
    const bad = lines.join('')
    writeFileSync(path, `${bad}{"torn`)
    const read = (await backend.read('s'))!
    expect(read.events.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11])
    expectTrue(read, log)
    expect(read.length).toBe(12)
    expect(codes(read)).toEqual(['RECORD_DAMAGED', 'LOG_HOLE', 'RECORD_TORN'])
    expect(read.damage[0]).toMatchObject({ where: { line: 7, seq: 5 }, kept: null, mayHaveBeenAcknowledged: true })
    expect(read.damage[1]!.where).toEqual(read.damage[0]!.where)

    const opened = await openSession(backend, 's')
    expect(opened.report.readOnly).toBe(true)
    expect(opened.session.events).toEqual(log.events.slice(0, 5))
    const lease = await backend.acquire('s')
    for (const event of [{ ...log.events[11]!, seq: 12 }, log.events[5]!]) {
      await expect(backend.append(lease, log.header, [event])).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' })
    }
    await lease.release()
    expect(readFileSync(path, 'utf8')).toBe(`${bad}{"torn`)
    expect(filesOf(directory, 's').some(name => name.includes('.torn-'))).toBe(false)
  })

  test('is a hole too where its line is gone altogether', async () => {
    const { backend, path, lines } = await stored(6)
    writeFileSync(path, [...lines.slice(0, 3), ...lines.slice(5)].join(''))
    const read = (await backend.read('s'))!
    expect(read.events.map(({ seq }) => seq)).toEqual([0, 1, 4, 5])
    expect(read.damage).toMatchObject([{ code: 'LOG_HOLE', where: { seq: 2 }, bytes: 0 }])
  })

  test('is no hole where its records are only glued together: both count', async () => {
    const { backend, log, path, lines } = await stored(6)
    writeFileSync(path, lines.map((line, i) => (i === 2 ? line.trimEnd() : line)).join(''))
    const read = (await backend.read('s'))!
    expect(read.events).toEqual(log.events)
    expect(read.damage).toMatchObject([{ code: 'RECORD_GLUED', bytes: 0, where: { line: 3 } }])
    const { session, report, close } = await openSession(backend, 's')
    expect(report.readOnly).toBe(false)
    expect(session.slice(0, 6)).toEqual(log.events)
    await close()
  })

  test('a torn stub in front of a whole record on one line loses the stub only', async () => {
    const { backend, log, path, lines } = await stored(6)
    lines[3] = `${lines[3]!.slice(0, 20)}${lines[3]}`
    writeFileSync(path, lines.join(''))
    const read = (await backend.read('s'))!
    expect(read.events).toEqual(log.events)
    expect(read.damage).toMatchObject([{ code: 'RECORD_GLUED', bytes: 20 }])
  })

  test('a stub glued behind the last record is tail: cut, kept and said where', async () => {
    const { directory, backend, path, bytes, log } = await stored(6)
    const glued = bytes.subarray(0, bytes.length - 1)
    writeFileSync(path, Buffer.concat([glued, Buffer.from('{"seq":6,"ti')]))
    const lease = await backend.acquire('s')
    expect(lease.damage).toMatchObject([{ code: 'RECORD_TORN', bytes: 12, where: { offset: glued.length, seq: 6 } }])
    expect(readFileSync(join(directory, lease.damage![0]!.kept!), 'utf8')).toBe('{"seq":6,"ti')
    await lease.release()
    expect((await backend.read('s'))!.events).toEqual(log.events)
  })

  test('a record whose seq the log already had does not count', async () => {
    const { backend, log, path, lines } = await stored(6)
    const other = lineOf({ ...log.events[1]!, time: 1 })
    writeFileSync(path, [...lines.slice(0, 4), other, ...lines.slice(4)].join(''))
    const read = (await backend.read('s'))!
    expect(read.events).toEqual(log.events)
    const where = { line: 5, offset: Buffer.byteLength(lines.slice(0, 4).join('')), seq: 3 }
    expect(read.damage).toEqual([{ code: 'SEQ_REPEATED', where, bytes: Buffer.byteLength(other), kept: null }])
  })

  test('what is good JSON with a good crc and no event is damage', async () => {
    for (const value of [{ a: 1 }, { seq: -1, type: 'x', time: 0 }, { seq: 3, type: 5, time: 0 }, ['x']]) {
      const { backend, path } = await stored(3)
      appendFileSync(path, Array.isArray(value) ? '["x"]\n' : lineOf(value))
      expect(codes(await backend.read('s'))).toEqual(['RECORD_DAMAGED'])
    }
  })
})

describe('a header that cannot be trusted', () => {
  test.each(['', '{"version":0,"id":"s"', '\n', 'x\n', '\0\0\0'])(
    '%j is damage, and creating the session keeps it',
    async content => {
      const directory = newDirectory()
      const backend = openStore(directory)
      const path = join(directory, 's.jsonl')
      writeFileSync(path, content)
      const code = content.endsWith('\n') ? 'HEADER_DAMAGED' : 'HEADER_TORN'
      await expect(backend.read('s')).rejects.toMatchObject({ code: 'HEADER_DAMAGED' })
      await expect(openSession(backend, 's')).rejects.toMatchObject({ code: 'HEADER_DAMAGED' })
      expect(await summaryOf(backend, 's')).toMatchObject({
        id: 's',
        damage: [{ code }],
        error: { code: 'HEADER_DAMAGED' },
      })
      const { report, session, close } = await createSession(backend, { id: 's' })
      expect(report.damage).toMatchObject([{ code, kept: 's.torn-0-1', bytes: content.length }])
      expect(readFileSync(join(directory, 's.torn-0-1'), 'utf8')).toBe(content)
      session.append('turn/start', { turn: 1 })
      await close()
      expect((await backend.read('s'))?.events).toHaveLength(1)
    },
  )

  test('of another session is refused, and not moved', async () => {
    const { directory, backend, bytes } = await stored(3)
    const path = join(directory, 't.jsonl')
    writeFileSync(path, bytes)
    await expect(backend.read('t')).rejects.toMatchObject({ code: 'HEADER_DAMAGED' })
    await expect(createSession(backend, { id: 't' })).rejects.toMatchObject({ code: 'HEADER_DAMAGED' })
    expect(await summaryOf(backend, 't')).toMatchObject({ error: { code: 'HEADER_DAMAGED' } })
    expect(readFileSync(path).equals(bytes)).toBe(true)
  })

  test.each([
    ['newer', SESSION_FORMAT_VERSION + 1],
    ['older', SESSION_FORMAT_VERSION - 1],
  ])('of a %s version is refused everywhere, and listed', async (word, version) => {
    const directory = newDirectory()
    const backend = openStore(directory)
    const header = { version, id: 's', createdAt: 1 }
    const refusal = { code: 'FORMAT_VERSION_UNSUPPORTED', message: expect.stringContaining(word) }
    for (const line of [lineOf(header), `${JSON.stringify(header)}\n`]) {
      writeFileSync(join(directory, 's.jsonl'), line)
      await expect(backend.read('s')).rejects.toMatchObject(refusal)
      await expect(openSession(backend, 's')).rejects.toMatchObject(refusal)
      await expect(backend.acquire('s')).rejects.toMatchObject(refusal)
      expect(await summaryOf(backend, 's')).toMatchObject({ id: 's', header: { version }, error: refusal })
    }
    expect(filesOf(directory, 's')).toEqual(['s.jsonl'])
    const lease = await backend.acquire('t')
    await expect(backend.append(lease, { version, id: 't', createdAt: 1 }, [])).rejects.toMatchObject(refusal)
  })

  test('keeps a member called crc of its own', async () => {
    const backend = openStore(newDirectory())
    const header = { version: 0, id: 's', createdAt: 1, crc: '00000000', nested: { crc: 'x' } }
    await store(backend, { header, events: [] })
    expect((await backend.read('s'))?.header).toEqual(header)
  })
})

describe('a link in place of a file', () => {
  test('is never followed', async () => {
    const { directory, backend, bytes } = await stored(3)
    const target = join(directory, 'elsewhere')
    writeFileSync(target, bytes)
    symlinkSync(target, join(directory, 't.jsonl'))
    symlinkSync(join(directory, 'nowhere'), join(directory, 'u.jsonl'))
    mkdirSync(join(directory, 'v.jsonl'))
    for (const id of ['t', 'u', 'v']) {
      await expect(backend.read(id)).rejects.toMatchObject({ code: 'HEADER_DAMAGED' })
      await expect(openSession(backend, id)).rejects.toMatchObject({ code: 'HEADER_DAMAGED' })
      await expect(createSession(backend, { id })).rejects.toMatchObject({ code: 'HEADER_DAMAGED' })
      expect(await summaryOf(backend, id)).toMatchObject({ id, error: { code: 'HEADER_DAMAGED' } })
    }
    expect(readFileSync(target).equals(bytes)).toBe(true)
    expect(existsSync(join(directory, 'nowhere'))).toBe(false)
  })

  test('in place of an index or a lock leads nowhere', async () => {
    const { directory, backend, log, bytes } = await stored(3)
    const target = join(directory, 'elsewhere')
    writeFileSync(target, 'mine')
    symlinkSync(target, join(directory, 's.index'))
    await expect(backend.read('s', { from: 1 })).resolves.toMatchObject({ events: log.events.slice(1) })
    symlinkSync(target, join(directory, 's.lock.2'))
    await expect(backend.acquire('s')).rejects.toMatchObject({ code: expect.any(String) })
    expect(readFileSync(target, 'utf8')).toBe('mine')
    expect(readFileSync(join(directory, 's.jsonl')).equals(bytes)).toBe(true)
  })
})

test('a fork without its base is listed with the refusal that opening it meets', async () => {
  const { directory, backend } = await stored(8)
  await (await forkSession(backend, 's', { id: 'child', length: 4 })).close()
  expect((await summaryOf(backend, 'child'))?.error).toBeUndefined()
  rmSync(join(directory, 'child.base'))
  expect(await summaryOf(backend, 'child')).toMatchObject({ id: 'child', error: { code: 'PARENT_MISMATCH' } })
  await expect(openSession(backend, 'child')).rejects.toMatchObject({ code: 'PARENT_MISMATCH' })
})

test.each<[what: string, spoil: (base: string) => void]>([
  ['missing', base => rmSync(base)],
  ['another one', base => replaceFile(base, bytes => bytes.slice(bytes.indexOf('\n') + 1))],
  ['too short', base => replaceFile(base, bytes => `${bytes.split('\n').slice(0, 3).join('\n')}\n`)],
])('a fork whose base is %s is mended to what it has of its own', async (_, spoil) => {
  const { directory, backend, log } = await stored(8)
  const child = await forkSession(backend, 's', { id: 'child', length: 4 })
  child.session.append('user/message', { message: { role: 'user', content: [] } }, { surfaceOp: 'append' })
  await child.close()
  const own = child.session.slice(4)
  spoil(join(directory, 'child.base'))
  const scanned: unknown[] = []
  const found = await backend.scan?.('child', events => void scanned.push(...events))
  expect(scanned).toEqual(own)
  expect(codes(found)).toEqual(['PARENT_MISMATCH', 'LOG_HOLE'])
  const bytes = filesOf(directory, 'child').map(name => readFileSync(join(directory, name), 'latin1'))
  const mended = await mendSession(backend, 'child', { id: 'mended' })
  expect(mended).toMatchObject({ holes: [{ from: 0, to: 4 }], leftOut: [] })
  const { events = [] } = (await backend.read('mended')) ?? {}
  expect(events.slice(1).map(({ data }) => data)).toEqual(own.map(({ data }) => data))
  expect(filesOf(directory, 'child').map(name => readFileSync(join(directory, name), 'latin1'))).toEqual(bytes)
  expect((await backend.read('s'))?.events).toEqual(log.events)
})

test('a fork that names another last record than its parent has is refused', async () => {
  const { backend } = await stored(8)
  const lease = await backend.acquire('child')
  const header = { version: 0, id: 'child', createdAt: 0, parent: { id: 's', length: 4, crc: '00000000' } }
  await expect(backend.fork(lease, header, 4)).rejects.toMatchObject({ code: 'PARENT_MISMATCH' })
  expect(await backend.read('child')).toBeUndefined()
})

test('a lease of another store is refused, not thrown at', async () => {
  const { backend, log } = await stored(1)
  const lease = await openStore(newDirectory()).acquire('s')
  await expect(backend.append(lease, log.header, [])).rejects.toMatchObject({ code: 'SESSION_FENCED' })
  await expect(backend.fork(lease, log.header, 0)).rejects.toMatchObject({ code: 'SESSION_FENCED' })
})
