import { type Explanation, explain as explainEvent } from '@palimpsest/history'
import type { Session, SessionEvent } from '@palimpsest/session'
import type { SessionBackend } from '@palimpsest/session-persistence'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandError } from '../failure.js'
import { readRange } from '../log-reader.js'
import { readStored } from '../stored-session.js'
import { eventLine } from '../view/event.js'
import { withExamples } from './examples.js'
import { parseCount } from './parse-count.js'

export function explainCommand(): Command {
  const command = new Command('explain')
    .description('Tell where an event is now: visible, shadowed, undone, or never on the surface; and what it rests on')
    .usage('[options] [id] <seq>')
    .argument('<id>', 'a session id, its unique beginning, or "last"; may be left out: "last"')
    .argument('[seq]', 'the seq of the event', parseCount)
    .action(action(explain))
  return withExamples(command, 'explain 12', 'explain 3f2a 40 --json')
}

// --- internal ---

/** With one argument it is the seq. */
async function explain(context: Context, id: string, number: number | undefined): Promise<ExitCode> {
  const [given, seq] = number === undefined ? [undefined, parseCount(id)] : [id, number]
  const { session, backend } = await readStored(context, given)
  const event = session.at(seq)
  if (event === undefined) throw unknownSeq(session, seq)
  const state = explainEvent(session, seq)
  const relations = {
    above: chainAbove(session, seq),
    shadows: session.surface.shadowed(seq),
    sources: event.sourceEventSeqs ?? [],
    citedBy: await findCiting(backend, session, seq),
  }
  if (context.out.isJson) context.out.json({ id: session.id, seq, type: event.type, ...state, ...relations, event })
  else print(session, event, state, relations, context)
  return EXIT.ok
}

/** Later events only may cite it, so the cost is what lies behind it. */
async function findCiting(backend: SessionBackend, session: Session, seq: number): Promise<number[]> {
  const citing: number[] = []
  await readRange(backend, session.id, { from: seq + 1, to: session.length }, events => {
    for (const { seq: later, sourceEventSeqs } of events) if (sourceEventSeqs?.includes(seq)) citing.push(later)
  })
  return citing
}

/** The nodes above a shadowed one, the last of them visible. */
function chainAbove({ surface }: Session, seq: number): number[] {
  const above: number[] = []
  for (let by = surface.coveredBy(seq); by !== undefined; by = surface.coveredBy(by)) above.push(by)
  return above
}

interface Relations {
  above: readonly number[]
  shadows: readonly number[]
  sources: readonly number[]
  citedBy: readonly number[]
}

function print(
  session: Session,
  event: SessionEvent,
  state: Explanation,
  relations: Relations,
  { out }: Context,
): void {
  const width = String(session.length - 1).length
  const list = (title: string, seqs: readonly number[]) => {
    if (seqs.length === 0) return
    out.line(out.colors.bold(`${title} (${seqs.length})`))
    for (const seq of seqs.slice(0, LISTED)) out.line(`  ${eventLine(session.at(seq)!, out.colors, width)}`)
    if (seqs.length > LISTED) out.line(`  … and ${seqs.length - LISTED} more; --json lists all`)
  }
  out.line(eventLine(event, out.colors, width))
  out.line(sentenceOf(state, relations))
  list('in place of', relations.shadows)
  list('shadowed by', relations.above)
  list('sources', relations.sources)
  list('cited by', relations.citedBy)
}

const LISTED = 12

function sentenceOf(state: Explanation, { above }: Relations): string {
  switch (state.state) {
    case 'visible':
      return 'Visible: the model sees it.'
    case 'shadowed': {
      const top = above.at(-1)!
      return `Shadowed by ${state.by} since event ${state.since}; the model sees ${top} in its place. It is still in the log.`
    }
    case 'undone':
      return `Undone: the restore ${state.by} took it off the surface and put back what it had shadowed.`
    case 'never':
      return 'Never on the surface: an event of this type makes no message.'
  }
}

function unknownSeq(session: Session, seq: number): CommandError {
  const found = session.length === 0 ? 'an empty log' : `seqs 0 to ${session.length - 1}`
  return new CommandError(
    'EVENT_UNKNOWN',
    `expected the seq of an event that can be read, found ${seq} in a log with ${found}`,
  )
}
