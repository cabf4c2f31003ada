import type { Lease, SessionBackend, StoredLog } from '@palimpsest/session-persistence'
import { expect, test } from 'vitest'
import { intercepted, jsonlMachine, memoryMachine } from './machine.js'
import { findWithin } from './seeds.js'
import type { Plant } from './world.js'

type Around = (run: () => Promise<unknown>, args: readonly unknown[]) => Promise<unknown>

/** A backend one of whose calls is another. */
function changed(call: keyof SessionBackend, around: Around): Plant {
  return {
    backend: backend => intercepted(backend, (name, run, args) => (name === call ? around(run, args) : run())),
  }
}

for (const [store, machineOf] of [
  ['memory', memoryMachine],
  ['JSONL', jsonlMachine],
] as const) {
  test(`${store}: an acknowledgement before the write is found`, async () => {
    const eager = changed('append', async run => void run().catch(() => {}))
    expect(await findWithin(300, machineOf, eager)).toMatch(/acknowledged/)
  })

  test(`${store}: a reader that leaves out the last event is found`, async () => {
    const forgetful = changed('read', async run => {
      const log = (await run()) as StoredLog | undefined
      return log && { ...log, events: log.events.slice(0, -1), length: Math.max(0, log.length - 1) }
    })
    expect(await findWithin(300, machineOf, forgetful)).toMatch(/events/)
  })

  test(`${store}: a tool that runs before its call is safe is found`, async () => {
    expect(await findWithin(300, machineOf, { isHasty: true })).toMatch(/runs before its call is safe/)
  })

  test(`${store}: a release that never ends is found`, async () => {
    const stuck: Plant = {
      backend: backend =>
        intercepted(backend, async (name, run) => {
          const result = await run()
          return name === 'acquire' ? withRelease(result as Lease, () => new Promise(() => {})) : result
        }),
    }
    expect(await findWithin(300, machineOf, stuck)).toMatch(/nothing goes on/)
  })
}

test('memory: a fence that is skipped is found', async () => {
  expect(await findWithin(300, memoryMachine, { isUnfenced: true })).toMatch(/epoch|acknowledged|APPEND_CONFLICT/)
})

test('JSONL: a fence that is skipped is found', async () => {
  expect(await findWithin(600, jsonlMachine, { isUnfenced: true })).toMatch(/epoch|acknowledged|APPEND_CONFLICT/)
})

test('JSONL: a sync that says it is done and is not is found', async () => {
  expect(await findWithin(300, jsonlMachine, { isUnsynced: true })).toMatch(/HEADER_DAMAGED|acknowledged/)
})

// --- internal ---

/** The same lease for the store, which knows it by its object. */
function withRelease(lease: Lease, release: () => Promise<void>): Lease {
  return Object.assign(lease, { release })
}
