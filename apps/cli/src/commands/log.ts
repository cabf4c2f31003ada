import type { SessionEvent } from '@palimpsest/session'
import { Command, InvalidArgumentError } from 'commander'
import { action, type Context } from '../context.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { resolveId } from '../session-id.js'
import { readLog } from '../stored-session.js'
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
    .option('--turn <n>', 'only what belongs to this turn', parseCount)
    .option('--grep <regexp>', 'only events whose JSON matches (JavaScript, case ignored)', parsePattern)
    .action(action(log))
  return withExamples(
    command,
    'log',
    "log 3f2a --type 'tool/*' --turn 2",
    'log last --from 100 --to 120',
    'log last --grep OUTCOME_UNKNOWN --json',
  )
}

// --- internal ---

interface Filters {
  type?: (type: string) => boolean
  from?: number
  to?: number
  turn?: number
  grep?: RegExp
}

async function log(context: Context, given: string, filters: Filters): Promise<ExitCode> {
  const { out } = context
  const backend = context.existingStore()
  const id = await resolveId(backend, given)
  const { events, length, damage } = await readLog(backend!, id)
  for (const each of damage) out.note(`${id}: ${damageLine(each)}`)
  const width = String(Math.max(length - 1, 0)).length
  let expected = 0
  let isWhole = events.length === length
  for (const event of within(events, filters)) {
    if (event.seq > expected && !isWhole) printHole(context, events, expected, event.seq)
    expected = event.seq + 1
    if (!matches(event, filters)) continue
    if (out.isJson) out.json(event)
    else out.line(eventLine(event, out.colors, width))
  }
  isWhole = isWhole && damage.every(({ code }) => code === 'RECORD_TORN')
  return isWhole ? EXIT.ok : EXIT.failure
}

/** Every event of the range, in order; the turn's own narrowing needs its edges, so it comes first. */
function* within(events: readonly SessionEvent[], { from = 0, to = Infinity, turn }: Filters): Generator<SessionEvent> {
  let current: unknown
  for (const event of events) {
    if (event.type === 'turn/start') current = turnOf(event)
    const mine = turn === undefined || (turnOf(event) ?? current) === turn
    if (event.type === 'turn/end') current = undefined
    if (mine && event.seq >= from && event.seq < to) yield event
  }
}

function matches(event: SessionEvent, { type, grep }: Filters): boolean {
  return (type?.(event.type) ?? true) && (grep?.test(JSON.stringify(event)) ?? true)
}

/** Says where seqs are missing, if they are missing and not only filtered out. */
function printHole({ out }: Context, events: readonly SessionEvent[], from: number, to: number): void {
  const present = new Set(events.map(({ seq }) => seq))
  const lost = Array.from({ length: to - from }, (_, i) => from + i).filter(seq => !present.has(seq))
  if (lost.length > 0) out.line(out.colors.red(`-- ${seqRange(lost[0]!, lost.at(-1)! + 1)} cannot be read`))
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
