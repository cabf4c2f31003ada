import type { SessionBackend } from '@palimpsest/session-persistence'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandError, describeFailure, namingTakeover } from '../failure.js'
import { notFound, resolveId } from '../session-id.js'
import { askYesNo, canAsk } from '../terminal.js'
import { withExamples } from './examples.js'

export function rmCommand(): Command {
  const command = new Command('rm')
    .description('Remove sessions; forks of them keep what they share. One that somebody holds is refused')
    .argument('<id...>', 'session ids; without a question asked they must be whole')
    .option('-f, --force', 'do not ask')
    .action(action(remove))
  return withExamples(command, 'rm 3f2a', 'rm 7c1d52d4-0c55-4f0f-a2a8-9a2d1b9a0f11 --force')
}

// --- internal ---

async function remove(context: Context, given: string[], { force = false }: { force?: boolean }): Promise<ExitCode> {
  const { out } = context
  const backend = await context.existingStore()
  const asks = !force && canAsk()
  const ids: string[] = []
  for (const each of new Set(given)) ids.push(await wholeId(backend, each, asks))
  if (asks && !(await askYesNo(`Remove ${ids.map(escapeLine).join(', ')} for good?`))) return EXIT.refused
  const removed: string[] = []
  let code: ExitCode = EXIT.ok
  for (const id of ids) {
    const failure = await tryRemove(backend!, id, context)
    if (failure === undefined) removed.push(id)
    else {
      out.fail(failure)
      code = failure.exitCode
    }
  }
  if (out.isJson) out.json({ removed })
  for (const id of removed) out.line(`removed ${escapeLine(id)}`)
  return code
}

/** What nobody looks over again is not guessed. */
async function wholeId(backend: SessionBackend | undefined, given: string, asks: boolean): Promise<string> {
  const id = await resolveId(backend, given)
  if (asks || id === given) return id
  throw new CommandError(
    'SESSION_NOT_FOUND',
    `${notFound(given).message}; ${id} begins so, but rm takes whole ids unless it can ask`,
  )
}

async function tryRemove(backend: SessionBackend, id: string, { storeFlag }: Context) {
  try {
    await backend.remove(id)
    return undefined
  } catch (error) {
    return describeFailure(namingTakeover(error, `palimpsest resume ${id} --takeover${storeFlag}`))
  }
}
