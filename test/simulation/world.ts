import { SessionError } from '@palimpsest/session'
import { PersistenceError, type SessionBackend } from '@palimpsest/session-persistence'
import type { Live, Scene } from './agents.js'
import { intercepted, type Machine, type MachineOf } from './machine.js'
import { FAULTS, type Fault, MOVES, type Move } from './moves.js'
import { type Look, Oracle } from './oracle.js'
import { Random } from './random.js'
import { type Owner, Scheduler } from './scheduler.js'

/** A bug on purpose. */
export interface Plant {
  /** Around the store of each process. */
  backend?: (backend: SessionBackend) => SessionBackend
  /** The loop does not wait for a `tool/call` to be safe. */
  isHasty?: true
  /** A writer that was overtaken does not see it. */
  isUnfenced?: true
  /** Syncs do nothing. */
  isUnsynced?: true
}

export interface Outcome {
  readonly failure: Error | undefined
  /** Of everything that happened. */
  readonly hash: number
  /** What succeeded, and how often. */
  readonly counts: Readonly<Record<string, number>>
}

/** One simulated process: dead, it is replaced by another. */
export interface Process extends Owner {
  readonly backend: SessionBackend
  readonly lives: Live[]
  /** What it has closed; an agent may still be on its way to rest there. */
  readonly closed: Live[]
  /** Sessions that it is just opening, closing or removing. */
  readonly busy: Set<string>
  /** The epoch of its last lease, by session. */
  readonly epochs: Map<string, number>
  readonly now: () => number
}

/** Some processes at work on one store, and what befalls them; all of it decided by the seed. */
export async function simulate(
  seed: number,
  machineOf: MachineOf,
  plant: Plant = {},
  onNote?: (line: string) => void,
): Promise<Outcome> {
  const world = new World(seed, machineOf, plant, onNote)
  const uninstall = world.scheduler.install()
  try {
    await world.run()
  } catch (error) {
    world.oracle.fail(error)
  } finally {
    uninstall()
    await world.machine.end?.()
  }
  const { scheduler, oracle } = world
  const counts = { ...world.counts, ...oracle.counts }
  scheduler.note(`in the end ${oracle.hash()}`)
  return { failure: oracle.failure, hash: scheduler.hash, counts }
}

export class World implements Scene {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly oracle: Oracle
  readonly machine: Machine
  readonly isHasty: boolean
  readonly processes: Process[] = []
  readonly counts: Record<string, number> = {}
  readonly ids: string[] = []
  readonly #plant: Plant
  readonly #pending = new Set<{ process: Process; what: string }>()
  #born = 0

  constructor(seed: number, machineOf: MachineOf, plant: Plant, onNote?: (line: string) => void) {
    this.random = new Random(seed)
    this.scheduler = new Scheduler(this.random, onNote)
    this.oracle = new Oracle(this.scheduler, this.random)
    this.machine = machineOf(this.scheduler, this.random, owner => this.kill(owner as Process), plant)
    this.#plant = plant
    this.isHasty = plant.isHasty ?? false
  }

  async run(): Promise<void> {
    for (let left = 1 + this.random.below(3); left > 0; left--) this.#boot()
    const faults = this.#weightsOfFaults()
    const rareness = this.random.pick([3, 6, 12])
    for (const process of this.processes) await this.#as(process, () => MOVES.create(this, process))
    for (let left = this.random.pick(LENGTHS); left > 0; left--) {
      for (let steps = this.random.below(20); steps > 0; steps--) await this.#step()
      if (this.random.onceIn(rareness)) await this.#befall(this.random.weighted(faults))
      else await this.#move(this.random.weighted(MOVE_WEIGHTS))
      this.#replaceDead()
    }
    await this.#comeToRest()
    await this.#reopenAll()
  }

  /** What a process begins: it must end, well or with a refusal that had to be expected. */
  begin(process: Process, what: string, id: string, work: () => Promise<unknown>, about = id): void {
    const entry = { process, what: `${what} ${id}` }
    const before = this.oracle.look(about)
    this.#pending.add(entry)
    this.scheduler.note(entry.what)
    const end = (outcome: string) => {
      this.#pending.delete(entry)
      if (process.state !== 'dead') this.scheduler.note(`${entry.what} ${outcome}`)
    }
    work().then(
      () => {
        end('done')
        this.counts[what] = (this.counts[what] ?? 0) + 1
      },
      error => {
        const code = (error as { code?: string }).code ?? (error as Error).name
        end(code)
        if (process.state === 'dead') return
        this.counts[code] = (this.counts[code] ?? 0) + 1
        if (!this.#isExpected(error, about, before)) this.oracle.fail(error)
      },
    )
  }

  kill(process: Process): void {
    process.state = 'dead'
    this.machine.killed(process)
    for (const entry of this.#pending) if (entry.process === process) this.#pending.delete(entry)
  }

  /** Whether anybody alive works on it, or is about to. */
  isInUse(id: string): boolean {
    const works = ({ lives, busy }: Process) => busy.has(id) || lives.some(({ claim }) => claim.id === id)
    return this.processes.some(works) || [...this.#pending].some(({ what }) => what.endsWith(` ${id}`))
  }

  losePower(): void {
    for (const process of this.processes) this.kill(process)
    this.machine.losePower?.()
  }

  // --- internal ---

  #boot(): Process {
    this.#born += 1
    const epochs = new Map<string, number>()
    const skewMs = this.random.pick([0, 0, DAY_MS, -DAY_MS])
    const plain = this.machine.boot(backend =>
      intercepted(backend, async (call, run, [id]) => {
        const result = await run()
        if (call === 'acquire') {
          const { epoch } = result as { epoch: number }
          this.oracle.acquired(id as string, epoch)
          epochs.set(id as string, epoch)
        }
        return result
      }),
    )
    const process: Process = {
      name: `p${this.#born}`,
      state: 'running',
      backend: this.#plant.backend?.(plain) ?? plain,
      lives: [],
      closed: [],
      busy: new Set(),
      epochs,
      now: () => Math.floor(START_MS + skewMs + this.scheduler.now),
    }
    this.processes.push(process)
    return process
  }

  #replaceDead(): void {
    for (const [i, { state }] of this.processes.entries()) {
      if (state !== 'dead') continue
      this.processes.splice(i, 1)
      this.#boot()
    }
  }

  /** Some seeds are calm, and each has misfortunes of its own. */
  #weightsOfFaults(): Record<Fault, number> {
    const weights = Object.keys(FAULTS).map(name => [name, this.random.pick([0, 1, 1, 4])])
    return { ...(Object.fromEntries(weights) as Record<Fault, number>), wake: 2, mend: 2 }
  }

  async #move(move: Move): Promise<void> {
    const running = this.processes.filter(({ state }) => state === 'running')
    const atWork = running.filter(({ lives }) => lives.length > 0)
    const process = this.random.pick(atWork.length > 0 && !this.random.onceIn(3) ? atWork : running)
    if (process !== undefined) await this.#as(process, () => MOVES[move](this, process))
  }

  async #befall(fault: Fault): Promise<void> {
    this.scheduler.note(fault)
    FAULTS[fault](this, this.random.pick(this.processes))
    const isReal = (fault !== 'losePower' || this.machine.losePower) && (fault !== 'rot' || this.machine.rot)
    if (isReal) this.counts[fault] = (this.counts[fault] ?? 0) + 1
  }

  async #as(process: Process, run: () => void): Promise<void> {
    await this.scheduler.as(process, () => {
      try {
        run()
      } catch (error) {
        this.oracle.fail(error)
      }
    })
    this.#stopOnFailure()
  }

  async #step(): Promise<boolean> {
    const isAlive = await this.scheduler.step()
    this.#stopOnFailure()
    return isAlive
  }

  #stopOnFailure(): void {
    if (this.oracle.failure !== undefined) throw this.oracle.failure
  }

  async #runDry(): Promise<void> {
    for (let steps = 0; await this.#step(); steps++) {
      if (steps > MOST_STEPS)
        throw new Error(`no rest after ${steps} steps; waiting: ${this.scheduler.waiting().join(', ')}`)
    }
  }

  /** Nothing more goes wrong, and nobody asks for more: all that was begun ends, and every file is closed. */
  async #comeToRest(): Promise<void> {
    this.scheduler.note('coming to rest')
    this.machine.mend()
    this.#replaceDead()
    for (const process of this.processes) process.state = 'running'
    await this.#runDry()
    for (const process of this.processes) await this.#calm(process)
    for (const process of this.processes) await this.#leave(process)
    this.#assertNothingWaits()
  }

  /** A model that says nothing more has to be cancelled; everything else ends by itself. */
  async #calm(process: Process): Promise<void> {
    const lives = [...process.lives, ...process.closed]
    for (let times = 0; lives.some(({ isHanging }) => isHanging); times++) {
      if (times > 1000) throw this.#stuck('a model that was told to stop')
      for (const { agent, isHanging } of lives) if (isHanging) await this.#as(process, () => agent.cancel())
      await this.#runDry()
    }
    for (const { agent, claim } of lives) {
      if (agent.status === 'running') throw this.#stuck(`the agent of ${claim.id} in ${process.name}`)
    }
  }

  async #leave(process: Process): Promise<void> {
    for (const live of process.lives) {
      const { claim, open } = live
      this.oracle.checkRest(claim)
      await this.#as(process, () => {
        this.begin(process, 'dispose', claim.id, () => live.agent.dispose())
        this.begin(process, 'close', claim.id, () => open.close())
      })
      await this.#runDry()
      this.oracle.closed(claim)
    }
    await this.#as(process, () => {
      // Injected context waits for a step, or for the end of its agent.
      for (const { agent, claim } of process.closed) this.begin(process, 'dispose', claim.id, () => agent.dispose())
      this.begin(process, 'end', '', () => process.backend.close())
    })
    await this.#runDry()
  }

  #assertNothingWaits(): void {
    if (this.#pending.size > 0) throw this.#stuck([...this.#pending].map(({ what }) => what).join(', '))
    const open = this.machine.openFiles ?? 0
    if (open > 0) throw new Error(`${open} files are open after everything was closed`)
  }

  #stuck(what: string): Error {
    return new Error(`nothing goes on, and still unfinished: ${what}; waiting: ${this.scheduler.waiting().join(', ')}`)
  }

  /** Another process, perhaps after a loss of power, finds all that was acknowledged, and can go on. */
  async #reopenAll(): Promise<void> {
    this.scheduler.note('reopening all')
    if (this.random.onceIn(2)) this.losePower()
    else for (const process of this.processes) this.kill(process)
    this.processes.length = 0
    const process = this.#boot()
    const listed: string[] = []
    await this.#as(process, () =>
      this.begin(process, 'list', '', async () => {
        for await (const { id } of process.backend.list()) listed.push(id)
      }),
    )
    await this.#runDry()
    for (const id of this.oracle.certain()) {
      if (!listed.includes(id)) throw new Error(`${id} is not listed`)
      await this.#as(process, () => MOVES.takeover(this, process, id))
      await this.#runDry()
      if (!process.lives.some(({ claim }) => claim.id === id)) throw new Error(`${id} could not be opened again`)
    }
    await this.#as(process, () => MOVES.send(this, process))
    await this.#runDry()
    await this.#calm(process)
    await this.#leave(process)
    this.#assertNothingWaits()
  }

  /** Whether whoever works on `id` has to expect this refusal. */
  #isExpected(error: unknown, id: string, before: Look): boolean {
    if (error instanceof RangeError) return true
    if (error instanceof SessionError) return error.code === 'SESSION_READ_ONLY'
    const { code } = error as { code?: string }
    if (code === 'INPUT_NOT_ADMITTED' || code === 'AGENT_DISPOSED') return true
    if (!(error instanceof PersistenceError)) return false
    if (code === 'WRITE_FAILED') return this.machine.hasFailed
    if (code === 'SESSION_NOT_FOUND') return !this.oracle.isMissed(id, before)
    return REFUSALS.includes(error.code)
  }
}

// --- internal ---

/** How much happens: mostly little, as a short story that goes wrong is the better one to read. */
const LENGTHS = [4, 8, 8, 12, 12, 16, 50]
/** What takes more goes round in circles. */
const MOST_STEPS = 20_000
const DAY_MS = 86_400_000
const START_MS = 1_700_000_000_000
const REFUSALS = ['SESSION_LOCKED', 'SESSION_FENCED', 'SESSION_EXISTS']

const MOVE_WEIGHTS: Record<Move, number> = {
  create: 4,
  open: 5,
  takeover: 3,
  fork: 3,
  close: 3,
  remove: 1,
  read: 3,
  list: 1,
  send: 14,
  steer: 3,
  inject: 2,
  cancel: 3,
  configure: 1,
  dispose: 1,
  flush: 2,
  edit: 2,
}
