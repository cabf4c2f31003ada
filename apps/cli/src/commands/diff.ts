import type { ModelRequest } from '@palimpsest/session'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandError, usageError } from '../failure.js'
import { resolvePosition } from '../position.js'
import { diffRequests, type MessageChange, type RequestDiff } from '../request-diff.js'
import { readStored } from '../stored-session.js'
import { asText } from '../view/as-text.js'
import { counted } from '../view/figures.js'
import { messageLines } from '../view/message.js'
import { withExamples } from './examples.js'

export function diffCommand(): Command {
  const command = new Command('diff')
    .description('Tell what changed between two requests, message by message, of one session or of two')
    .usage('[options] [id] <a> <b>')
    .argument('<id>', 'a session id, its unique beginning, or "last"; may be left out: "last"')
    .argument('<a>', 'a length (12) or turn.step (2.1)')
    .argument('[b]', 'another place; ID@PLACE is one of another session')
    .action(action(diff))
  return withExamples(command, 'diff 1.1 2.1', 'diff 3f2a 1.1 9bc0@1.1', 'diff last 10 40 --json')
}

// --- internal ---

/** With two arguments they are the places. */
async function diff(context: Context, first: string, second: string, third: string | undefined): Promise<ExitCode> {
  if (third === undefined && !PLACE.test(first)) throw onePlace(first, second)
  const [given, a, b] = third === undefined ? [undefined, first, second] : [first, second, third]
  const [left, right] = [await requestOf(context, given, a), await requestOf(context, given, b)]
  const found = diffRequests(left.request, right.request)
  const { out } = context
  if (out.isJson)
    out.json({ a: { id: left.id, length: left.length }, b: { id: right.id, length: right.length }, ...found })
  else print(found, context)
  return EXIT.ok
}

/** With or without the id of a session before it. */
const PLACE = /(^|@)\d+(\.\d+)?$/

function onePlace(first: string, second: string): CommandError {
  return usageError(
    `expected two places, found "${first}" and "${second}"; palimpsest diff ${first} ${second} PLACE compares two of one session`,
  )
}

async function requestOf(context: Context, given: string | undefined, place: string) {
  const at = place.lastIndexOf('@')
  const { session, id } = await readStored(context, at === -1 ? given : place.slice(0, at))
  const length = resolvePosition(session, place.slice(at + 1))
  const request: ModelRequest | undefined = session.requestAt(length)
  if (request !== undefined) return { id, length, request }
  throw new CommandError(
    'REQUEST_UNKNOWN',
    `expected a request header among the first ${counted(length, 'event')} of ${id}, found none: no request was made by then; choose a later place`,
  )
}

function print({ members, messages, divergence }: RequestDiff, context: Context): void {
  const { out } = context
  const { red, green, dim, bold } = out.colors
  for (const { name, a, b } of members) {
    out.line(bold(name))
    if (a !== undefined) out.line(red(`- ${escapeLine(asText(a))}`))
    if (b !== undefined) out.line(green(`+ ${escapeLine(asText(b))}`))
  }
  if (divergence === undefined) {
    out.line(
      members.length === 0 ? `The same request: ${counted(messages.length, 'message')}.` : 'The messages are the same.',
    )
    return
  }
  let hidden = 0
  const showHidden = () => {
    if (hidden > 0) out.line(dim(`  … ${counted(hidden, 'equal message')}`))
    hidden = 0
  }
  messages.forEach((change, i) => {
    if (change.kind === 'same') {
      hidden += 1
      return
    }
    showHidden()
    if (i === divergence) out.line(bold('first divergence'))
    printChange(change, context)
  })
  showHidden()
}

function printChange(change: Exclude<MessageChange, { kind: 'same' }>, { out }: Context): void {
  const { red, green } = out.colors
  const [sign, paint, place] =
    change.kind === 'removed' ? (['-', red, change.a] as const) : (['+', green, change.b] as const)
  out.line(paint(`${sign} message ${place} (${change.message.role})`))
  for (const line of messageLines(change.message, out.colors)) out.line(paint(`${sign}   ${line}`))
}
