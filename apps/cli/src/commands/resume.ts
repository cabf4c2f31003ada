import type { RequestHeader, Session } from '@palimpsest/session'
import { type Damage, type OpenSession, openSession } from '@palimpsest/session-persistence'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandError, namingTakeover } from '../failure.js'
import type { ChosenModel } from '../run/model.js'
import { addRunOptions, ENVIRONMENT_HELP, type RunOptions } from '../run/options.js'
import { taskText } from '../run/task-text.js'
import { resolveId } from '../session-id.js'
import { damageLine } from '../view/damage.js'
import { eventLine } from '../view/event.js'
import { counted } from '../view/figures.js'
import { interruptionText } from '../view/interruption.js'
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
  const open = await openSession(backend!, id, options.takeover ? { takeover: true } : {}).catch(error => {
    throw namingTakeover(error, `palimpsest resume ${id} --takeover${context.storeFlag}`)
  })
  try {
    reportOpening(open, context)
    await reportInterruption(open, context)
    const { session } = open
    const last = session.requestAt(session.length)
    const chosen = await chooseModel(options, last?.model)
    const cwd = workFolder(options.cwd ?? session.header.cwd ?? process.cwd())
    const words = task ?? (isUnfinished(session) ? GO_ON : undefined)
    const text = await taskText(words, `palimpsest resume ${id} "now the docs"`)
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

/** Says what opening found and mended; a log with a hole cannot go on. */
function reportOpening({ session, report }: OpenSession, { out, storeFlag }: Context): void {
  for (const damage of report.damage) out.note(`${session.id}: ${damageLine(damage)}`)
  if (report.readOnly) throw readOnly(session, report.damage, storeFlag)
  const results = report.repaired.filter(event => event.type === 'tool/result')
  if (report.repaired.length === 0) return
  out.line(
    out.colors.yellow(`The last turn was interrupted; it was closed with ${counted(report.repaired.length, 'event')}:`),
  )
  for (const event of results) out.line(`  ${eventLine(event, out.colors)}`)
}

/** The surface is as it was, or as it was to be; a worried user is told which. */
async function reportInterruption({ session }: OpenSession, { out }: Context): Promise<void> {
  const { findInterruptedCompaction } = await import('@palimpsest/history')
  const compaction = findInterruptedCompaction(session)
  if (compaction !== undefined) out.note(`${session.id}: ${interruptionText(compaction)}`)
}

function readOnly({ id, length }: Session, damage: readonly Damage[], storeFlag: string): CommandError {
  const name = escapeLine(id)
  const hasHole = damage.some(({ code }) => code === 'LOG_HOLE')
  const first = hasHole
    ? `doctor ${name} --fix${storeFlag} writes what can be read into a new session`
    : `doctor ${name}${storeFlag} says why`
  return new CommandError(
    'SESSION_READ_ONLY',
    `expected a session that can go on, found one that can be read only up to event ${length}; ` +
      `palimpsest ${first}, palimpsest fork ${name} --at ${length}${storeFlag} goes on from there`,
    EXIT.failure,
  )
}
