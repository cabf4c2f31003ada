import type { Session } from '@palimpsest/session'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { costLine, editStored } from '../edited-session.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { loadTokenizer, TOKENIZER } from '../tokenizer.js'
import { counted, seqRanges } from '../view/figures.js'
import { withExamples } from './examples.js'
import { parseCount, seqOf } from './parse-count.js'

export function restoreCommand(): Command {
  const command = new Command('restore')
    .description('Undo one edit: take a replacement off and put back what it stands for. Later turns stay')
    .usage('[options] [id] <seq>')
    .argument('<id>', 'a session id, its unique beginning, or "last"; may be left out: "last"')
    .argument(
      '[seq]',
      'the seq of the replacement: palimpsest log names it, palimpsest explain what it shadows',
      parseCount,
    )
    .option('--reason <text>', 'why, for who reads the log')
    .action(action(run))
  return withExamples(command, 'restore 40', 'restore 3f2a 40 --reason "the summary lost the goal"')
}

// --- internal ---

/** With one argument it is the seq. */
async function run(
  context: Context,
  id: string,
  number: number | undefined,
  { reason }: { reason?: string },
): Promise<ExitCode> {
  const [given, node] = number === undefined ? [undefined, seqOf(id)] : [id, number]
  const { restore } = await import('@palimpsest/history')
  const { assertRestorable } = await import('../restorable.js')
  const countTokens = await loadTokenizer()
  const edit = (session: Session) => {
    assertRestorable(session, node, context.storeFlag)
    const back = session.surface.shadowed(node)
    const cost = restore(session, node, { countTokens, ...(reason !== undefined && { reason }) })
    return { back, seq: session.length - 1, cost }
  }
  const { id: sessionId, repaired, result } = await editStored(context, given, 'restore', edit)
  const { back, seq, cost } = result
  const { out } = context
  if (out.isJson) out.json({ id: sessionId, node, seq, back, ...cost, tokenizer: TOKENIZER, repaired })
  out.line(
    `${out.colors.green('restored')}  ${counted(back.length, 'message')}, ${back.length === 1 ? 'event' : 'events'} ${seqRanges(back)}, in the place of ${node}, by event ${seq}`,
  )
  out.line(`  ${costLine(cost)}`)
  return EXIT.ok
}
