import { test } from 'vitest'
import { memoryMachine } from './machine.js'
import { expectSameTwice, KINDS, runSeeds } from './seeds.js'

test('agents on the memory store: nothing acknowledged is lost, nothing told is untrue, nothing waits for ever', async () => {
  await runSeeds('memory.spec.ts', memoryMachine, 0, 6000, KINDS)
}, 3_600_000)

test('a seed always goes the same way', () => expectSameTwice(memoryMachine, [1, 20, 300, 4000]))
