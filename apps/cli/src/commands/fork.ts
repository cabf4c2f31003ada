import { forkSession } from '@palimpsest/session-persistence'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { resolvePosition } from '../position.js'
import { resolveId } from '../session-id.js'
import { readStored } from '../stored-session.js'
import { counted } from '../view/figures.js'
import { withExamples } from './examples.js'

export function forkCommand(): Command {
  const command = new Command('fork')
    .description('Make a new session that shares the beginning of another one, which is only read')
    .argument('<id>', 'a session id, its unique beginning, or "last"')
    .option('--at <position>', 'share this much: a length, or turn.step; default: all that is stored')
    .option('--id <id>', 'the id of the new session; default: a new one')
    .action(action(fork))
  return withExamples(command, 'fork last', 'fork 3f2a --at 2.1 --id second-try')
}

// --- internal ---

async function fork(context: Context, given: string, { at, id }: { at?: string; id?: string }): Promise<ExitCode> {
  const backend = await context.existingStore()
  const parent = await resolveId(backend, given)
  const length = at === undefined ? undefined : resolvePosition((await readStored(context, parent)).session, at)
  const options = { ...(length !== undefined && { length }), ...(id !== undefined && { id }) }
  const child = await forkSession(backend!, parent, options)
  const { session, report } = child
  const shared = session.header.parent!.length
  await child.close()
  const { out, storeFlag } = context
  if (out.isJson) {
    out.json({ id: session.id, parent: session.header.parent, length: session.length, repaired: report.repaired })
    return EXIT.ok
  }
  out.line(
    `${out.colors.bold(escapeLine(session.id))} shares the first ${counted(shared, 'event')} of ${escapeLine(parent)}.`,
  )
  if (report.repaired.length > 0) out.line(`Its open turn was closed with ${counted(report.repaired.length, 'event')}.`)
  if (report.readOnly) out.line(`It cannot go on: palimpsest doctor ${session.id}${storeFlag} says why`)
  else out.line(`Go on: palimpsest resume ${session.id} "task"${storeFlag}`)
  return EXIT.ok
}
