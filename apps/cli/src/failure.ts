import { SessionError } from '@palimpsest/session'
import { PersistenceError } from '@palimpsest/session-persistence'
import { CommanderError } from 'commander'
import { EXIT, type ExitCode } from './exit-codes.js'

/** A user's mistake or a refusal: one sentence that says what was expected, what was found and what to do next. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly code: string
  readonly exitCode: ExitCode

  constructor(code: string, message: string, exitCode: ExitCode = EXIT.refused) {
    super(message)
    this.code = code
    this.exitCode = exitCode
  }
}

export function usageError(message: string): CommandError {
  return new CommandError('USAGE', message, EXIT.usage)
}

/** The refusal of a session that somebody holds, with the command that takes it; any other error as it is. */
export function namingTakeover(error: unknown, command: string): unknown {
  if (!(error instanceof PersistenceError) || error.code !== 'SESSION_LOCKED') return error
  const { code, message } = describeFailure(error)
  return new CommandError(code, `${message}: ${command}`)
}

export interface Failure {
  readonly code: string
  readonly message: string
  readonly exitCode: ExitCode
}

/** Whatever was thrown, as what the user is told. An error that nobody expected is our own fault and says so. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CommandError) return { code: error.code, message: error.message, exitCode: error.exitCode }
  if (error instanceof CommanderError) return describeUsage(error)
  if (error instanceof PersistenceError) return describeStored(error, FAILED.has(error.code))
  if (error instanceof SessionError) return describeStored(error, true)
  if (isRefusal(error)) return { code: error.code, message: error.message, exitCode: EXIT.refused }
  if (isSystemError(error)) return { code: error.code, message: error.message, exitCode: EXIT.failure }
  return describeBug(error)
}

// --- internal ---

/** The store's own trouble; its other codes are refusals. */
const FAILED = new Set([
  'WRITE_FAILED',
  'HEADER_DAMAGED',
  'PARENT_MISMATCH',
  'STORE_BUSY',
  'APPEND_CONFLICT',
  'SESSION_FENCED',
])

function describeUsage(error: CommanderError): Failure {
  // Its help is on the screen already.
  if (error.code.startsWith('commander.help'))
    return { code: '', message: '', exitCode: error.exitCode === 0 ? EXIT.ok : EXIT.usage }
  const message = oneSentence(error.message.replace(/^error: /, '').trim())
  return { code: 'USAGE', message, exitCode: error.exitCode === 0 ? EXIT.ok : EXIT.usage }
}

/** Commander guesses on a second line; where it has no guess, what there is is a command away. */
function oneSentence(message: string): string {
  const guessed = message.replace(/\s*\(Did you mean (.+)\?\)$/, '; did you mean $1?')
  if (guessed !== message) return guessed
  if (message.startsWith('unknown command')) return `${message}; palimpsest --help lists the commands`
  const isLost = /^(unknown option|missing required argument|too many arguments)/.test(message)
  return isLost ? `${message.replace(/\.$/, '')}; palimpsest help COMMAND shows what it takes` : message
}

/** Their messages begin with the code, which is told beside the message. */
function describeStored({ code, message }: { code: string; message: string }, failed: boolean): Failure {
  const text = message.startsWith(`${code}: `) ? message.slice(code.length + 2) : message
  return { code, message: text, exitCode: failed ? EXIT.failure : EXIT.refused }
}

/** By name, so that a command which only reads loads neither the tools nor the edits. */
function isRefusal(error: unknown): error is Error & { code: string } {
  if (!(error instanceof Error) || typeof (error as { code?: unknown }).code !== 'string') return false
  return error.name === 'ToolError' || error.name === 'CompactionError'
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException
  return error instanceof Error && typeof code === 'string' && typeof syscall === 'string'
}

function describeBug(error: unknown): Failure {
  const what = error instanceof Error ? error.message : String(error)
  const more = process.env.PALIMPSEST_DEBUG ? `\n${(error as Error)?.stack ?? ''}` : ''
  return {
    code: 'UNEXPECTED',
    message:
      `${what}. Nobody expected this here: it is a fault of palimpsest. ` +
      `Please report it with the command and what it prints under PALIMPSEST_DEBUG=1${more}`,
    exitCode: EXIT.bug,
  }
}
