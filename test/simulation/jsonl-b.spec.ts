import { test } from 'vitest'
import { jsonlMachine } from './machine.js'
import { KINDS, runSeeds } from './seeds.js'

test('agents on the JSONL store, the other half of the seeds', async () => {
  await runSeeds('jsonl-b.spec.ts', jsonlMachine, 2000, 4000, [...KINDS, 'losePower', 'rot'])
}, 3_600_000)
