import type { ModelRequest } from '@palimpsest/session'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { escapeLine, escapeText } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandError } from '../failure.js'
import { resolvePosition } from '../position.js'
import { readStored } from '../stored-session.js'
import { messageLines } from '../view/message.js'
import { withExamples } from './examples.js'

export function atCommand(): Command {
  const command = new Command('at')
    .description('Print the exact request that a prefix of the log makes')
    .argument('<id>', 'a session id, its unique beginning, or "last"')
    .argument('<position>', 'a length (12: the first twelve events) or turn.step (2.1: what that step asked the model)')
    .action(action(at))
  return withExamples(command, 'at last 2.1', 'at 3f2a 40', 'at last 1.3 --json > request.json')
}

// --- internal ---

async function at(context: Context, given: string, position: string): Promise<ExitCode> {
  const { session } = await readStored(context, given)
  const length = resolvePosition(session, position)
  const request = session.requestAt(length)
  if (request === undefined) throw noRequest(length)
  if (context.out.isJson) context.out.json(request)
  else print(request, length, context)
  return EXIT.ok
}

function noRequest(length: number): CommandError {
  return new CommandError(
    'REQUEST_UNKNOWN',
    `expected a request header among the first ${length} events, found none: no request was made by then; choose a later place`,
  )
}

function print(
  { model, settings, system, tools = [], rules, messages }: ModelRequest,
  length: number,
  { out }: Context,
): void {
  const { colors } = out
  out.line(colors.bold(`the request of the first ${length} events`))
  out.line(`model     ${escapeLine(String(model))}`)
  out.line(`settings  ${escapeLine(JSON.stringify(settings))}`)
  if (rules !== undefined) out.line(`rules     ${escapeLine(JSON.stringify(rules))}`)
  out.line(`tools     ${escapeLine(tools.map(({ name }) => name).join(', ')) || 'none'}`)
  if (system !== undefined) {
    out.line(`\n${colors.bold('system')}`)
    for (const line of escapeText(String(system)).split('\n')) out.line(line === '' ? '' : `  ${line}`)
  }
  for (const message of messages) {
    out.line(`\n${colors.bold(message.role)}`)
    for (const line of messageLines(message, colors)) out.line(line === '' ? '' : `  ${line}`)
  }
}
