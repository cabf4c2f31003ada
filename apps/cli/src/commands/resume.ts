import type { RequestHeader, Session } from '@palimpsest/session'
import { openSession, type SessionBackend } from '@palimpsest/session-persistence'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandError, namingTakeover } from '../failure.js'
import { reportOpening } from '../opening.js'
import type { ChosenModel } from '../run/model.js'
import { addRunOptions, ENVIRONMENT_HELP, type RunOptions } from '../run/options.js'
import { taskText } from '../run/task-text.js'
import { resolveId } from '../session-id.js'
import { openForLook } from '../stored-session.js'
import { withExamples } from './examples.js'

export function resumeCommand(): Command {
  const command = new Command('resume')
    .description(
      'Go on with a session: close what was interrupted with the truth, say what was mended, run one more turn',
    )
    .argument('[id]', 'a session id, its unique beginning, or "last"', 'last')
    .argument('[task]', `what to do; "-" reads it from stdin; none, after a turn that did not complete: "${GO_ON}"`)
    .option('--takeover', 'take the session from an owner that is, or may be, alive')
  addRunOptions(command)
    .addHelpText(
      'after',
      `\nModel, settings and system text are the session's last ones where no option says otherwise.\n${ENVIRONMENT_HELP}`,
    )
    .action(action(resume))
  return withExamples(command, 'resume', 'resume 3f2a "now the docs"', 'resume last "go on" --allow write,execute')
}

// --- internal ---

const GO_ON = 'Continue.'

type ResumeOptions = RunOptions & { takeover?: boolean }

async function resume(
  context: Context,
  given: string,
  task: string | undefined,
  options: ResumeOptions,
): Promise<ExitCode> {
  const { chooseModel, converse, createDriver, openToolBox, parseAllow, workFolder } = await import('../run/parts.js')
  const backend = await context.existingStore()
  const id = await resolveId(backend, wordOf(given))
  const prepare = async (session: Session) => ({
    chosen: await chooseModel(options, session.requestAt(session.length)?.model),
    cwd: workFolder(options.cwd ?? session.header.cwd ?? process.cwd()),
    text: await taskText(task ?? (isUnfinished(session) ? GO_ON : undefined), `palimpsest resume ${id} "now the docs"`),
  })
  // What the turn needs is asked for before opening writes anything; what cannot be looked at, opening refuses.
  const early = await lookAt(backend!, id).then(session => session && prepare(session))
  const open = await openSession(backend!, id, options.takeover ? { takeover: true } : {}).catch(error => {
    throw namingTakeover(error, `palimpsest resume ${id} --takeover${context.storeFlag}`)
  })
  try {
    await reportOpening(open, context)
    const { session } = open
    const { chosen, cwd, text } = early ?? (await prepare(session))
    const last = session.requestAt(session.length)
    const box = await openToolBox(cwd, options.mcp ?? [])
    try {
      const agent = { model: chosen.port, tools: box.tools, ...continued(options, chosen, last) }
      const allowed = parseAllow(options.allow, box.tools)
      return await converse(context, open, await createDriver(open, agent, allowed, context.out), text)
    } finally {
      await box.close()
    }
  } finally {
    await open.close()
  }
}

/** The session as it is stored; `undefined` of one that opening it will refuse, with the reason. */
async function lookAt(backend: SessionBackend, id: string): Promise<Session | undefined> {
  const { session, isHoled } = await openForLook(backend, id).catch(() => ({ session: undefined, isHoled: true }))
  return isHoled ? undefined : session
}

/** A task in the place of the id is the likeliest slip. */
function wordOf(given: string): string {
  if (!/\s/.test(given)) return given
  throw new CommandError(
    'SESSION_ID_INVALID',
    `expected a session id before the task, found "${given}"; for the newest session: palimpsest resume last "…"`,
    EXIT.usage,
  )
}

function continued(options: ResumeOptions, { port, settings, defaults }: ChosenModel, last?: RequestHeader) {
  const system = options.system ?? last?.system
  const { maxSteps } = options
  return {
    settings: { ...defaults, ...(last?.model === port.model && last.settings), ...settings },
    ...(system !== undefined && { system }),
    ...(maxSteps !== undefined && { maxSteps }),
  }
}

function isUnfinished(session: Session): boolean {
  const start = session.lastSeqOf('turn/start')
  if (start === undefined) return false
  const end = session.slice(start).find(event => event.type === 'turn/end')
  return end === undefined || end.data.reason.kind !== 'completed'
}
