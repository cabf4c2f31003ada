import type { Session } from '@palimpsest/session'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { costLine, editStored } from '../edited-session.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { loadTokenizer, TOKENIZER } from '../tokenizer.js'
import { counted } from '../view/figures.js'
import { withExamples } from './examples.js'
import { parseCount } from './parse-count.js'

export function pruneCommand(): Command {
  const command = new Command('prune')
    .description('Put short stand-ins in the place of old, large tool results; each can be recalled and restored')
    .argument('[id]', 'a session id, its unique beginning, or "last" (the default)')
    .option('--keep-recent <results>', 'the newest results that stay (default: 3)', parseCount)
    .option('--min-tokens <tokens>', 'smaller results stay (default: 200)', parseCount)
    .action(action(run))
  return withExamples(command, 'prune', 'prune 3f2a --keep-recent 10 --min-tokens 1000')
}

// --- internal ---

async function run(
  context: Context,
  given: string | undefined,
  options: { keepRecent?: number; minTokens?: number },
): Promise<ExitCode> {
  const { prune } = await import('@palimpsest/history')
  const countTokens = await loadTokenizer()
  const edit = (session: Session) => prune(session, { ...options, countTokens })
  const { id, repaired, result: report } = await editStored(context, given, 'prune', edit)
  const { out, storeFlag } = context
  if (out.isJson) out.json({ id, ...report, tokenizer: TOKENIZER, repaired })
  if (report.pruned.length === 0) {
    out.line('Nothing to prune: no old tool result is large enough.')
    return EXIT.ok
  }
  out.line(`${out.colors.green('pruned')}  ${counted(report.pruned.length, 'result')}`)
  for (const { seq, node, tokensBefore, tokensAfter } of report.pruned) {
    out.line(
      `  ${seq}  ${tokensBefore} → ${tokensAfter} tokens; undo with palimpsest restore ${id} ${node}${storeFlag}`,
    )
  }
  out.line(`  ${costLine(report)}`)
  return EXIT.ok
}
