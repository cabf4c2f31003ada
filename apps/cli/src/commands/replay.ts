import type { Session } from '@palimpsest/session'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandError } from '../failure.js'
import { resolvePosition } from '../position.js'
import type { ReplayReport } from '../replay/replay.js'
import type { Difference } from '../replay/stage.js'
import { readStored } from '../stored-session.js'
import { asText } from '../view/as-text.js'
import { eventLine } from '../view/event.js'
import { counted } from '../view/figures.js'
import { withExamples } from './examples.js'

export function replayCommand(): Command {
  const command = new Command('replay')
    .description(
      'Run the loop again, offline, on what the model and the tools gave, and prove that it writes the same log',
    )
    .argument('[id]', 'a session id, its unique beginning, or "last" (the default)')
    .option('--until <position>', 'stop there: a length (12) or turn.step (2.1)')
    .action(action(replay))
  return withExamples(command, 'replay', 'replay 3f2a --until 2.1', 'replay last --json')
}

// --- internal ---

async function replay(context: Context, given: string | undefined, { until }: { until?: string }): Promise<ExitCode> {
  // The loop is loaded only where it runs.
  const { replaySession } = await import('../replay/replay.js')
  const { session, id } = await readStored(context, given)
  const report = await replaySession(session, until === undefined ? undefined : resolvePosition(session, until))
  if (report.turns === 0 && session.header.importedFrom !== undefined) throw noTurns(id, session, context.storeFlag)
  if (context.out.isJson) context.out.json({ id, same: report.difference === undefined, ...report })
  else print(report, context)
  return report.difference === undefined ? EXIT.ok : EXIT.failure
}

/** What another agent's loop did cannot be run again by this one. */
function noTurns(id: string, { header, length }: Session, storeFlag: string): CommandError {
  const { format } = Object(header.importedFrom) as { format?: unknown }
  return new CommandError(
    'NOTHING_TO_REPLAY',
    `expected turns that were run here, found none yet: ${counted(length, 'event')} ${length === 1 ? 'was' : 'were'} imported from ${asText(format)}; ` +
      `palimpsest resume ${id} "…"${storeFlag} runs the first`,
  )
}

function print({ length, given, turns, difference }: ReplayReport, { out }: Context): void {
  const { green, red } = out.colors
  const rest = given === 0 ? '' : `; ${counted(given, 'event')} of others put in as recorded`
  if (difference === undefined) {
    out.line(`${green('same')}  ${counted(length, 'event')}, ${counted(turns, 'turn')} run again${rest}`)
    return
  }
  out.line(`${red('differs')}  at event ${difference.seq}, after ${counted(length, 'equal event')}${rest}`)
  printDifference(difference, { out })
}

function printDifference({ seq, expected, found, reason }: Difference, { out }: Pick<Context, 'out'>): void {
  const width = String(seq).length
  out.line(`  recorded  ${expected ? eventLine(expected, out.colors, width) : 'nothing'}`)
  out.line(`  replayed  ${found ? eventLine(found, out.colors, width) : `nothing: ${reason}`}`)
  if (!expected || !found) return
  const [a, b] = [JSON.stringify(expected), JSON.stringify(found)]
  let at = 0
  while (a[at] === b[at]) at++
  const around = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 30), at + 50))
  out.line(`  first other byte: ${at}\n  recorded  ${around(a)}\n  replayed  ${around(b)}`)
}
