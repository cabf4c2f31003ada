import { type Json, stringOf } from '../../json/shapes.js'

/** What the model is told of entries that are no messages. */

export function compactionText(summary: string): string {
  return `What was said before was compacted. Its summary:\n\n<summary>\n${summary}\n</summary>`
}

export function branchText(summary: string): string {
  return `Summary of a branch of this conversation that was left:\n\n<summary>\n${summary}\n</summary>`
}

/** A command that the user ran by hand. */
export function commandText({ command, output, exitCode, cancelled, truncated }: Json): string {
  const shown = stringOf(output) ?? ''
  const notes = [
    cancelled === true
      ? '(cancelled)'
      : typeof exitCode === 'number' && exitCode !== 0
        ? `(exit code ${exitCode})`
        : '',
    truncated === true ? '(output truncated)' : '',
  ]
  return [
    `The user ran \`${stringOf(command) ?? ''}\``,
    ...(shown === '' ? ['(no output)'] : ['```', shown, '```']),
    ...notes,
  ]
    .filter(line => line !== '')
    .join('\n')
}
