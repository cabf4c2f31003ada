import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newPlace, useWorkers, Worker } from './crew.js'
import { DAMAGED, mendDamaged } from './damaged.js'
import { Ledger } from './ledger.js'
import { TARGETS, type Target } from './said.js'
import { below, type Random, seeded } from './seeded.js'
import { openStore, type StoreName } from './stores.js'

const ROUNDS = Number(process.env.PALIMPSEST_KILL_ROUNDS ?? 520)
const SERIES = 3
/** Longer than any operation takes, so that the kill falls anywhere in it. */
const LONGEST_DELAY_MS = 25
const TORN: Record<StoreName, readonly string[]> = { jsonl: ['RECORD_TORN'], sqlite: [] }

/** Processes that work on a store until they are killed, one after the other, in a few stores side by side. */
export function testKills(store: StoreName): void {
  useWorkers()
  test(`${store}: what was acknowledged is there after each of ${ROUNDS} kills, and nothing else`, {
    timeout: 60_000 + ROUNDS * 2000,
  }, async () => {
    const seed = Number(process.env.PALIMPSEST_SEED ?? Date.now() % 2 ** 31)
    const kills: Record<string, number> = {}
    let round = 0
    const next = () => (round < ROUNDS ? round++ : undefined)
    const acknowledged = await Promise.all(
      Array.from({ length: SERIES }, (_, n) => killSeries(store, seeded(seed + n), next, kills)),
    )
    const events = acknowledged.reduce((sum, each) => sum + each, 0)
    console.log(
      `${store}: ${ROUNDS} kills, seed ${seed}, ${events} events acknowledged; in mid-${JSON.stringify(kills)}`,
    )
    for (const target of TARGETS) expect(kills[target]).toBeGreaterThan(ROUNDS / 20)
  })
}

// --- internal ---

/** One store, round after round. */
async function killSeries(
  store: StoreName,
  random: Random,
  next: () => number | undefined,
  kills: Record<string, number>,
): Promise<number> {
  const place = newPlace()
  const backend = openStore(store, place)
  const ledger = new Ledger(TORN[store])
  ledger.mended = await mendDamaged(backend, store, place)
  for (let round = next(); round !== undefined; round = next()) {
    const target = TARGETS[round % TARGETS.length]!
    const said = await killRound(store, place, target, ledger, random)
    kills[said] = (kills[said] ?? 0) + 1
    expect(await ledger.check(backend), `round ${round}, by ${target}`).toEqual([])
  }
  expect(await ledger.checkAll(backend)).toEqual([])
  await backend.close()
  return ledger.acknowledgedEvents
}

/** Lets a worker come to its target, and kills it a random while after. Gives what it was doing. */
async function killRound(store: StoreName, place: string, target: Target, ledger: Ledger, random: Random) {
  const worker = new Worker({
    role: 'work',
    store,
    place,
    target,
    seed: below(random, 2 ** 31),
    main: ledger.main,
    damaged: DAMAGED,
  })
  for (let begun = below(random, 3); begun >= 0; ) if ((await worker.until('doing')) === target) begun -= 1
  await passTime(random)
  await worker.kill()
  for (const said of worker.said) ledger.hear(said)
  expect(worker.said.filter(({ failed }) => failed !== undefined)).toEqual([])
  return worker.said.findLast(({ doing }) => doing !== undefined)!.doing!
}

/** A random while, and no wait for anything: the kill is to come when nobody expects it. */
async function passTime(random: Random): Promise<void> {
  const end = performance.now() + random() * random() * LONGEST_DELAY_MS
  await setTimeout(Math.max(0, end - performance.now() - 1))
  while (performance.now() < end) await new Promise(setImmediate)
}
