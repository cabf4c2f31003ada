import { randomBytes } from 'node:crypto'
import { defineTool, type Tool } from '@palimpsest/agent-loop'
import { childEnvironment } from './environment.js'
import { ToolError } from './errors.js'
import { openOutputPipe } from './output-pipe.js'
import { OutputWindow } from './output-window.js'
import { endTree, endWithUs, membersOf, type ProcessTree } from './process-tree.js'
import { openRoot, type Root } from './root.js'
import { type Exit, startShell } from './shell.js'

export interface BashOptions {
  root: string
  timeoutMs?: number // where the call names none; 120,000
  maxTimeoutMs?: number // the most a call may ask for; 600,000
  maxOutputBytes?: number // head and tail together; 32,768
  killGraceMs?: number // between SIGTERM and SIGKILL; 500, below the loop's cancelGraceMs
  env?: Readonly<Record<string, string>> // besides the allow-list
}

/**
 * The `bash` tool. The command starts in the root, but a shell can go anywhere its user can: the root confines the
 * other tools, not this one. Nothing it starts outlives the call (see `ProcessTree` for what cannot be found).
 */
export function bash(options: BashOptions): Tool {
  const root = openRoot(options.root)
  const limits = { ...LIMITS, ...options }
  return defineTool<BashInput>({
    name: 'bash',
    description:
      'Run a command with bash in the root folder and get its output (stdout and stderr together) and exit code. Each call is ' +
      'a new shell: directory and variables do not carry over. There is no input and no terminal. The command and all that it ' +
      `started, background processes too, are ended when it ends or after the time limit (${limits.timeoutMs / 1_000} s unless ` +
      `timeoutSeconds says otherwise). Of long output the first and last ${Math.floor(limits.maxOutputBytes / 2)} bytes are kept.`,
    inputSchema: {
      type: 'object',
      properties: {
        command: { type: 'string', minLength: 1, description: 'What to run, as bash -c takes it.' },
        timeoutSeconds: {
          type: 'number',
          exclusiveMinimum: 0,
          maximum: limits.maxTimeoutMs / 1_000,
          description: 'Time limit in seconds.',
        },
      },
      required: ['command'],
      additionalProperties: false,
    },
    effect: 'execute',
    execute: (input, { signal }) => runCommand(root, input, limits, signal),
  })
}

// --- internal ---

interface BashInput {
  command: string
  timeoutSeconds?: number
}

type Limits = Required<Omit<BashOptions, 'root' | 'env'>> & Pick<BashOptions, 'env'>

const LIMITS = { timeoutMs: 120_000, maxTimeoutMs: 600_000, maxOutputBytes: 32_768, killGraceMs: 500 }
const MAX_COMMAND_BYTES = 128 * 1024 - 1 // Linux's limit for one argument

type Ending = Exit | { kind: 'time-limit' } | { kind: 'aborted' }

interface Ran {
  readonly ending: Ending
  readonly output: string
  readonly background: number // processes that were still there when the command had ended
  readonly undead: readonly number[]
}

async function runCommand(root: Root, input: BashInput, limits: Limits, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  planCommand(input.command)
  const timeoutMs = Math.min(
    input.timeoutSeconds === undefined ? limits.timeoutMs : input.timeoutSeconds * 1_000,
    limits.maxTimeoutMs,
  )
  const ran = await run(root, input.command, timeoutMs, limits, signal)
  if (ran.ending.kind === 'aborted') signal.throwIfAborted()
  if (ran.ending.kind === 'time-limit') throw timedOut(ran, timeoutMs)
  return report(ran)
}

function planCommand(command: string): void {
  if (command.trim() === '') throw new ToolError('COMMAND_INVALID', 'A command was expected, but it is empty.')
  if (command.includes('\0'))
    throw new ToolError('COMMAND_INVALID', 'The command holds a NUL character, which no shell can take. Leave it out.')
  const bytes = Buffer.byteLength(command)
  if (bytes > MAX_COMMAND_BYTES) {
    throw new ToolError(
      'COMMAND_INVALID',
      `A command of at most ${MAX_COMMAND_BYTES} bytes was expected, this one has ${bytes}. Write it to a file and run that.`,
    )
  }
}

async function run(root: Root, command: string, timeoutMs: number, limits: Limits, signal: AbortSignal): Promise<Ran> {
  const pipe = await openOutputPipe().catch(cause => {
    throw new ToolError('COMMAND_NOT_STARTED', 'The command was not started: no pipe for its output could be made.', {
      cause,
    })
  })
  const window = new OutputWindow(limits.maxOutputBytes)
  pipe.onData(chunk => window.push(chunk))
  const marker = { name: 'PALIMPSEST_CALL', value: randomBytes(12).toString('hex') }
  const env = { ...childEnvironment(limits.env), [marker.name]: marker.value }
  try {
    signal.throwIfAborted()
    const shell = await startShell(command, { cwd: root.path, env, output: pipe.writeEnd })
    pipe.closeWriteEnd()
    const tree: ProcessTree = { leader: shell.pid, marker: `${marker.name}=${marker.value}`, pipe: pipe.link }
    const release = endWithUs(tree)
    const ending = await firstEnding(shell.exited, timeoutMs, signal)
    await pipe.drain()
    const background = membersOf(tree).length
    const undead = await endTree(tree, limits.killGraceMs)
    await pipe.drain()
    release()
    return { ending, output: window.text(), background, undead }
  } finally {
    pipe.close()
  }
}

async function firstEnding(exited: Promise<Ending>, timeoutMs: number, signal: AbortSignal): Promise<Ending> {
  let stop = (_ending: Ending) => {}
  const stopped = new Promise<Ending>(resolve => {
    stop = resolve
  })
  const onAbort = () => stop({ kind: 'aborted' })
  const timer = setTimeout(() => stop({ kind: 'time-limit' }), timeoutMs)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([exited, stopped])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

function report(ran: Ran): string {
  return [endLine(ran.output), ...notesOn(ran)].filter(line => line !== '').join('\n')
}

function notesOn({ ending, background, undead }: Ran): string[] {
  const notes: string[] = []
  if (ending.kind === 'exit') {
    notes.push(ending.signal === null ? `[exit code ${ending.code}]` : `[ended by signal ${ending.signal}]`)
    if (background > 0)
      notes.push(`[${background} background process${background === 1 ? ' was' : 'es were'} ended with the command]`)
  }
  if (undead.length > 0) notes.push(`[could not be ended: process ${undead.join(', ')}]`)
  return notes
}

function timedOut(ran: Ran, timeoutMs: number): ToolError {
  const shown = ran.output === '' ? 'It wrote nothing.' : `It wrote until then:\n${endLine(ran.output)}`
  const message = `The command did not end within ${timeoutMs / 1_000} s and was ended with all that it started. Give a larger timeoutSeconds, or do less at once. ${shown}`
  return new ToolError('COMMAND_TIMED_OUT', [message, ...notesOn(ran)].join('\n'))
}

function endLine(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text
}
