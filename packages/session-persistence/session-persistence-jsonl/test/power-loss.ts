import { expect, test } from 'vitest'
import { CrashPoint, type Recording } from './crash-states.js'
import { seeded } from './logs.js'
import { checkPromises, type Findings, type Promises } from './promises.js'
import { REFERENCE_RUNS, type ReferenceRun } from './reference-runs.js'
import { SimulatedDisk } from './simulated-disk.js'
import { bury, type Mark, Witness } from './witness.js'

export interface Figures extends Findings {
  /** Moments after which the power goes, or the process is killed. */
  points: number
  /** Different disks that were checked, each with every promise that had been made when it could come about. */
  states: number
  checks: number
}

/** A disk on which a promise does not hold. */
export class FoundOut extends Error {}

interface Recorded extends Recording {
  readonly marks: readonly Mark[]
}

/** Lets a run happen and writes down what it told the disk; its owners are then dead. */
async function record({ run, faults }: ReferenceRun): Promise<Recorded> {
  const witness = new Witness(faults)
  await run(witness)
  witness.disk.rewrite(bury)
  const { disk, marks } = witness
  return { image: disk.image, changes: disk.changes, directories: disk.directories, marks }
}

/**
 * Checks what a kill and a loss of power may leave after each change of a run: all of it where it is little, else
 * draws until about `most` different disks were seen. Throws at the first broken promise, and says where.
 */
export async function losePower(run: ReferenceRun, most: number, seed: number): Promise<Figures> {
  const recorded = await record(run)
  const figures: Figures = { points: recorded.changes.length + 1, states: 0, checks: 0, holes: 0, takeovers: 0 }
  const random = seeded(seed)
  const disks = new Set<string>()
  const checked = new Set<string>()
  const open = new Map<number, CrashPoint>()

  const check = async (upTo: number, key: string, disk: () => SimulatedDisk) => {
    const at = promisesAt(recorded.marks, upTo)
    if (checked.has(`${at.index}:${key}`)) return false
    checked.add(`${at.index}:${key}`)
    figures.checks += 1
    try {
      await checkPromises(disk(), at.promises, figures, figures.checks % WHOLE_EVERY === 1)
    } catch (cause) {
      throw new FoundOut(
        `${run.name}: broken after change ${upTo} of ${recorded.changes.length}, on ${key}: ${cause}`,
        {
          cause,
        },
      )
    }
    if (!disks.has(key)) figures.states += 1
    disks.add(key)
    return true
  }

  for (let upTo = 0; upTo <= recorded.changes.length; upTo++) {
    await check(upTo, `the kill at ${upTo}`, () =>
      SimulatedDisk.replay(recorded.image, recorded.changes.slice(0, upTo), recorded.directories),
    )
    const point = new CrashPoint(recorded, upTo)
    const all = point.all(Math.max(16, (2 * most) / figures.points))
    if (all === undefined) open.set(upTo, point)
    for (const state of all ?? [point.worst()]) await check(upTo, state.key, () => new SimulatedDisk(state.image()))
  }
  // The rest by turns, so that every moment gets its share; one that keeps giving what was seen is used up.
  const idle = new Map<number, number>()
  while (figures.states < most && open.size > 0) {
    for (const [upTo, point] of open) {
      if (figures.states >= most) break
      const state = point.draw(random)
      const isNew = await check(upTo, state.key, () => new SimulatedDisk(state.image()))
      idle.set(upTo, isNew ? 0 : (idle.get(upTo) ?? 0) + 1)
      if (idle.get(upTo)! > IDLE_DRAWS) open.delete(upTo)
    }
  }
  return figures
}

/** Different disks over all runs, which each have as many as their share; of more, asked for with the environment variable, some have fewer. */
const FEWEST_STATES = 200_000
const STATES = Number(process.env.PALIMPSEST_STATES ?? FEWEST_STATES)

/** One test a run, which takes its share of all states. */
export function testPowerLoss(runs: readonly ReferenceRun[], part = 1): void {
  // The store takes many buffers of a few KiB each time it is opened.
  Buffer.poolSize = 1 << 20
  test.each(runs.map(run => [run.name, run] as const))('%s', { timeout: 60_000 + STATES * 2 }, async (_, run) => {
    const shareOf = (states: number) => Math.ceil((states * part * weightOf(run)) / WEIGHTS)
    const seed = Number(process.env.PALIMPSEST_SEED ?? 1)
    const before = process.cpuUsage().user
    const figures = await losePower(run, shareOf(STATES), seed)
    const seconds = ((process.cpuUsage().user - before) / 1e6).toFixed(1)
    console.log(`${run.name}: ${JSON.stringify(figures)}, seed ${seed}, ${seconds} s of CPU`)
    expect(figures.states).toBeGreaterThanOrEqual(shareOf(Math.min(STATES, FEWEST_STATES)))
  })
}

// --- internal ---

const IDLE_DRAWS = 40
/** Going all the way that applications go costs several times as much. */
const WHOLE_EVERY = 16

const weightOf = ({ weight = 1 }: ReferenceRun) => weight
const WEIGHTS = REFERENCE_RUNS.reduce((sum, run) => sum + weightOf(run), 0)

/** The last thing that was said before the next change. */
function promisesAt(marks: readonly Mark[], upTo: number): { index: number; promises: Promises } {
  const index = marks.findLastIndex(({ at }) => at <= upTo)
  return { index, promises: index === -1 ? new Map() : marks[index]!.promises }
}
