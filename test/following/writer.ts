import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'

/** Children run the built packages: nothing between them and the kill. */
export function buildStores(): void {
  const packages = ['jsonl', 'sqlite'].map(store => `packages/session-persistence/session-persistence-${store}`)
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-b', ...packages], {
    cwd: root,
    stdio: 'inherit',
  })
}

/** A process that writes turn after turn into the session "s". */
export class Writer {
  readonly child: ChildProcess
  /** The code of what ended it, if it ended by itself. */
  readonly failed: Promise<string | undefined>
  #acknowledged = 0
  #waiting: (() => void)[] = []
  #failure: string | undefined

  constructor(store: string, directory: string, ...flags: string[]) {
    this.child = spawn(process.execPath, [program, store, directory, 's', ...flags], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    running.add(this)
    createInterface({ input: this.child.stdout! }).on('line', line => {
      const said = JSON.parse(line) as { acknowledged?: number; failed?: string }
      this.#failure ??= said.failed
      if (said.acknowledged !== undefined) this.#acknowledged += 1
      this.#wake()
    })
    this.failed = new Promise(resolve => this.child.once('close', () => resolve(this.#failure)))
    void this.failed.then(() => this.#wake())
  }

  /** Resolves once so many more batches were acknowledged. */
  async acknowledges(batches: number): Promise<void> {
    const wanted = this.#acknowledged + batches
    while (this.#acknowledged < wanted) {
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(
          `expected ${batches} batches, found the writer ended: ${this.#failure ?? this.child.signalCode}`,
        )
      }
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.failed
    running.delete(this)
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

// --- internal ---

const root = fileURLToPath(new URL('../../', import.meta.url))
const program = fileURLToPath(new URL('writer.mjs', import.meta.url))
const running = new Set<Writer>()

afterEach(async () => {
  for (const writer of running) await writer.kill()
})
