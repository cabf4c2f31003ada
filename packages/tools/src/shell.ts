import { spawn } from 'node:child_process'
import { accessSync, constants as flags } from 'node:fs'
import { delimiter, join } from 'node:path'
import { quote, ToolError } from './errors.js'

export interface Exit {
  readonly kind: 'exit'
  readonly code: number | null
  readonly signal: string | null
}

export interface Shell {
  readonly pid: number // of the process group and session too
  readonly exited: Promise<Exit>
}

/**
 * Runs `command` with bash (sh where there is none), without input, both streams on the descriptor `output`. In a
 * session and process group of its own, which can be ended as a whole. Rejects with `COMMAND_NOT_STARTED`.
 */
export function startShell(
  command: string,
  { cwd, env, output }: { cwd: string; env: Record<string, string>; output: number },
): Promise<Shell> {
  const child = spawn(findShell(env.PATH), ['-c', command], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', output, output],
  })
  const exited = new Promise<Exit>(resolve => {
    child.once('exit', (code, signal) => resolve({ kind: 'exit', code, signal }))
  })
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve({ pid: child.pid!, exited }))
    child.once('error', cause => reject(notStarted(cwd, cause)))
  })
}

// --- internal ---

function findShell(path = ''): string {
  const folders = [...path.split(delimiter).filter(folder => folder.startsWith('/')), '/bin', '/usr/bin']
  return folders.map(folder => join(folder, 'bash')).find(isExecutable) ?? 'sh'
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, flags.X_OK)
    return true
  } catch {
    return false
  }
}

function notStarted(cwd: string, cause: unknown): ToolError {
  return new ToolError(
    'COMMAND_NOT_STARTED',
    `The command was not started: no shell could be run in ${quote(cwd)}. Does the folder still exist?`,
    { cause },
  )
}
