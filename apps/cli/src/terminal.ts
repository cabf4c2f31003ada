import { confirm, isCancel, select, text } from '@clack/prompts'
import type { ToolExecution } from '@palimpsest/host'
import { escapeLine, escapeText } from './escape.js'
import type { Answer } from './run/permission.js'

/** Questions go to stderr, so that stdout stays what the command prints. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** The answer to a question; `false` for Ctrl-C too. */
export async function askYesNo(message: string): Promise<boolean> {
  giveColumns()
  const answer = await confirm({ message, initialValue: false, output: process.stderr })
  return !isCancel(answer) && answer
}

/** May this call run? Shows first what it would do, whole, so that only the choices are drawn over. */
export async function askPermission({ tool, toolName, input, signal }: ToolExecution): Promise<Answer> {
  const name = escapeLine(toolName)
  giveColumns()
  process.stderr.write(`\n${inputText(input)}\n`)
  const answer = await select<Answer>({
    message: `Run ${name}? (${tool.effect ?? 'execute'})`,
    options: [
      { value: 'yes', label: 'yes' },
      { value: 'no', label: 'no' },
      { value: 'always', label: `always ${name}, for this run` },
    ],
    showInstructions: false,
    output: process.stderr,
    signal,
  })
  return isCancel(answer) ? 'cancel' : answer
}

/** The next task, or `undefined` where the user has none. */
export async function askTask(): Promise<string | undefined> {
  giveColumns()
  const answer = await text({ message: 'Task', placeholder: 'Ctrl-C ends', output: process.stderr })
  if (isCancel(answer)) return undefined
  return answer?.trim() || undefined
}

// --- internal ---

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
