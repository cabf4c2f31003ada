import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '@palimpsest/session'
import { forkSession, mendSession, openSession } from '@palimpsest/session-persistence'
import { describe, expect, it } from 'vitest'
import {
  randomSession,
  seededRandom,
} from '../../../packages/session-persistence/session-persistence/test/random-log.js'
import { addSession, KINDS, newStore, type TestedStore } from './both-stores.js'
import { jsonLines, palimpsest, start } from './command.js'
import { fillStory } from './stores.js'

const ROUNDS = Number(process.env.PALIMPSEST_SALVAGE_ROUNDS ?? 1)

const run = (store: TestedStore, ...args: string[]) => palimpsest([...args, '--store', store.place])
const eventsOf = async (store: TestedStore, id: string) =>
  jsonLines((await run(store, 'log', id, '--json')).stdout) as SessionEvent[]

describe.each(KINDS)('doctor on a damaged session (%s)', kind => {
  it('names the hole, mends it into a new session, leaves the old bytes alone, and finds nothing more to mend', async () => {
    const store = newStore(kind)
    await addSession(store, 'story', fillStory)
    store.spoil('story', 6)
    store.spoil('story', 9)
    const before = store.snapshot('story')
    const found = await run(store, 'doctor', 'story', '--json')
    expect(found.code).toBe(1)
    const holes = JSON.parse(found.stdout).findings.filter(({ code }: { code: string }) => code === 'LOG_HOLE')
    expect(holes.map(({ damage }: { damage: { where: { seq: number } } }) => damage.where.seq)).toEqual([6, 9])
    expect((await run(store, 'doctor', 'story')).stdout).toContain('doctor story --fix')

    const mended = JSON.parse((await run(store, 'doctor', 'story', '--fix', '--json')).stdout)
    expect(mended.holes).toMatchObject([
      { from: 6, to: 7 },
      { from: 9, to: 10 },
    ])
    for (const { bytes } of mended.holes) expect(bytes).toBeGreaterThan(0)
    expect(store.snapshot('story')).toBe(before)
    expect(await run(store, 'doctor', mended.fixed)).toMatchObject({ code: 0 })
    const again = await run(store, 'doctor', mended.fixed, '--fix')
    expect(again).toMatchObject({ code: 3 })
    expect(again.stderr).toContain('NOTHING_TO_MEND')
    const events = await eventsOf(store, mended.fixed)
    expect(events.filter(({ type }) => type === 'log/lost').map(({ seq }) => seq)).toEqual([6, 9])
    expect((await run(store, 'show', mended.fixed)).stdout).toContain('second summary')
  })

  it('closes a turn that was interrupted by appending its truthful end', async () => {
    const store = newStore(kind)
    const { events } = await addSession(store, 'story', session => {
      session.append('turn/start', { turn: 1 })
      session.append('step/start', { turn: 1, step: 1 })
    })
    expect(await run(store, 'doctor', 'story')).toMatchObject({ code: 1 })
    const mended = JSON.parse((await run(store, 'doctor', 'story', '--fix', '--json')).stdout)
    expect(mended).toMatchObject({ id: 'story', fixed: 'story', length: 4 })
    expect(mended.appended.map(({ type }: SessionEvent) => type)).toEqual(['step/end', 'turn/end'])
    expect(await eventsOf(store, 'story')).toEqual([...events, ...mended.appended])
    expect(await run(store, 'doctor', 'story')).toMatchObject({ code: 0 })
  })

  it('reads on behind a header that cannot be trusted, and gives the events a new one', async () => {
    const store = newStore(kind)
    const { events } = await addSession(store, 'story', fillStory)
    store.spoilHeader('story')
    const before = store.snapshot('story')
    const found = await run(store, 'doctor', 'story')
    expect(found).toMatchObject({ code: 1 })
    expect(found.stdout).toMatch(/HEADER_DAMAGED.*doctor story --fix/)
    const { fixed, holes } = JSON.parse((await run(store, 'doctor', 'story', '--fix', '--json')).stdout)
    expect(holes).toEqual([])
    expect(await eventsOf(store, fixed)).toEqual(events)
    expect(store.snapshot('story')).toBe(before)
  })

  it('reads a fork whose header is lost with what it shares, and one whose shared part has a hole', async () => {
    const store = newStore(kind)
    const parent = await addSession(store, 'story', fillStory)
    const backend = store.open()
    for (const id of ['headless', 'holed']) {
      const fork = await forkSession(backend, 'story', { id, length: 10 })
      fork.session.append('turn/start', { turn: 2 })
      fork.session.append('turn/end', { turn: 2, reason: { kind: 'completed' } })
      await fork.close()
    }
    await backend.close()
    store.spoilHeader('headless')
    const headless = JSON.parse((await run(store, 'doctor', 'headless', '--fix', '--json')).stdout)
    expect(headless.holes).toEqual([])
    const events = await eventsOf(store, headless.fixed)
    expect(events.slice(0, 10)).toEqual(parent.slice(0, 10))
    expect(events.map(({ type }) => type).slice(10)).toEqual(['turn/start', 'turn/end'])

    store.spoil('story', 3)
    const { fixed, holes } = JSON.parse((await run(store, 'doctor', 'holed', '--fix', '--json')).stdout)
    expect(holes).toMatchObject([{ from: 3, to: 4 }])
    expect((await eventsOf(store, fixed)).map(({ type }) => type).slice(-2)).toEqual(['turn/start', 'turn/end'])
  })

  it('goes on with the other sessions of the store', async () => {
    const store = newStore(kind)
    for (const id of ['a', 'b', 'c']) await addSession(store, id, fillStory)
    store.spoilHeader('a')
    store.spoil('b', 8)
    const all = await run(store, 'doctor', '--json')
    expect(all.code).toBe(1)
    const oks = JSON.parse(all.stdout).map(({ id, ok }: { id: string; ok: boolean }) => [id, ok])
    expect(Object.fromEntries(oks)).toEqual({ a: false, b: false, c: true })
    const listed = JSON.parse((await run(store, 'ls', '--json')).stdout)
    expect(listed.map(({ id }: { id: string }) => id).sort()).toEqual(['a', 'b', 'c'])
  })

  it('that is killed leaves no new session, or a whole one', async () => {
    const store = newStore(kind)
    await addSession(store, 'long', session => {
      fillStory(session)
      session.append('turn/start', { turn: 2 })
      session.append('step/start', { turn: 2, step: 1 })
      for (let i = 0; i < 3000; i++) {
        session.append('assistant/chunk', { turn: 2, step: 1, chunk: { type: 'text-delta', id: '0', text: `${i}` } })
      }
    })
    store.spoil('long', 8)
    const random = seededRandom(3)
    for (let round = 0; round < 4 * ROUNDS; round++) {
      const { child, ended } = start(['doctor', 'long', '--fix', '--store', store.place])
      setTimeout(() => child.kill('SIGKILL'), 150 + random(500))
      await ended
    }
    const listed = JSON.parse((await run(store, 'ls', '--json')).stdout) as { id: string; length: number }[]
    const made = listed.filter(({ id }) => id !== 'long')
    for (const { id, length } of made) {
      expect(length).toBe(3017)
      expect(await run(store, 'doctor', id)).toMatchObject({ code: 0 })
    }
    expect(await run(store, 'doctor', 'long', '--fix')).toMatchObject({ code: 0 })
  })

  it('keeps all that is readable of random logs with random losses, and invents nothing', async () => {
    for (let seed = 1; seed <= 25 * ROUNDS; seed++) {
      const random = seededRandom(seed)
      const store = newStore(kind)
      const backend = store.open()
      const lease = await backend.acquire('random')
      const { header, events } = randomSession(random)
      await backend.append(lease, header, events)
      await lease.release()
      await backend.close()
      for (const event of events) {
        if (event.type !== 'assistant/chunk' && random(12) === 0) store.spoil('random', event.seq)
      }
      if (random(6) === 0) store.spoilHeader('random')
      await checkMended(store, events, `seed ${seed}`)
    }
  })
})

describe('doctor on spoilt bytes of a JSONL log', () => {
  it.each<[string, (lines: string[]) => string[]]>([
    ['a header line that is gone', lines => lines.slice(1)],
    ['a header glued to the first event', lines => [lines[0]! + lines[1]!, ...lines.slice(2)]],
    ['an event that stands there twice', lines => [...lines.slice(0, 5), lines[4]!, ...lines.slice(5)]],
    ['two events on one line', lines => [...lines.slice(0, 5), lines[5]! + lines[6]!, ...lines.slice(7)]],
    ['a stray line', lines => [...lines.slice(0, 5), 'stray', ...lines.slice(5)]],
  ])('rewrites %s: every event is there', async (_, spoil) => {
    const store = newStore('jsonl')
    const { events } = await addSession(store, 'story', fillStory)
    const file = join(store.place, 'story.jsonl')
    writeFileSync(file, spoil(readFileSync(file, 'utf8').split('\n')).join('\n'))
    expect(await run(store, 'doctor', 'story')).toMatchObject({ code: 1 })
    const { fixed, holes } = JSON.parse((await run(store, 'doctor', 'story', '--fix', '--json')).stdout)
    expect(holes).toEqual([])
    expect(await eventsOf(store, fixed)).toEqual(events)
    expect(await run(store, 'doctor', fixed)).toMatchObject({ code: 0 })
  })

  it('cuts a torn tail where it is, and keeps it aside', async () => {
    const store = newStore('jsonl')
    await addSession(store, 'story', fillStory)
    writeFileSync(join(store.place, 'story.jsonl'), '{"seq":13,', { flag: 'a' })
    expect((await run(store, 'doctor', 'story')).stdout).toContain('RECORD_TORN')
    const mended = JSON.parse((await run(store, 'doctor', 'story', '--fix', '--json')).stdout)
    expect(mended).toMatchObject({ fixed: 'story', appended: [], damage: [{ code: 'RECORD_TORN' }] })
    expect(readFileSync(join(store.place, mended.damage[0].kept), 'utf8')).toBe('{"seq":13,')
    expect(await run(store, 'doctor', 'story')).toMatchObject({ code: 0 })
  })

  it('mends lines deleted, doubled, glued and bytes flipped anywhere', async () => {
    for (let seed = 100; seed < 100 + 30 * ROUNDS; seed++) {
      const random = seededRandom(seed)
      const store = newStore('jsonl')
      const backend = store.open()
      const lease = await backend.acquire('random')
      const { header, events } = randomSession(random)
      await backend.append(lease, header, events)
      await lease.release()
      const file = join(store.place, 'random.jsonl')
      for (let faults = 1 + random(4); faults > 0; faults--) writeFileSync(file, spoilt(readFileSync(file), random))
      await checkMended(store, events, `seed ${seed}`)
    }
  })
})

// --- internal ---

function spoilt(bytes: Buffer, random: (below: number) => number): Buffer {
  const at = random(bytes.length)
  const start = bytes.lastIndexOf(10, at) + 1
  const newline = bytes.indexOf(10, at)
  const end = newline < 0 ? bytes.length : newline + 1
  switch (random(4)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)])
    case 1:
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)])
    case 2:
      return newline < 0 ? bytes : Buffer.concat([bytes.subarray(0, newline), bytes.subarray(newline + 1)])
    default: {
      const flipped = Buffer.from(bytes)
      flipped[at]! ^= 1 << random(8)
      return flipped
    }
  }
}

/** Against what was stored, and against what can be read of it now. */
async function checkMended(store: TestedStore, stored: readonly SessionEvent[], told: string): Promise<void> {
  const backend = store.open()
  const readable: SessionEvent[] = []
  await backend.scan!('random', events => void readable.push(...events))
  for (const event of readable) expect(event, told).toEqual(stored[event.seq])
  const mended = await mendSession(backend, 'random')
  if (mended !== undefined) {
    const open = await openSession(backend, mended.id)
    expect(open.report, told).toEqual({ damage: [], repaired: [], readOnly: false })
    const whole = JSON.stringify(open.session.events.map(({ type, data }) => [type, data]))
    for (const { seq, type, data } of readable) {
      if (type === 'compaction/start' || mended.leftOut.includes(seq)) continue
      expect(whole.includes(JSON.stringify([type, data])), `${told}: event ${seq}`).toBe(true)
    }
    const lost = open.session.events.filter(({ type }) => type === 'log/lost')
    expect(
      lost.map(({ data }) => data),
      told,
    ).toEqual(mended.holes)
    expect(stored.length - readable.length, told).toBeGreaterThanOrEqual(
      mended.holes.reduce((sum, { from, to }) => sum + to - from, 0),
    )
    await open.close()
    expect(await mendSession(backend, mended.id), told).toBeUndefined()
  }
  await backend.close()
}
