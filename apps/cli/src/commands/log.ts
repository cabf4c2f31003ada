import type { SessionEvent } from '@palimpsest/session'
import { Command, InvalidArgumentError } from 'commander'
import { action, type Context } from '../context.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { usageError } from '../failure.js'
import { readHead, readRange, scanLog } from '../log-reader.js'
import type { Output } from '../output.js'
import { resolveId } from '../session-id.js'
import { damageLine } from '../view/damage.js'
import { eventLine } from '../view/event.js'
import { seqRange } from '../view/figures.js'
import { withExamples } from './examples.js'
import { parseCount } from './parse-count.js'

export function logCommand(): Command {
  const command = new Command('log')
    .description('Print the events, one a line; with --json exactly as they are stored, without the checksum')
    .argument('[id]', 'a session id, its unique beginning, or "last"', 'last')
    .option('--type <types>', 'only these types, comma-separated; "tool/*" is all that begin so', parseTypes)
    .option('--from <seq>', 'from this seq on', parseCount)
    .option('--to <seq>', 'up to this seq, without it', parseCount)
    .option('--last <n>', 'only the last n events', parseCount)
    .option('--turn <n>', 'only what belongs to this turn', parseCount)
    .option('--grep <regexp>', 'only events whose JSON matches (JavaScript, case ignored)', parsePattern)
    .option(
      '--edits',
      'one line an edit instead: what stands for what, tokens saved, how much of the cached prefix breaks',
    )
    .action(action(log))
  return withExamples(
    command,
    'log',
    'log 3f2a --edits',
    "log 3f2a --type 'tool/*' --turn 2",
    'log last --from 100 --to 120',
    'log 3f2a --last 20',
    'log last --grep OUTCOME_UNKNOWN --json',
  )
}

// --- internal ---

interface Filters {
  edits?: boolean
  type?: (type: string) => boolean
  from?: number
  to?: number
  last?: number
  turn?: number
  grep?: RegExp
}

async function log(context: Context, given: string, filters: Filters): Promise<ExitCode> {
  if (filters.edits) {
    const { assertEditFilters, listEdits } = await import('./log-edits.js')
    assertEditFilters(filters)
    return listEdits(context, given, filters)
  }
  const { out } = context
  const backend = await context.existingStore()
  const id = await resolveId(backend, given)
  const { length } = await readHead(backend!, id)
  const { from, to } = rangeOf(filters, length)
  const belongs = membership(filters.turn)
  // Which turn an event without a number is of, only the events before it tell.
  let next = filters.turn === undefined ? from : 0
  let isWhole = true
  const print = async (events: SessionEvent[]) => {
    for (const event of events) {
      if (event.seq > next) isWhole = printHole(out, Math.max(next, from), event.seq)
      next = event.seq + 1
      const isMine = belongs(event) && event.seq >= from && matches(event, filters)
      if (isMine && out.isJson) out.json(event)
      else if (isMine) out.line(eventLine(event, out.colors, widthOf(length)))
    }
    await out.caughtUp()
  }
  const isAll = next === 0 && to >= length
  const { damage } = await (isAll ? scanLog(backend!, id, print) : readRange(backend!, id, { from: next, to }, print))
  for (const each of damage) out.note(`${id}: ${damageLine(each)}`)
  return isWhole && damage.every(({ code }) => code === 'RECORD_TORN') ? EXIT.ok : EXIT.failure
}

function rangeOf({ from, to = Number.POSITIVE_INFINITY, last }: Filters, length: number): { from: number; to: number } {
  if (last !== undefined && (from !== undefined || to < length)) {
    throw usageError('--last: expected neither --from nor --to beside it, found one; leave one of them out')
  }
  return { from: from ?? (last === undefined ? 0 : Math.max(0, length - last)), to: Math.min(to, length) }
}

/** Whether an event is of the turn; events must come in order. */
function membership(turn: number | undefined): (event: SessionEvent) => boolean {
  if (turn === undefined) return () => true
  let current: unknown
  return event => {
    if (event.type === 'turn/start') current = turnOf(event)
    const isMine = (turnOf(event) ?? current) === turn
    if (event.type === 'turn/end') current = undefined
    return isMine
  }
}

function matches(event: SessionEvent, { type, grep }: Filters): boolean {
  return (type?.(event.type) ?? true) && (grep?.test(JSON.stringify(event)) ?? true)
}

function printHole(out: Output, from: number, to: number): false {
  if (from < to) out.line(out.colors.red(`-- ${seqRange(from, to)} cannot be read`))
  return false
}

function widthOf(length: number): number {
  return String(Math.max(length - 1, 0)).length
}

function turnOf(event: SessionEvent): unknown {
  return (event.data as { turn?: unknown } | null)?.turn
}

function parseTypes(text: string): (type: string) => boolean {
  const wanted = text.split(',').map(each => each.trim())
  return type => wanted.some(each => (each.endsWith('*') ? type.startsWith(each.slice(0, -1)) : type === each))
}

function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text, 'iu')
  } catch (error) {
    throw new InvalidArgumentError(`Expected a regular expression: ${(error as Error).message}.`)
  }
}
