import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const writer = fileURLToPath(new URL('writer.mjs', import.meta.url))
const persistence = new URL('../../session-persistence/dist/index.js', import.meta.url).href
const jsonl = new URL('../dist/index.js', import.meta.url).href

export interface Said {
  opened?: number
  acknowledged?: number
  failed?: string
}

/** Children run the built package: nothing between them and the kill. */
export function build(): void {
  execFileSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-b', 'packages/session-persistence/session-persistence-jsonl'],
    {
      cwd: root,
      stdio: 'inherit',
    },
  )
}

/** A process with the session open. `next` gives what it says, line by line. */
export class Writer {
  readonly child: ChildProcess
  readonly said: Said[] = []
  readonly exited: Promise<void>
  #waiting: (() => void) | undefined
  #rest = ''
  #taken = 0

  constructor(directory: string, id: string, ...flags: string[]) {
    this.child = spawn(process.execPath, [writer, directory, id, persistence, jsonl, ...flags], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    running.add(this)
    this.child.stdout!.on('data', data => this.#hear(String(data)))
    this.exited = new Promise(resolve => this.child.once('close', () => resolve(this.#wake())))
  }

  get acknowledged(): number {
    return Math.max(0, ...this.said.map(({ acknowledged = 0, opened = 0 }) => Math.max(acknowledged, opened)))
  }

  /** The next line, or `undefined` once the process is gone. */
  async next(): Promise<Said | undefined> {
    while (this.#taken === this.said.length) {
      if (this.child.exitCode !== null || this.child.signalCode !== null) return undefined
      await new Promise<void>(resolve => {
        this.#waiting = resolve
      })
    }
    return this.said[this.#taken++]
  }

  /** Lets a writer that was started with `--once` write one turn. */
  write(): void {
    this.child.stdin!.write('go\n')
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.exited
    running.delete(this)
  }

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
}

const running = new Set<Writer>()

afterEach(async () => {
  for (const writer of running) await writer.kill()
})
