import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useWorkers, Worker } from './crew.js'
import { DAMAGED, mendDamaged } from './damaged.js'
import { Ledger } from './ledger.js'
import { type Said, TARGETS } from './said.js'
import { below, pick, type Random, seeded } from './seeded.js'
import { openStore, STORES, type StoreName } from './stores.js'
import { Volume } from './volume.js'

const CUTS = Number(process.env.PALIMPSEST_CUTS ?? 80)
const CUTS_PER_STORE = Math.ceil(CUTS / STORES.length)
const CONTROL_CUTS = 10
const LONGEST_DELAY_MS = 40
/** A loss of power may leave half a record, or one of zeros, behind what was acknowledged. */
const TORN: Record<StoreName, readonly string[]> = { jsonl: ['RECORD_TORN', 'RECORD_DAMAGED'], sqlite: [] }

const missing = Volume.missing()
if (missing !== undefined) console.log(`SKIPPED: no power is cut here, as ${missing}`)

useWorkers()

describe.skipIf(missing !== undefined)('a power cut', () => {
  let volume: Volume
  beforeAll(() => {
    volume = new Volume()
  })
  afterAll(() => volume?.dispose())

  test.each(STORES)(
    `%s: takes nothing that was acknowledged, in ${CUTS_PER_STORE} cuts`,
    {
      timeout: 60_000 + CUTS * 3000,
    },
    async store => {
      const seed = Number(process.env.PALIMPSEST_SEED ?? Date.now() % 2 ** 31)
      const random = seeded(seed)
      const place = makePlace(volume, store)
      const ledger = new Ledger(TORN[store])
      ledger.mended = await onVolume(store, place, backend => mendDamaged(backend, store, place))
      for (let cut = 1; cut <= CUTS_PER_STORE; cut++) {
        await cutPower(volume, store, place, ledger, random)
        // Who comes first after the cut is a reader, or the next worker.
        const problems = random() < 0.6 ? await onVolume(store, place, backend => ledger.check(backend)) : []
        expect(problems, `cut ${cut}, seed ${seed}`).toEqual([])
      }
      expect(await onVolume(store, place, backend => ledger.checkAll(backend))).toEqual([])
      console.log(
        `${store}: ${CUTS_PER_STORE} power cuts, seed ${seed}, ${ledger.acknowledgedEvents} events acknowledged, none lost`,
      )
    },
  )

  test.each(STORES)(
    '%s: takes something from a store that does not sync, so that the cuts prove something',
    async store => {
      const random = seeded(1)
      const losses: string[] = []
      for (let cut = 1; cut <= CONTROL_CUTS && losses.length === 0; cut++) {
        const place = makePlace(volume, `control-${store}-${cut}`)
        const ledger = new Ledger(TORN[store])
        await cutPower(volume, store, place, ledger, random, { isUnsynced: true })
        mkdirSync(place, { recursive: true })
        losses.push(...(await onVolume(store, place, backend => ledger.check(backend))))
      }
      console.log(`${store} without syncs: ${losses[0]}`)
      expect(losses.filter(loss => /acknowledged|cannot be read/.test(loss))).not.toEqual([])
    },
  )
})

// --- internal ---

function makePlace(volume: Volume, name: string): string {
  const place = join(volume.path, name)
  mkdirSync(place)
  return place
}

/** The file system can be unmounted once `work` is done. */
async function onVolume<T>(
  store: StoreName,
  place: string,
  work: (backend: ReturnType<typeof openStore>) => Promise<T>,
): Promise<T> {
  const backend = openStore(store, place)
  try {
    return await work(backend)
  } finally {
    await backend.close()
  }
}

/** Lets a worker acknowledge something, and cuts the power a random while after. */
async function cutPower(
  volume: Volume,
  store: StoreName,
  place: string,
  ledger: Ledger,
  random: Random,
  control: { isUnsynced?: true } = {},
): Promise<void> {
  const target = pick(random, control.isUnsynced ? (['append', 'pack'] as const) : TARGETS)
  const work = { target, seed: below(random, 2 ** 31), main: ledger.main, damaged: DAMAGED }
  const worker = new Worker({ role: 'work', store, place, ...work, ...control })
  for (let acknowledged = 1 + below(random, 12); acknowledged > 0; acknowledged--) await worker.until('acknowledged')
  await setTimeout(random() * random() * LONGEST_DELAY_MS)
  const cutAt = Number(process.hrtime.bigint())
  volume.cut()
  await worker.kill()
  volume.unmount()
  volume.mount()
  for (const said of worker.said) if (said.at! < cutAt || !isPromise(said)) ledger.hear(said)
}

/** A sync that runs while the power goes may say that it has come to its end. */
function isPromise({ acknowledged, removed, forked }: Said): boolean {
  return acknowledged !== undefined || removed !== undefined || forked !== undefined
}
