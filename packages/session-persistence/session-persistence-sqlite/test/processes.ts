import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const modules = ['../../session-persistence/dist/index.js', '../dist/index.js'].map(
  path => new URL(path, import.meta.url).href,
)

/** Children run the built package: nothing between them and the kill. */
export function build(): void {
  const args = ['node_modules/typescript/bin/tsc', '-b', 'packages/session-persistence/session-persistence-sqlite']
  execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
}

/** A child, and what it says, line by line. */
export class Child {
  readonly process: ChildProcess
  readonly lines: AsyncIterator<string>

  constructor(script: 'writer.mjs' | 'holder.mjs', ...args: string[]) {
    const path = fileURLToPath(new URL(script, import.meta.url))
    const all = [path, ...(script === 'writer.mjs' ? modules : []), ...args]
    this.process = spawn(process.execPath, all, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.lines = createInterface({ input: this.process.stdout! })[Symbol.asyncIterator]()
    running.add(this)
  }

  async next(): Promise<string | undefined> {
    const { value, done } = await this.lines.next()
    return done ? undefined : value
  }

  /** Its last line, once it has ended. */
  async ended(): Promise<string | undefined> {
    let last: string | undefined
    for (let line = await this.next(); line !== undefined; line = await this.next()) last = line
    return last
  }

  async kill(): Promise<void> {
    running.delete(this)
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    const closed = once(this.process, 'close')
    this.process.kill('SIGKILL')
    await closed
  }
}

const running = new Set<Child>()

afterEach(async () => {
  for (const child of running) await child.kill()
})
