import { existsSync, statSync } from 'node:fs'
import type { Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { describeFailure } from '../failure.js'
import { counted } from '../view/figures.js'
import { diagnoseFile } from './doctor-file.js'
import { withSource } from './file-source.js'
import { agentHomes, filesBelow, formatOfFile } from './find-transcripts.js'

interface Checked {
  path: string
  format: string
  /** Above `info`, by code. */
  problems: Record<string, number>
  resume?: 'refused'
  error?: { code: string; message: string }
}

/** Looks into every transcript below a folder. Writes nothing. */
export async function doctorFolder(context: Context, folder: string): Promise<ExitCode> {
  const checked = await checkBelow(context, folder)
  if (context.out.isJson) context.out.json(checked)
  else if (checked.length === 0) context.out.line(`No transcripts below ${escapeLine(folder)}.`)
  return conclude(context, checked)
}

/** Looks into the transcripts that the agents of this computer left in their usual folders. Writes nothing. */
export async function doctorScan(context: Context): Promise<ExitCode> {
  const { out } = context
  const all: (Checked & { agent: string })[] = []
  for (const { agent, folder } of agentHomes()) {
    if (!existsSync(folder)) continue
    out.line(`${out.colors.bold(agent)}  ${escapeLine(folder)}`)
    for (const checked of await checkBelow(context, folder)) all.push({ agent, ...checked })
  }
  if (out.isJson) out.json(all)
  else if (all.length === 0) out.line('No transcripts in the usual folders of the agents that are known here.')
  return conclude(context, all)
}

// --- internal ---

async function checkBelow({ out }: Context, folder: string): Promise<Checked[]> {
  const all: Checked[] = []
  for (const path of filesBelow(folder)) {
    if (!isEmpty(path) && formatOfFile(path) === undefined) continue
    const checked = await check(path)
    all.push(checked)
    out.line(`${verdict(checked, out.colors)}  ${escapeLine(path)}  ${checked.format}${told(checked)}`)
    await out.caughtUp()
  }
  return all
}

/** What a crash may leave of a transcript. */
function isEmpty(path: string): boolean {
  return statSync(path).size === 0
}

async function check(path: string): Promise<Checked> {
  try {
    const { format, findings, resume } = await withSource(path, source => diagnoseFile(source, {}))
    const problems: Record<string, number> = {}
    for (const { code, severity } of findings) if (severity !== 'info') problems[code] = (problems[code] ?? 0) + 1
    return { path, format, problems, ...(resume && { resume }) }
  } catch (error) {
    const { code, message } = describeFailure(error)
    return { path, format: 'unknown', problems: {}, error: { code, message } }
  }
}

function isSound({ problems, error }: Checked): boolean {
  return error === undefined && Object.keys(problems).length === 0
}

function verdict(checked: Checked, { green, yellow }: Context['out']['colors']): string {
  return isSound(checked) ? green('ok     ') : yellow('problem')
}

function told({ problems, error }: Checked): string {
  if (error !== undefined) return `  ${error.code}: ${escapeLine(error.message)}`
  const each = Object.entries(problems).map(([code, count]) => (count === 1 ? code : `${code} × ${count}`))
  return each.length === 0 ? '' : `  ${each.join(', ')}`
}

function conclude({ out }: Context, checked: readonly Checked[]): ExitCode {
  const wrong = checked.filter(each => !isSound(each))
  if (checked.length > 1) out.line(`${counted(checked.length, 'transcript')}, ${wrong.length} with problems`)
  if (wrong.length > 0) out.line(`More of one: palimpsest doctor FILE`)
  return wrong.length === 0 ? EXIT.ok : EXIT.failure
}
