import type { Message, Session, SessionEvent } from '@palimpsest/session'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { escapeLine, shorten } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { isIncomplete, readStored } from '../stored-session.js'
import { asText } from '../view/as-text.js'
import { counted } from '../view/figures.js'
import { messageLines } from '../view/message.js'
import { withExamples } from './examples.js'

export function showCommand(): Command {
  const command = new Command('show')
    .description('Print the surface: the messages that the model sees, in their order, with their seqs')
    .argument('[id]', 'a session id, its unique beginning, or "last"', 'last')
    .action(action(show))
  return withExamples(command, 'show', 'show 3f2a', "show last --json | jq '.messages[].seq'")
}

// --- internal ---

async function show(context: Context, given: string): Promise<ExitCode> {
  const stored = await readStored(context, given)
  const { session } = stored
  const nodes = session.surface.seqs().map(seq => nodeOf(session, seq))
  if (context.out.isJson) context.out.json({ id: session.id, length: session.length, messages: nodes })
  else print(session, nodes, context)
  return isIncomplete(stored) ? EXIT.failure : EXIT.ok
}

interface Node {
  seq: number
  type: string
  /** The events that this one stands in place of, where there are any. */
  shadows?: readonly number[]
  message: Message
}

function nodeOf(session: Session, seq: number): Node {
  const event = session.at(seq) as SessionEvent<'user/message'>
  const shadows = session.surface.shadowed(seq)
  return { seq, type: event.type, ...(shadows.length > 0 && { shadows }), message: event.data.message }
}

function print(session: Session, nodes: readonly Node[], { out }: Context): void {
  const { colors } = out
  const request = session.requestAt(session.length)
  const title = `${escapeLine(session.id)}  ${counted(session.length, 'event')}, ${counted(nodes.length, 'message')}`
  out.line(colors.bold(request === undefined ? title : `${title}, ${escapeLine(asText(request.model))}`))
  if (request?.system !== undefined) out.line(colors.dim(`system: ${shorten(asText(request.system), 100)}`))
  for (const { seq, type, shadows, message } of nodes) {
    const note = shadows === undefined ? '' : colors.yellow(`  in place of ${listed(shadows)}`)
    out.line()
    out.line(`${colors.bold(`#${seq} ${message.role}`)} ${colors.dim(type)}${note}`)
    for (const line of messageLines(message, colors)) out.line(line === '' ? '' : `  ${line}`)
  }
}

function listed(seqs: readonly number[]): string {
  if (seqs.length <= 8) return seqs.join(', ')
  return `${seqs.slice(0, 4).join(', ')} … ${seqs.at(-1)} (${seqs.length} events)`
}
