import { test } from 'vitest'
import { jsonlMachine } from './machine.js'
import { expectSameTwice, KINDS, runSeeds } from './seeds.js'

test('agents on the JSONL store: nothing acknowledged is lost, nothing told is untrue, nothing waits for ever', async () => {
  await runSeeds('jsonl-a.spec.ts', jsonlMachine, 0, 2000, [...KINDS, 'losePower', 'rot'])
}, 3_600_000)

test('a seed always goes the same way', () => expectSameTwice(jsonlMachine, [1, 20, 300, 4000]))
