import { type Edit, EditFold, effectOf } from '@palimpsest/history'
import type { Context } from '../context.js'
import { shorten } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { usageError } from '../failure.js'
import { scanLog } from '../log-reader.js'
import { isIncomplete, readStored } from '../stored-session.js'
import { loadTokenizer, TOKENIZER } from '../tokenizer.js'
import { asText } from '../view/as-text.js'
import { counted, instant, seqSpan } from '../view/figures.js'
import { table } from '../view/table.js'
import { type ImportedEdit, ImportedEdits } from './imported-edits.js'

/** Those of the log's filters that choose among edits. */
export interface EditFilters {
  from?: number
  to?: number
  last?: number
  turn?: number
}

/** One line an edit: what it put in whose place, and what that cost. Edits behind a hole cannot be judged, and are not told. */
export async function listEdits(context: Context, given: string, filters: EditFilters): Promise<ExitCode> {
  const { out } = context
  const stored = await readStored(context, given)
  const { session, backend, id } = stored
  const fold = new EditFold()
  const imported = new ImportedEdits()
  await scanLog(backend, id, events => {
    for (const event of events) {
      if (event.seq >= session.length) continue
      fold.add(event)
      imported.add(event)
    }
  })
  const all = fold.finish()
  const edits = choose(all, filters)
  const countTokens = await loadTokenizer()
  const rows: string[][] = []
  for (const edit of edits) {
    const { off = [], on = [], cost } = effectOf(session, edit, countTokens) ?? {}
    const { recorded, ...rest } = edit
    const origin = imported.originOf(edit)
    const told = { ...rest, ...(origin && { imported: origin }) }
    const countedBy = cost && (recorded === undefined ? TOKENIZER : 'log')
    if (out.isJson) out.json({ ...told, off, on, ...cost, ...(countedBy && { countedBy }) })
    else rows.push(rowOf(edit, { off, on, cost, countedBy, origin }))
  }
  if (rows.length > 0) print(rows, out)
  else if (all.length > 0) out.line(`No edits there; the log has ${all.length}.`)
  else out.line('No edits: the model sees all that was said and done, as it was logged.')
  if (stored.isHoled)
    out.note(`${id}: edits behind the hole at event ${session.length} cannot be judged, and are not told`)
  return isIncomplete(stored) ? EXIT.failure : EXIT.ok
}

/** What `--edits` cannot be asked together with. */
export function assertEditFilters(filters: { type?: unknown; grep?: unknown }): void {
  const name = (['type', 'grep'] as const).find(each => filters[each] !== undefined)
  if (name === undefined) return
  throw usageError(`--edits: expected no --${name} beside it, which chooses among events; leave one of them out`)
}

// --- internal ---

function choose(edits: readonly Edit[], { from = 0, to = Number.POSITIVE_INFINITY, last, turn }: EditFilters): Edit[] {
  const chosen = edits.filter(edit => edit.seq >= from && edit.seq < to && (turn === undefined || edit.turn === turn))
  return last === undefined ? chosen : chosen.slice(Math.max(0, chosen.length - last))
}

interface Told {
  off: readonly number[]
  on: readonly number[]
  cost: NonNullable<Edit['recorded']> | undefined
  countedBy: string | undefined
  origin: ImportedEdit | undefined
}

const HEAD = [
  'SEQ',
  'WHEN',
  'TURN',
  'EDIT',
  'OFF',
  'ON',
  'BEFORE',
  'AFTER',
  'SAVED',
  'STAYS',
  'BROKEN',
  'COUNTED BY',
  '',
]
const FIGURES = [0, 2, 6, 7, 8, 9, 10]

function rowOf(edit: Edit, { off, on, cost, countedBy, origin }: Told): string[] {
  const { tokensBefore, tokensAfter, tokensSaved, cachedPrefix } = cost ?? {}
  const stays = cachedPrefix && `${counted(cachedPrefix.messages, 'message')}, ${cachedPrefix.tokens}`
  const figures = [tokensBefore, tokensAfter, tokensSaved, stays, cachedPrefix?.tokensBroken, countedBy]
  return [
    String(edit.seq),
    instant(edit.time),
    edit.turn === undefined ? '–' : shorten(asText(edit.turn), 9),
    origin === undefined ? edit.kind : `imported ${origin}`,
    seqSpan(off),
    seqSpan(on),
    ...figures.map(figure => (figure === undefined ? '–' : String(figure))),
    noteOf(edit),
  ]
}

function noteOf({ state, error, undoneBy, nodes, reason }: Edit): string {
  const notes = undoneBy.length === 0 ? [] : [`undone by ${seqSpan(undoneBy)}`]
  if (state === 'failed') notes.push(`failed, nothing was replaced: ${asText(error?.code)}: ${asText(error?.message)}`)
  if (state === 'interrupted' && nodes.length === 0) notes.push('begun and never ended: nothing was replaced')
  if (state === 'interrupted' && nodes.length > 0) notes.push('never ended, but its replacement stands')
  if (reason !== undefined) notes.push(`reason: ${asText(reason)}`)
  return shorten(notes.join('; '), NOTE_CHARACTERS)
}

const NOTE_CHARACTERS = 200

function print(rows: readonly string[][], { line, colors }: Context['out']): void {
  const [head, ...lines] = table(HEAD, rows, FIGURES)
  line(colors.dim(head!))
  for (const each of lines) line(each)
  const isCounted = rows.some(row => row[FIGURES.at(-1)! + 1] === TOKENIZER)
  const by = isCounted ? `; ${TOKENIZER}: counted now, as the log does not hold it` : ''
  line(
    colors.dim(
      `Tokens of all visible messages. STAYS: the cached prefix; BROKEN: to cache anew. log: counted when the edit was made${by}.`,
    ),
  )
}
