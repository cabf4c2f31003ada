import { expect } from 'vitest'
import type { MachineOf } from './machine.js'
import { type Outcome, type Plant, simulate } from './world.js'

/**
 * Runs seeds `from` up to `to`, and asserts that all of `kinds` happened in some of them. `PALIMPSEST_SEED=n`
 * runs that one seed and prints all that happens in it; `PALIMPSEST_SEEDS=n` runs n times as many.
 */
export async function runSeeds(spec: string, machineOf: MachineOf, from: number, to: number, kinds: readonly string[]) {
  const only = process.env.PALIMPSEST_SEED
  if (only !== undefined) {
    check(spec, Number(only), await simulate(Number(only), machineOf, {}, line => process.stdout.write(`${line}\n`)))
    return
  }
  const happened: Record<string, number> = {}
  const times = Number(process.env.PALIMPSEST_SEEDS ?? 1)
  for (let seed = from * times; seed < to * times; seed++) {
    const counts = check(spec, seed, await simulate(seed, machineOf))
    for (const [what, count] of Object.entries(counts)) happened[what] = (happened[what] ?? 0) + count
  }
  process.stdout.write(`${spec}: ${(to - from) * times} seeds: ${JSON.stringify(happened)}\n`)
  expect(kinds.filter(kind => !happened[kind])).toEqual([])
}

/** What the first seed says that finds the bug. */
export async function findWithin(seeds: number, machineOf: MachineOf, plant: Plant): Promise<string> {
  for (let seed = 1; seed <= seeds; seed++) {
    const { failure } = await simulate(seed, machineOf, plant)
    if (failure !== undefined) return failure.message
  }
  throw new Error(`expected one of ${seeds} seeds to find the bug that was planted, none did`)
}

export async function expectSameTwice(machineOf: MachineOf, seeds: readonly number[]): Promise<void> {
  for (const seed of seeds) {
    const [first, second] = [await simulate(seed, machineOf), await simulate(seed, machineOf)]
    expect(second.hash, `seed ${seed} goes two ways`).toBe(first.hash)
  }
}

// --- internal ---

function check(spec: string, seed: number, { failure, counts }: Outcome): Outcome['counts'] {
  if (failure === undefined) return counts
  const replay = `PALIMPSEST_SEED=${seed} npx vitest run test/simulation/${spec}`
  throw new Error(`seed ${seed}: ${failure.message}\nreplay: ${replay}`, { cause: failure })
}

/** What must happen in some seeds, else they show little. */
export const KINDS = [
  ...[
    'create',
    'open',
    'takeover',
    'fork',
    'close',
    'remove',
    'read',
    'list',
    'send',
    'steer',
    'inject',
    'dispose',
    'edit',
  ],
  ...['kill', 'stop', 'wake', 'break', 'requests', 'tools', 'results', 'repairs'],
  ...['SESSION_FENCED', 'SESSION_LOCKED', 'WRITE_FAILED'],
]
