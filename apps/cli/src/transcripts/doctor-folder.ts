import { existsSync, statSync } from 'node:fs'
import type { Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { describeFailure } from '../failure.js'
import { counted, wrongText } from '../view/figures.js'
import { pathWord } from '../view/shell-word.js'
import { diagnoseFile } from './doctor-file.js'
import { withSource } from './file-source.js'
import { agentHomes, filesBelow, formatOfFile } from './find-transcripts.js'
import { gravityOf, wrongOf } from './finding-groups.js'
import { type Step, stepLines } from './next-steps.js'

interface Checked {
  path: string
  format: string
  /** Above `info`, by code. */
  problems: Record<string, number>
  /** How many things are wrong, and how many of them are lost; a risk or a note is neither. */
  wrong: number
  lost: number
  resume?: 'refused'
  error?: { code: string; message: string }
}

/** Looks into every transcript below a folder. Writes nothing. */
export async function doctorFolder(context: Context, folder: string): Promise<ExitCode> {
  const checked = await checkBelow(context, folder)
  if (context.out.isJson) context.out.json(checked)
  else if (checked.length === 0) context.out.line(`No transcripts below ${escapeLine(folder)}.`)
  return conclude(context, checked, [folder])
}

/** Looks into the transcripts that the agents of this computer left in their usual folders. Writes nothing. */
export async function doctorScan(context: Context): Promise<ExitCode> {
  const { out } = context
  const all: (Checked & { agent: string })[] = []
  const below: string[] = []
  for (const { agent, folder } of agentHomes()) {
    if (!existsSync(folder)) continue
    out.line(`${out.colors.bold(agent)}  ${escapeLine(folder)}`)
    const found = await checkBelow(context, folder)
    if (found.length > 0) below.push(folder)
    for (const checked of found) all.push({ agent, ...checked })
  }
  if (out.isJson) out.json(all)
  else if (all.length === 0) out.line('No transcripts in the usual folders of the agents that are known here.')
  return conclude(context, all, below)
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
    const wrong = wrongOf(findings)
    const lost = wrong.filter(finding => gravityOf(finding) === 'lost').length
    return { path, format, problems, wrong: wrong.length, lost, ...(resume && { resume }) }
  } catch (error) {
    const { code, message } = describeFailure(error)
    return { path, format: 'unknown', problems: {}, wrong: 0, lost: 0, error: { code, message } }
  }
}

/** As the exit code has it: nothing above `info`. */
function isClean({ problems, error }: Checked): boolean {
  return error === undefined && Object.keys(problems).length === 0
}

function isWrong({ wrong, error }: Checked): boolean {
  return error !== undefined || wrong > 0
}

function verdict(checked: Checked, { green, yellow, red }: Context['out']['colors']): string {
  if (checked.error !== undefined) return red('unread')
  if (isWrong(checked)) return yellow('wrong ')
  return green('ok    ')
}

function told({ problems, wrong, lost, error }: Checked): string {
  if (error !== undefined) return `  ${error.code}: ${escapeLine(error.message)}`
  const each = Object.entries(problems).map(([code, count]) => (count === 1 ? code : `${count} × ${code}`))
  if (wrong === 0) return each.length === 0 ? '' : `  (${each.join(', ')})`
  return `  ${wrongText(wrong)}${lost > 0 ? `, of which ${lost} lost` : ''}: ${each.join(', ')}`
}

function conclude({ out, storeFlag }: Context, checked: readonly Checked[], below: readonly string[]): ExitCode {
  const wrong = checked.filter(isWrong)
  const first = wrong[0]
  const keys = checked.filter(({ problems }) => 'secret.found' in problems).length
  if (checked.length > 1) {
    const all =
      wrong.length === 0 ? 'nothing is wrong with any of them' : `something is wrong with ${wrong.length} of them`
    out.line(`\n${counted(checked.length, 'transcript')}; ${all}`)
  }
  if (keys > 0)
    out.line(`${counted(keys, 'transcript')} ${keys === 1 ? 'holds' : 'hold'} a key or a token in clear text.`)
  const steps: Step[] = [
    ...(first ? [['see what is wrong with one', `palimpsest doctor ${pathWord(first.path)}`] as const] : []),
    ...(checked.length === 0
      ? []
      : [
          [
            'go on with them here (the files are only read)',
            `palimpsest import ${below.map(pathWord).join(' ')}${storeFlag}`,
          ] as const,
        ]),
  ]
  if (steps.length > 0) out.line(out.colors.bold('Next'))
  for (const line of stepLines(steps)) out.line(line)
  return checked.every(isClean) ? EXIT.ok : EXIT.failure
}
