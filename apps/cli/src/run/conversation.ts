import type { TurnEnd } from '@palimpsest/session'
import type { OpenSession } from '@palimpsest/session-persistence'
import type { Context } from '../context.js'
import { escapeLine, shorten } from '../escape.js'
import type { ExitCode } from '../exit-codes.js'
import { askTask } from '../terminal.js'
import { reasonText } from '../view/event.js'
import { counted } from '../view/figures.js'
import type { Driver, TurnReport } from './driver.js'

/** One task and its turn; without a task, turn after turn as the user types them. Returns the exit code. */
export async function converse(context: Context, open: OpenSession, driver: Driver, task?: string): Promise<ExitCode> {
  let report: TurnReport | undefined
  context.out.line(context.out.colors.dim(`session ${escapeLine(open.session.id)}`))
  try {
    if (task !== undefined) report = await runOne(context, driver, task)
    else
      for (let next = await askTask(); next !== undefined; next = await askTask())
        report = await runOne(context, driver, next)
  } finally {
    await driver.close()
  }
  if (context.out.isJson) context.out.json(resultOf(open, report))
  else printNext(context, open)
  return report?.exitCode ?? 0
}

// --- internal ---

async function runOne({ out }: Context, driver: Driver, task: string): Promise<TurnReport> {
  const report = await driver.run(task)
  const { reason, steps, usage } = report
  const tokens = [
    usage.inputTokens === undefined ? '' : `, ${usage.inputTokens} tokens in`,
    usage.outputTokens === undefined ? '' : `, ${usage.outputTokens} out`,
  ]
  const text = shorten(reasonText(reason), 400)
  out.line()
  out.line(`${paintFor(reason, out.colors)(text)}${out.colors.dim(` · ${counted(steps, 'step')}${tokens.join('')}`)}`)
  return report
}

function paintFor({ kind }: TurnEnd, { green, red, yellow }: Context['out']['colors']) {
  if (kind === 'completed') return green
  return kind === 'error' ? red : yellow
}

function resultOf({ session, report: { damage, repaired } }: OpenSession, report: TurnReport | undefined) {
  const { turn, reason, steps, text, usage } = report ?? {}
  return { id: session.id, length: session.length, turn, reason, steps, text, usage, repaired, damage }
}

function printNext({ out, storeFlag }: Context, { session }: OpenSession): void {
  const id = escapeLine(session.id)
  out.line(`${out.colors.bold(`session ${id}`)}  ${counted(session.length, 'event')}`)
  out.line(`  palimpsest resume ${id} "next task"${storeFlag}`)
  out.line(`  palimpsest show ${id}${storeFlag}`)
  out.line(`  palimpsest log ${id}${storeFlag}`)
}
