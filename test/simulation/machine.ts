import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createMemoryBackend,
  type Lease,
  type MemoryStore,
  PersistenceError,
  type SessionBackend,
} from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import { DIRECTORY, SimulatedDisk } from './disk.js'
import type { Random } from './random.js'
import type { Owner, Scheduler } from './scheduler.js'

/** What all processes share: a store that outlives them, and what may happen to it. */
export interface Machine {
  /** What a process that starts makes for itself; `watch` sees every call when it takes effect. */
  boot(watch: (backend: SessionBackend) => SessionBackend): SessionBackend
  killed(owner: Owner): void
  /** Something goes wrong, now or soon; `owner` is one of those it may hit. */
  break(owner: Owner): void
  /** What was broken is whole again. */
  mend(): void
  /** Whether anything has gone wrong so far that a caller may hear of. */
  readonly hasFailed: boolean
  /** All processes are dead already. `undefined` where the store has no power to lose. */
  losePower?(): void
  /** Damages the last line of a session that nobody has open; gives its seq. */
  rot?(id: string): number | undefined
  readonly openFiles?: number
  /** All is over: what it left outside of memory goes. */
  end?(): Promise<void>
}

export type MachineOf = (
  scheduler: Scheduler,
  random: Random,
  kill: (owner: Owner) => void,
  bugs?: { isUnfenced?: true; isUnsynced?: true },
) => Machine

/** The JSONL store on a simulated disk. */
export const jsonlMachine: MachineOf = (scheduler, random, kill, bugs = {}) => {
  const disk = new SimulatedDisk(scheduler, random, kill, bugs)
  const breaks: ((owner: Owner) => void)[] = [
    () => (disk.isFull = true),
    () => (disk.failsSync = true),
    () => (disk.failsIn = random.below(20)),
    owner => (disk.killsIn = { owner, count: random.below(20) }),
  ]
  return {
    boot: watch => watch(scheduler.observe(() => createJsonlBackend({ directory: DIRECTORY, fs: disk.calls }))),
    killed: owner => disk.kill(owner),
    break: owner => void random.pick(breaks)(owner),
    mend: () => disk.mend(),
    get hasFailed() {
      return disk.failures > 0
    },
    losePower: () => disk.losePower(),
    rot(id) {
      const line = disk.rot(`${id}.jsonl`)
      return line === undefined ? undefined : seqIn(line)
    },
    get openFiles() {
      return disk.openFiles
    },
  }
}

export const memoryMachine: MachineOf = (scheduler, random, kill, bugs = {}) => {
  const store: MemoryStore = new Map()
  const looksCurrent = (lease: Lease) => Object.assign(store.get(lease.id)!, { epoch: lease.epoch, isHeld: true })
  const beforeAppend = bugs.isUnfenced ? looksCurrent : undefined
  return slowMachine(scheduler, random, kill, { boot: () => createMemoryBackend(store), beforeAppend })
}

/** The SQLite store on a real file. Processes are killed, and no power is lost. */
export const sqliteMachine: MachineOf = (scheduler, random, kill) => {
  const directory = mkdtempSync(join(tmpdir(), 'palimpsest-simulation-'))
  const backends: SessionBackend[] = []
  const boot = () => {
    const backend = createSqliteBackend({ file: join(directory, 'sessions.sqlite') })
    backends.push(backend)
    return backend
  }
  const end = async () => {
    for (const backend of backends) await backend.close()
    rmSync(directory, { recursive: true })
  }
  return Object.assign(slowMachine(scheduler, random, kill, { boot }), { end })
}

interface Store {
  boot(): SessionBackend
  beforeAppend?: ((lease: Lease) => void) | undefined
}

/** A store whose calls take their time and sometimes fail, before or after they took effect. */
function slowMachine(scheduler: Scheduler, random: Random, kill: (owner: Owner) => void, store: Store): Machine {
  const state = { fails: 0, kills: undefined as Owner | undefined, hasFailed: false }
  const fault = (call: string) => {
    if (state.kills === scheduler.current) kill(scheduler.current)
    if (scheduler.current.state === 'dead') throw new Error(`${scheduler.current.name} is dead and calls nothing`)
    if (state.fails === 0 || !random.onceIn(3)) return
    state.fails -= 1
    state.hasFailed = true
    throw new PersistenceError('WRITE_FAILED', `${call} was made to fail`)
  }
  return {
    boot: watch =>
      intercepted(watch(store.boot()), async (call, run, [lease]) => {
        await scheduler.wait(call)
        fault(call)
        if (call === 'append') store.beforeAppend?.(lease as Lease)
        const result = await run()
        await scheduler.wait(`${call} done`)
        fault(call)
        return result
      }),
    killed: () => {
      state.kills = undefined
    },
    break(owner) {
      if (random.onceIn(2)) state.kills = owner
      else state.fails = 1 + random.below(2)
    },
    mend: () => Object.assign(state, { fails: 0, kills: undefined }),
    get hasFailed() {
      return state.hasFailed
    },
  }
}

/** A backend whose asynchronous calls go through `around`. */
export function intercepted(
  backend: SessionBackend,
  around: (call: keyof SessionBackend, run: () => Promise<unknown>, args: readonly unknown[]) => Promise<unknown>,
): SessionBackend {
  return new Proxy(backend, {
    get(target, name: keyof SessionBackend) {
      const member = target[name] as unknown
      if (typeof member !== 'function') return member
      if (name === 'list') return member.bind(target)
      return (...args: unknown[]) => around(name, () => member.apply(target, args), args)
    },
  })
}

// --- internal ---

/** A line that was cut short has none; the header has none either. */
function seqIn(line: string): number {
  try {
    const { seq } = JSON.parse(line) as { seq?: number }
    return seq ?? 0
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
