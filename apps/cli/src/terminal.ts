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
  const answer = await confirm({ message, initialValue: false, output: process.stderr })
  return !isCancel(answer) && answer
}

/** May this call run? Shows what it would do, whole. */
export async function askPermission({ tool, toolName, input, signal }: ToolExecution): Promise<Answer> {
  const verb = tool.effect === 'write' ? 'write' : 'execute'
  const name = escapeLine(toolName)
  const answer = await select<Answer>({
    message: `${name} wants to ${verb}:\n${inputText(input)}`,
    options: [
      { value: 'yes', label: 'yes' },
      { value: 'no', label: 'no' },
      { value: 'always', label: `always ${name}, for this run` },
    ],
    output: process.stderr,
    signal,
  })
  return isCancel(answer) ? 'cancel' : answer
}

/** The next task, or `undefined` where the user has none. */
export async function askTask(): Promise<string | undefined> {
  const answer = await text({ message: 'Task', placeholder: 'Ctrl-C ends', output: process.stderr })
  if (isCancel(answer)) return undefined
  return answer?.trim() || undefined
}

// --- internal ---

/** Member by member, texts with their own line breaks: nobody should have to say yes to a line of JSON escapes. */
function inputText(input: ToolExecution['input']): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return escapeText(JSON.stringify(input))
  return Object.entries(input)
    .map(
      ([key, value]) => `${escapeLine(key)}: ${escapeText(typeof value === 'string' ? value : JSON.stringify(value))}`,
    )
    .join('\n')
}
