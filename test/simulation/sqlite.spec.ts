import { test } from 'vitest'
import { sqliteMachine } from './machine.js'
import { expectSameTwice, KINDS, runSeeds } from './seeds.js'

test('agents on the SQLite store: nothing acknowledged is lost, nothing told is untrue, nothing waits for ever', async () => {
  await runSeeds('sqlite.spec.ts', sqliteMachine, 0, 200, KINDS)
}, 3_600_000)

test('a seed always goes the same way', () => expectSameTwice(sqliteMachine, [1, 20]))
