import type { Session } from '@palimpsest/session'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { costLine, editStored } from '../edited-session.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandError, describeFailure } from '../failure.js'
import { ENVIRONMENT_HELP } from '../run/options.js'
import { loadTokenizer, TOKENIZER } from '../tokenizer.js'
import { counted } from '../view/figures.js'
import { withExamples } from './examples.js'
import { parseCount } from './parse-count.js'

export function compactCommand(): Command {
  const command = new Command('compact')
    .description('Put a summary in the place of the older messages. They stay in the log, and restore puts them back')
    .argument('[id]', 'a session id, its unique beginning, or "last" (the default)')
    .option('--keep-recent <messages>', 'the newest messages that stay (default: 2)', parseCount)
    .option('--summary <text>', 'this text, instead of asking a model')
    .option('--model <name>', "who summarises; default: the session's last model")
    .option('--base-url <url>', "the provider's address")
    .option('--api-key-env <name>', 'the environment variable that holds the key')
    .addHelpText('after', `\n${ENVIRONMENT_HELP}`)
    .action(action(run))
  return withExamples(
    command,
    'compact',
    'compact 3f2a --model anthropic:claude-haiku-4-5',
    'compact last --summary "…"',
  )
}

// --- internal ---

interface CompactFlags {
  keepRecent?: number
  summary?: string
  model?: string
  baseUrl?: string
  apiKeyEnv?: string
}

async function run(context: Context, given: string | undefined, flags: CompactFlags): Promise<ExitCode> {
  const { summary, keepRecent } = flags
  const { compact } = await import('@palimpsest/history')
  const edit = async (session: Session) => {
    const last = session.requestAt(session.length)?.model
    const summarize = summary === undefined ? await summarizer(flags, last) : async () => summary
    const countTokens = await loadTokenizer()
    const before = session.surface.size
    const done = await compact(session, { summarize, countTokens, ...(keepRecent !== undefined && { keepRecent }) })
    return { ...done, kept: before - done.shadowed.length }
  }
  const { id, repaired, result } = await editStored(context, given, 'compact', edit)
  const { kept, ...report } = result
  const { out, storeFlag } = context
  if (out.isJson) out.json({ id, ...report, tokenizer: TOKENIZER, repaired })
  out.line(
    `${out.colors.green('compacted')}  ${counted(report.shadowed.length, 'message')} into event ${report.node}; undo with palimpsest restore ${id} ${report.node}${storeFlag}`,
  )
  const more = kept - (keepRecent ?? KEEP_RECENT)
  if (more > 0) {
    out.line(
      `  ${counted(more, 'more message')} ${more === 1 ? 'stays' : 'stay'} than was asked: a cut there would part a call from its result, or signed reasoning from its tool loop`,
    )
  }
  out.line(`  ${costLine(report)}`)
  return EXIT.ok
}

/** Where no option says otherwise. */
const KEEP_RECENT = 2

async function summarizer(flags: CompactFlags, last: string | undefined) {
  const { chooseModel } = await import('../run/parts.js')
  const { port, settings, defaults } = await chooseModel(flags, last).catch(error => {
    throw flags.model === undefined ? namingSummary(error) : error
  })
  const { summarizeWith } = await import('@palimpsest/history')
  return summarizeWith(port, { settings: { ...defaults, ...settings } })
}

/** The model was the session's last one, which the user did not name. */
function namingSummary(error: unknown): unknown {
  const { code, message, exitCode } = describeFailure(error)
  const text = `${message}; name who summarises with --model, or give the text with --summary`
  return error instanceof CommandError ? new CommandError(code, text, exitCode) : error
}
