import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runStages } from '../../scripts/torture/run-stages.mjs'

const STAGES: { name: string; size: Record<string, number>; isSeeded?: boolean }[] = [
  { name: 'one', size: { PALIMPSEST_ONES: 10 }, isSeeded: true },
  { name: 'two', size: { PALIMPSEST_TWOS: 20 }, isSeeded: true },
  { name: 'three', size: {} },
]

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'palimpsest-stages-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the stages; those named in `bad` fail, `stopAt` is where somebody has enough. Gives what was run, with its seeds. */
async function run(
  options: { bad?: string; stopAt?: string; again?: boolean; passes?: number; stages?: typeof STAGES } = {},
) {
  const { bad, stopAt, again = false, passes, stages = STAGES } = options
  const ran: [string, number | ''][] = []
  const seed = Math.floor(Math.random() * 2 ** 30)
  const isTimeUp = passes === undefined ? undefined : () => ran.length >= passes * stages.length
  const outcome = runStages(stages, {
    folder,
    seed,
    again,
    isTimeUp,
    say: () => {},
    run: async ({ name }: { name: string }, stageSeed: number | '') => {
      if (name === stopAt) throw new Error('stopped')
      ran.push([name, stageSeed])
      return name !== bad
    },
  })
  const passed = await outcome.catch(() => undefined)
  return { ran, names: ran.map(([name]) => name), passed }
}

const table = () => readFileSync(join(folder, 'torture-report.md'), 'utf8')

describe('a torture run', () => {
  test('goes on behind what passed before it was stopped', async () => {
    expect(await run({ stopAt: 'two' })).toMatchObject({ names: ['one'], passed: undefined })
    expect(await run()).toMatchObject({ names: ['two', 'three'], passed: true })
    expect(await run()).toMatchObject({ names: [], passed: true })
  })

  test('runs what failed again, from the same seed, and the rest not', async () => {
    const first = await run({ bad: 'two' })
    expect(first).toMatchObject({ names: ['one', 'two', 'three'], passed: false })
    const second = await run()
    expect(second).toMatchObject({ ran: [first.ran[1]], passed: true })
    expect(table()).not.toContain('FAILED')
  })

  test('has the same seeds whichever stages are asked for', async () => {
    const [alone] = (await run({ stages: STAGES.slice(1, 2) })).ran
    expect((await run({ again: false })).names).toEqual(['one', 'three'])
    expect(table()).toContain(`| two | 1 | TWOS 20 | 0 | passed | ${alone![1]} |`)
  })

  test('runs a stage again whose size has changed, and everything when told to', async () => {
    const first = await run()
    const larger = STAGES.map(stage => (stage.name === 'one' ? { ...stage, size: { PALIMPSEST_ONES: 11 } } : stage))
    expect((await run({ stages: larger })).names).toEqual(['one'])
    const again = await run({ again: true })
    expect(again.names).toEqual(['one', 'two', 'three'])
    expect(again.ran[0]![1]).not.toBe(first.ran[0]![1])
  })

  test('goes over all stages from new seeds until its time is up, also where it was stopped', async () => {
    const { ran } = await run({ passes: 2 })
    expect(ran.map(([name]) => name)).toEqual(['one', 'two', 'three', 'one', 'two', 'three'])
    expect(ran[3]![1]).not.toBe(ran[0]![1])
    expect((await run({ passes: 1 })).names).toEqual(['one', 'two', 'three'])
    expect(table().match(/^\| one \|/gm)).toHaveLength(3)
  })

  test('starts over where its notes cannot be read', async () => {
    await run()
    writeFileSync(join(folder, 'torture.json'), '{')
    expect((await run()).names).toEqual(['one', 'two', 'three'])
  })
})
