import type { Command } from 'commander'

/** Ends a command's help with lines that can be pasted. */
export function withExamples(command: Command, ...examples: string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${examples.map(example => `  $ palimpsest ${example}`).join('\n')}`)
}
