import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ScriptedReply } from '@palimpsest/model-scripted'
import { afterEach } from 'vitest'

/** The built command: what users start. */
export const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url))
if (!existsSync(MAIN)) throw new Error(`expected the built command at ${MAIN}; run npx tsc -b apps/cli first`)

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface Started {
  child: ChildProcess
  ended: Promise<Ended>
  /** Resolves when `text` has come on stdout, behind what was waited for before; rejects when the command ends without it. */
  printed(text: string): Promise<void>
}

export interface StartOptions {
  cwd?: string
  env?: Record<string, string>
  input?: string
}

const folders: string[] = []
const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-cli-'))
  folders.push(folder)
  return folder
}

/** A file for `--model scripted:FILE`. */
export function scriptFile(folder: string, replies: ScriptedReply[] | unknown, name = 'script.json'): string {
  const file = join(folder, name)
  writeFileSync(file, JSON.stringify(replies))
  return file
}

/** Runs the command to its end, with an environment that holds no keys and no terminal. */
export function palimpsest(args: string[], options: StartOptions = {}): Promise<Ended> {
  return start(args, options).ended
}

export function start(args: string[], options: StartOptions = {}): Started {
  return startProgram(process.execPath, [MAIN, ...args], options)
}

export function startProgram(program: string, args: string[], { cwd, env, input }: StartOptions = {}): Started {
  const child = spawn(program, args, {
    cwd: cwd ?? tmpdir(),
    env: { PATH: process.env.PATH!, HOME: tmpdir(), TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  children.push(child)
  if (input !== undefined) child.stdin.end(input)
  const text = { stdout: '', stderr: '' }
  const watchers = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', piece => {
      text[name] += piece
      for (const look of watchers) look()
    })
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, ...text }))
  })
  let from = 0
  const printed = (wanted: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        const index = text.stdout.indexOf(wanted, from)
        if (index < 0) return
        from = index + wanted.length
        watchers.delete(look)
        resolve()
      }
      watchers.add(look)
      look()
      ended.then(end => reject(new Error(`expected ${wanted} on stdout, found ${JSON.stringify(end)}`)), reject)
    })
  return { child, ended, printed }
}

/** Waits for what another process does; the patience only bounds a test that fails. */
export async function until(isDone: () => boolean | Promise<boolean>, patienceMs = 60_000): Promise<void> {
  const deadline = Date.now() + patienceMs
  while (!(await isDone())) {
    if (Date.now() > deadline) throw new Error(`expected ${isDone.toString()} within ${patienceMs} ms`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

export function jsonLines(text: string): unknown[] {
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}
