import { describe, expect, test } from 'vitest'
import { newPlace, skewedBy, useWorkers, Worker } from './crew.js'
import { createByHand } from './hand.js'
import { foreignIn, forgottenIn } from './ledger.js'
import type { Acknowledged } from './said.js'
import { openStore, STORES, type StoreName } from './stores.js'

const TAKEOVERS = Number(process.env.PALIMPSEST_TAKEOVERS ?? 6)
const DAY_MS = 86_400_000

useWorkers()

describe.each(STORES)('%s: processes that take one session from each other at full speed', store => {
  test.each([2, 3, 5, 8])(
    '%i of them never interleave, and what was acknowledged stays',
    { timeout: 60_000 + TAKEOVERS * 20_000 },
    async n => {
      await race(store, n, () => 0)
    },
  )

  test('4 of them, with clocks up to a day off in both directions, behave the same', {
    timeout: 60_000 + TAKEOVERS * 20_000,
  }, async () => {
    await race(store, 4, i => (i - 1.5) * (DAY_MS / 1.5))
  })
})

// --- internal ---

async function race(store: StoreName, writers: number, skewOf: (writer: number) => number): Promise<void> {
  const seed = Number(process.env.PALIMPSEST_SEED ?? Date.now() % 2 ** 31)
  const place = newPlace()
  const backend = openStore(store, place)
  const first = await createByHand(backend, 's')
  const said = [await first.acknowledge()]
  const racers = Array.from({ length: writers }, (_, i) => {
    const command = { role: 'race', store, place, seed: seed + i, id: 's', takeovers: TAKEOVERS } as const
    return new Worker(command, skewedBy(skewOf(i)))
  })
  await Promise.all(racers.map(racer => racer.exited))

  const lines = racers.flatMap(racer => racer.said)
  expect(lines.filter(({ failed }) => failed !== undefined)).toEqual([])
  for (const { acknowledged } of lines) if (acknowledged !== undefined) said.push(acknowledged)
  const log = (await backend.read('s'))!
  expect([...forgottenIn(log, said), ...foreignIn(log)], `seed ${seed}`).toEqual([])
  expect(log.damage).toEqual([])
  expect(afterFence(racers)).toEqual([])
  const fenced = lines.filter(line => line.fenced !== undefined).length
  console.log(
    `${store}: ${writers} writers, ${reignsIn(said)} reigns, ${fenced} fenced, ${log.length} events, seed ${seed}`,
  )
  // The first owner was overtaken by all of them, and slept through it.
  first.session.append('turn/start', { turn: 1 })
  await expect(first.flush()).rejects.toMatchObject({ code: 'SESSION_FENCED' })
  expect((await backend.read('s'))!.length).toBe(log.length)
  await first.close().catch(() => {})
  await backend.close()
}

/** Acknowledgements of an epoch that its owner already knew to be over. */
function afterFence(racers: readonly Worker[]): Acknowledged[] {
  return racers.flatMap(({ said }) => {
    const over = new Set<number>()
    return said.flatMap(({ fenced, acknowledged }) => {
      if (fenced !== undefined) over.add(fenced)
      return acknowledged !== undefined && over.has(acknowledged.epoch) ? [acknowledged] : []
    })
  })
}

function reignsIn(said: readonly Acknowledged[]): number {
  return new Set(said.map(({ epoch }) => epoch)).size
}
