import type { ToolExecution } from '@palimpsest/host'
import { escapeLine, escapeText } from './escape.js'
import type { Answer } from './run/permission.js'

/** Questions go to stderr, so that stdout stays what the command prints. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** The answer to a question; `false` for Escape, Ctrl-C and Ctrl-D too. */
export async function askYesNo(message: string): Promise<boolean> {
  const { answer } = await ask<boolean>(({ confirm }, signal) =>
    confirm({ message, initialValue: false, output: process.stderr, signal }),
  )
  return answer ?? false
}

/**
 * May this call run? Shows first what it would do, whole. Only a word that is typed makes it run: Enter alone,
 * Escape and the end of the input are a no.
 */
export async function askPermission({ tool, toolName, input, signal: cancelled }: ToolExecution): Promise<Answer> {
  const name = escapeLine(toolName)
  process.stderr.write(`\n${inputText(input)}\n`)
  const { answer, isInterrupt } = await ask<string>(
    ({ text }, signal) =>
      text({
        message: `Run ${name}? (${tool.effect ?? 'execute'})  y: yes, n: no, a: always ${name}, for this run`,
        placeholder: 'no',
        defaultValue: 'no',
        validate: typed => (answerOf(typed) === undefined ? 'Type y, n or a, then Enter' : undefined),
        output: process.stderr,
        signal,
      }),
    cancelled,
  )
  return isInterrupt ? 'cancel' : (answerOf(answer) ?? 'no')
}

/** The next task, or `undefined` where the user has none. */
export async function askTask(): Promise<string | undefined> {
  const { answer } = await ask<string>(({ text }, signal) =>
    text({ message: 'Task', placeholder: 'Ctrl-D ends', output: process.stderr, signal }),
  )
  return answer?.trim() || undefined
}

// --- internal ---

type Clack = typeof import('@clack/prompts')

interface Asked<T> {
  /** `undefined` where the question was left without one. */
  answer: T | undefined
  /** It was left by Ctrl-C. */
  isInterrupt: boolean
}

/**
 * Asks one question. Clack does not tell Escape from Ctrl-C, lets its reader close at the end of the input (Ctrl-D on
 * an empty line) without a word to who waits, and listens to its signal for ever: all that is settled here.
 */
async function ask<T>(
  prompt: (clack: Clack, signal: AbortSignal) => Promise<T | symbol>,
  cancelled?: AbortSignal,
): Promise<Asked<T>> {
  // Most commands ask nothing.
  const clack = await import('@clack/prompts')
  giveColumns()
  const left = new AbortController()
  const leave = () => left.abort()
  let isOpen = true
  let isInterrupt = false
  const hearKey = (_: unknown, key: { ctrl?: boolean; name?: string }) => {
    isInterrupt = key.ctrl === true && key.name === 'c'
  }
  // A reader that closes pauses its stream: after an answer it does too, so this waits until that one has been heard.
  const hearPause = () => setImmediate(() => isOpen && leave())
  process.stdin.on('keypress', hearKey).on('pause', hearPause)
  cancelled?.addEventListener('abort', leave)
  if (cancelled?.aborted) leave()
  try {
    const answer = await prompt(clack, left.signal)
    return clack.isCancel(answer) ? { answer: undefined, isInterrupt } : { answer: answer as T, isInterrupt: false }
  } finally {
    isOpen = false
    process.stdin.off('keypress', hearKey).off('pause', hearPause)
    cancelled?.removeEventListener('abort', leave)
  }
}

/** `undefined` for a word that is none of the answers; nothing typed is a no. */
function answerOf(typed = ''): Exclude<Answer, 'cancel'> | undefined {
  const word = typed.trim().toLowerCase() || 'no'
  return (['yes', 'no', 'always'] as const).find(answer => answer === word || answer[0] === word)
}

/** A terminal that does not know its width says 0, which would put every character on a line of its own. */
function giveColumns(): void {
  if (process.stderr.columns === 0) process.stderr.columns = 80
}

/** Member by member, texts with their own line breaks: nobody should have to say yes to a line of JSON escapes. */
function inputText(input: ToolExecution['input']): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return escapeText(JSON.stringify(input))
  return Object.entries(input)
    .map(
      ([key, value]) => `${escapeLine(key)}: ${escapeText(typeof value === 'string' ? value : JSON.stringify(value))}`,
    )
    .join('\n')
}
