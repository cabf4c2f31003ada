import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { build, Writer } from './processes.js'
import { filesOf, newDirectory, openStore } from './stores.js'

const ROUNDS = Number(process.env.PALIMPSEST_KILL_ROUNDS ?? 200)
const AT_ONCE = 4

beforeAll(build)

/** A small seeded generator (mulberry32), so that a failing run can be repeated. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Lets a writer work until it has said a random number of lines, and kills it at a random moment after that. */
async function killRound(directory: string, id: string, random: () => number): Promise<number> {
  const writer = new Writer(directory, id)
  for (let lines = Math.floor(random() * 12); lines >= 0; lines--) if ((await writer.next()) === undefined) break
  for (let ticks = Math.floor(random() * 20); ticks > 0; ticks--) await new Promise(setImmediate)
  await writer.kill()
  expect(writer.said.filter(({ failed }) => failed)).toEqual([])
  return writer.acknowledged
}

test(`every acknowledged event is there after each of ${ROUNDS} kills`, {
  timeout: 20_000 + ROUNDS * 2000,
}, async () => {
  const seed = Number(process.env.PALIMPSEST_SEED ?? Date.now() % 2 ** 31)
  console.log(`kill rounds: ${ROUNDS}, seed ${seed}`)
  const directory = newDirectory()
  const backend = openStore(directory)
  let rounds = 0
  const series = async (id: string, random: () => number) => {
    let acknowledged = 0
    while (rounds < ROUNDS) {
      rounds += 1
      acknowledged = Math.max(acknowledged, await killRound(directory, id, random))
      const log = await backend.read(id)
      expect(log?.length ?? 0).toBeGreaterThanOrEqual(acknowledged)
      expect((log?.damage ?? []).every(({ code }) => code === 'RECORD_TORN')).toBe(true)
      for (const [i, { seq }] of (log?.events ?? []).entries()) expect(seq).toBe(i)
      // Its owner is dead on this host, so no takeover is needed, and of the locks one stays.
      expect(filesOf(directory, id).filter(name => name.includes('.lock.')).length).toBeLessThanOrEqual(2)
    }
    expect(acknowledged).toBeGreaterThan(0)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => series(`s${i}`, seeded(seed + i))))
})

describe('two processes on one session', () => {
  test('the second is refused, with the name of the first, until that one is dead', async () => {
    const directory = newDirectory()
    const first = new Writer(directory, 's', '--once')
    expect(await first.next()).toEqual({ opened: 0 })
    const second = new Writer(directory, 's', '--once')
    expect(await second.next()).toEqual({ failed: 'SESSION_LOCKED' })
    await expect(openStore(directory).acquire('s')).rejects.toMatchObject({
      code: 'SESSION_LOCKED',
      message: expect.stringContaining(`process ${first.child.pid}`),
    })
    await first.kill()
    const third = new Writer(directory, 's', '--once')
    expect(await third.next()).toEqual({ opened: 0 })
    expect(filesOf(directory, 's')).toEqual(['s.jsonl', 's.lock.2'])
  })

  test('an owner that is stopped lives, and when it wakes after a takeover it is told, and writes nothing', async () => {
    const directory = newDirectory()
    const path = join(directory, 's.jsonl')
    const sleeper = new Writer(directory, 's', '--once')
    await sleeper.next()
    sleeper.write()
    expect(await sleeper.next()).toEqual({ acknowledged: 2 })
    sleeper.child.kill('SIGSTOP')

    await expect(openStore(directory).acquire('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
    const taker = new Writer(directory, 's', '--once', '--takeover')
    expect(await taker.next()).toEqual({ opened: 2 })
    taker.write()
    expect(await taker.next()).toEqual({ acknowledged: 4 })

    const bytes = readFileSync(path)
    sleeper.write()
    sleeper.child.kill('SIGCONT')
    expect(await sleeper.next()).toEqual({ failed: 'SESSION_FENCED' })
    expect(readFileSync(path).equals(bytes)).toBe(true)
    taker.write()
    expect(await taker.next()).toEqual({ acknowledged: 6 })
    const log = (await openStore(directory).read('s'))!
    expect(log.damage).toEqual([])
    expect(log.events.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5])
  })

  test('that write at full speed while one takes over from the other never interleave', async () => {
    const directory = newDirectory()
    const writers = [new Writer(directory, 's')]
    for (let i = 0; i < 6; i++) {
      const last = writers.at(-1)!
      for (let lines = 0; lines < 5; lines++) await last.next()
      writers.push(new Writer(directory, 's', '--takeover'))
      await last.exited
      expect(last.said.at(-1)).toEqual({ failed: 'SESSION_FENCED' })
    }
    await writers.at(-1)!.next()
    await writers.at(-1)!.kill()
    const log = (await openStore(directory).read('s'))!
    expect(log.damage.filter(({ code }) => code !== 'RECORD_TORN')).toEqual([])
    expect(log.events.map(({ seq }) => seq)).toEqual(log.events.map((_, i) => i))
    expect(log.length).toBeGreaterThanOrEqual(Math.max(...writers.map(({ acknowledged }) => acknowledged)))
  })
})
