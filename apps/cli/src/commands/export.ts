import { Command } from 'commander'
import { action } from '../context.js'
import type { ExportFileOptions } from '../transcripts/export-file.js'
import { EXPORT_NAMES } from '../transcripts/export-formats.js'
import { withExamples } from './examples.js'

export function exportCommand(): Command {
  const command = new Command('export')
    .description('Write a session or a transcript as another tool keeps it, mended as that tool needs it')
    .argument('<id|file>', 'a session id, its unique beginning, or "last"; or a transcript')
    .requiredOption('--to <format>', EXPORT_NAMES.join(', '))
    .option('--out <file>', 'a new file; with --to palimpsest, a store; default: stdout')
    .option('--redact', 'replace keys and tokens; signatures are not touched')
    .option('--format <name>', 'of a transcript: what wrote it (default: auto, told by its content)')
    .option('--conversation <n>', 'of a transcript that holds several: which one, from 0')
    .option('--model <id>', 'the model of the next request')
    .option('--thinking <mode>', 'on, off, or keep')
    .action(
      action(async (context, given: string, options: ExportFileOptions) => {
        const { exportFile } = await import('../transcripts/export-file.js')
        return exportFile(context, given, options)
      }),
    )
  return withExamples(
    command,
    'export last --to anthropic-messages --out request.json',
    'export broken.jsonl --to claude-code --out mended.jsonl',
    'export 3f2a --to palimpsest --out sqlite:sessions.sqlite',
  )
}
