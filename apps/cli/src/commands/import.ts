import { Command } from 'commander'
import { action } from '../context.js'
import type { ImportOptions } from '../transcripts/import-paths.js'
import { withExamples } from './examples.js'

export function importCommand(): Command {
  const command = new Command('import')
    .description("Make sessions of other agents' transcripts, which are only read")
    .argument('<path...>', 'transcripts, or folders of them')
    .option('--format <name>', 'what wrote them; default: auto, told by content')
    .option('--conversation <n>', 'of a file of several, only this one, from 0; default: all')
    .action(
      action(async (context, paths: string[], options: ImportOptions) => {
        const { importPaths } = await import('../transcripts/import-paths.js')
        return importPaths(context, paths, options)
      }),
    )
  return withExamples(
    command,
    'import session.jsonl',
    'import ~/.claude/projects',
    'import run.json --format openai-chat --conversation 2',
  )
}
