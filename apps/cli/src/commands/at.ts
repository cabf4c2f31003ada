import type { ModelRequest } from '@palimpsest/session'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { escapeLine, escapeText } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandError } from '../failure.js'
import { resolvePosition } from '../position.js'
import { readStored } from '../stored-session.js'
import { loadTokenizer, TOKENIZER } from '../tokenizer.js'
import { asText } from '../view/as-text.js'
import { counted } from '../view/figures.js'
import { messageLines } from '../view/message.js'
import { withExamples } from './examples.js'

export function atCommand(): Command {
  const command = new Command('at')
    .description('Print the exact request that a prefix of the log makes')
    .usage('[options] [id] <position>')
    .argument('<id>', 'a session id, its unique beginning, or "last"; may be left out: "last"')
    .argument('[position]', 'a length (12: the first twelve events) or turn.step (2.1: what that step asked the model)')
    .option('--wire', "print the provider's own body, healed by its rules, and nothing else")
    .option(
      '--target <name>',
      'with --wire: anthropic, openai-chat, openai-responses, gemini, deepseek; default: by the model',
    )
    .action(action(at))
  return withExamples(
    command,
    'at 2.1',
    'at 3f2a 40',
    'at last 1.3 --json > request.json',
    'at 2.1 --wire --target anthropic',
  )
}

// --- internal ---

/** With one argument it is the position. */
async function at(
  context: Context,
  id: string,
  place: string | undefined,
  { wire, target }: { wire?: boolean; target?: string },
): Promise<ExitCode> {
  const [given, position] = place === undefined ? [undefined, id] : [id, place]
  const { session } = await readStored(context, given)
  const length = resolvePosition(session, position)
  const request = session.requestAt(length)
  if (request === undefined) throw noRequest(length)
  if (wire || target !== undefined) {
    const { wireBody } = await import('../transcripts/wire.js')
    const { healOptions } = await import('../transcripts/read-options.js')
    context.out.write(`${wireBody(request, healOptions({ ...(target !== undefined && { target }) }).target)}\n`)
  } else if (context.out.isJson) context.out.json(request)
  else {
    const { requestTokens } = await import('@palimpsest/history')
    print(request, length, requestTokens(session, await loadTokenizer(), length), context)
  }
  return EXIT.ok
}

function noRequest(length: number): CommandError {
  return new CommandError(
    'REQUEST_UNKNOWN',
    `expected a request header among the first ${counted(length, 'event')}, found none: no request was made by then; choose a later place`,
  )
}

function print(request: ModelRequest, length: number, tokens: number, { out }: Context): void {
  const { model, settings, system, tools, rules, messages } = request
  const { bold } = out.colors
  const names = Array.isArray(tools) ? tools.map(tool => asText(tool?.name)).join(', ') : ''
  out.line(bold(`the request of the first ${counted(length, 'event')}`))
  out.line(`tokens    ${tokens} by ${TOKENIZER}`)
  out.line(`model     ${escapeLine(asText(model))}`)
  out.line(`settings  ${escapeLine(asText(settings))}`)
  if (rules !== undefined) out.line(`rules     ${escapeLine(asText(rules))}`)
  out.line(`tools     ${escapeLine(names) || 'none'}`)
  if (system !== undefined) printBlock(bold('system'), escapeText(asText(system)).split('\n'), out)
  for (const message of messages) printBlock(bold(message.role), messageLines(message, out.colors), out)
}

function printBlock(title: string, lines: readonly string[], out: Context['out']): void {
  out.line(`\n${title}`)
  for (const line of lines) out.line(line === '' ? '' : `  ${line}`)
}
