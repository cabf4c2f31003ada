import type { Edit, Explanation } from '@palimpsest/history'
import type { Session, SessionEvent } from '@palimpsest/session'
import type { SessionBackend } from '@palimpsest/session-persistence'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { shorten } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { readRange } from '../log-reader.js'
import { readStored } from '../stored-session.js'
import { unknownSeq } from '../unknown-seq.js'
import { asText } from '../view/as-text.js'
import { eventLine } from '../view/event.js'
import { instant } from '../view/figures.js'
import { withExamples } from './examples.js'
import { parseCount, seqOf } from './parse-count.js'

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
  const [given, seq] = number === undefined ? [undefined, seqOf(id)] : [id, number]
  const { session, backend } = await readStored(context, given)
  const event = session.at(seq)
  if (event === undefined) throw unknownSeq(session, seq)
  const history = await import('@palimpsest/history')
  const state = history.explain(session, seq)
  const relations = {
    above: chainAbove(session, seq),
    shadows: session.surface.shadowed(seq),
    sources: event.sourceEventSeqs ?? [],
    ...(await lookBehind(backend, session, seq, state)),
  }
  if (context.out.isJson) context.out.json({ id: session.id, seq, type: event.type, ...state, ...relations, event })
  else print(session, event, state, relations, context)
  return EXIT.ok
}

/** Later events only may cite it, or be the edit that took it off the surface: the cost is what lies behind it. */
async function lookBehind(backend: SessionBackend, session: Session, seq: number, state: Explanation) {
  const { EditFold } = await import('@palimpsest/history')
  const citedBy: number[] = []
  const fold = new EditFold()
  await readRange(backend, session.id, { from: seq + 1, to: session.length }, events => {
    for (const event of events) {
      if (event.sourceEventSeqs?.includes(seq)) citedBy.push(event.seq)
      fold.add(event)
    }
  })
  const edit = fold.finish().find(each => isEditOf(each, seq, state))
  return { citedBy, ...(edit && { edit: { kind: edit.kind, seq: edit.seq, time: edit.time, reason: edit.reason } }) }
}

function isEditOf({ kind, seq: editSeq, nodes }: Edit, seq: number, state: Explanation): boolean {
  if (state.state === 'shadowed') return kind !== 'restore' && nodes.includes(state.by)
  return state.state === 'undone' && kind === 'restore' && editSeq === state.by && nodes.includes(seq)
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
  /** What took it off the surface. */
  edit?: { kind: Edit['kind']; seq: number; time: number; reason: string | undefined }
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

const KINDS = { compaction: 'a compaction', prune: 'a pruning', replace: 'a replacement', restore: 'a restore' }

function because(reason: string | undefined): string {
  return reason === undefined ? '' : `, because: ${shorten(asText(reason), 200)}`
}

function sentenceOf(state: Explanation, { above, edit }: Relations): string {
  switch (state.state) {
    case 'visible':
      return 'Visible: the model sees it.'
    case 'shadowed': {
      const top = above.at(-1)!
      const by = edit === undefined ? '' : `, ${KINDS[edit.kind]} of ${instant(edit.time)}`
      return `Shadowed by ${state.by}${by}; the model sees ${top} in its place. It is still in the log.`
    }
    case 'undone':
      return `Undone: the restore ${state.by} took it off the surface and put back what it had shadowed${because(edit?.reason)}.`
    case 'never':
      return 'Never on the surface: an event of this type makes no message.'
  }
}
