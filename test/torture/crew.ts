import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { Command, Said } from './said.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
let bundle: string

/** Workers run one file made of the sources, as what a process must load is most of what it costs. */
export function useWorkers(): void {
  beforeAll(async () => {
    mkdirSync(join(root, '.cache'), { recursive: true })
    const outDir = mkdtempSync(join(root, '.cache', 'torture-'))
    await build({
      root,
      configFile: false,
      logLevel: 'error',
      ssr: { noExternal: true, external: ['better-sqlite3'], resolve: { conditions: ['@palimpsest/source'] } },
      build: { ssr: fileURLToPath(new URL('worker.ts', import.meta.url)), outDir, target: 'node20', minify: false },
    })
    bundle = join(outDir, 'worker.js')
  })
  afterEach(async () => {
    for (const worker of running) await worker.kill()
    for (const place of places.splice(0)) rmSync(place, { recursive: true, force: true })
  })
  afterAll(() => rmSync(join(bundle, '..'), { recursive: true, force: true }))
}

/** A new directory that the test's end takes away. */
export function newPlace(): string {
  const place = mkdtempSync(join(tmpdir(), 'palimpsest-torture-'))
  places.push(place)
  return place
}

export interface Surroundings {
  /** Arguments of Node before the worker's file. */
  nodeFlags?: readonly string[]
  /** A command that runs the worker's command line, which follows it. */
  under?: readonly string[]
  env?: NodeJS.ProcessEnv
}

/** A wall clock that is `ms` off. */
export function skewedBy(ms: number): Surroundings {
  const preload = new URL('skewed-clock.mjs', import.meta.url).href
  return ms === 0 ? {} : { nodeFlags: ['--import', preload], env: { SKEW_MS: String(ms) } }
}

/** A process that works on a store and says what it does. */
export class Worker {
  readonly child: ChildProcess
  readonly said: Said[] = []
  readonly exited: Promise<void>
  #hasExited = false
  #waiting: (() => void) | undefined
  #rest = ''
  #taken = 0

  constructor(command: Command, { nodeFlags = [], under = [], env = {} }: Surroundings = {}) {
    const line = [...under, process.execPath, ...nodeFlags, bundle, JSON.stringify(command)]
    this.child = spawn(line[0]!, line.slice(1), {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    })
    running.add(this)
    this.child.stdout!.on('data', data => this.#hear(String(data)))
    // A worker that was killed does not read any more.
    this.child.stdin!.on('error', () => {})
    this.exited = new Promise(resolve => this.child.once('close', () => resolve(this.#end())))
  }

  get pid(): number {
    return this.child.pid!
  }

  /** The next line, or `undefined` once the process is gone. */
  async next(): Promise<Said | undefined> {
    while (this.#taken === this.said.length) {
      if (this.#hasExited) return undefined
      await new Promise<void>(resolve => {
        this.#waiting = resolve
      })
    }
    return this.said[this.#taken++]
  }

  /** The next line that has `what`; whatever comes before it is passed over. */
  async until<K extends keyof Said>(what: K): Promise<NonNullable<Said[K]>> {
    for (;;) {
      const said = await this.next()
      if (said?.[what] !== undefined) return said[what]
      if (said?.failed !== undefined || said === undefined) {
        throw new Error(`expected the worker to say "${what}", found ${JSON.stringify(said ?? 'its end')}`)
      }
    }
  }

  go(): void {
    this.child.stdin!.write('go\n')
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.exited
  }

  // --- internal ---

  #hear(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.said.push(JSON.parse(line))
    this.#wake()
  }

  #wake(): void {
    this.#waiting?.()
    this.#waiting = undefined
  }

  #end(): void {
    this.#hasExited = true
    running.delete(this)
    this.#wake()
  }
}

/** Resolves when the process has stopped; a signal takes its time. */
export async function stopped(pid: number): Promise<void> {
  while (stateOf(pid) !== 'T') await new Promise(setImmediate)
}

// --- internal ---

const running = new Set<Worker>()
const places: string[] = []

function stateOf(pid: number): string {
  if (process.platform !== 'linux')
    return execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' })[0]!
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return stat[stat.lastIndexOf(')') + 2]!
}
