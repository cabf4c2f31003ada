import type { Finding, Loss } from '@palimpsest/transcripts'
import { escapeLine } from '../escape.js'
import type { Colors, Output } from '../output.js'
import { counted, day } from '../view/figures.js'
import type { Diagnosis } from './diagnosis.js'
import { type FindingGroup, type Gravity, groupFindings, isWrong } from './finding-groups.js'
import { FINDING_KINDS } from './finding-kinds.js'
import { lossText } from './loss-text.js'
import { type Step, stepLines } from './next-steps.js'
import type { Tallied } from './tally.js'
import { verdictLines } from './verdict.js'

/** Can it be continued, since when is what wrong, what was recovered, what is lost and where, what to run next: for a person. */
export function printDiagnosis(
  name: string,
  diagnosis: Diagnosis,
  tally: Tallied,
  steps: readonly Step[],
  out: Output,
): void {
  const { bold, dim, green, red, yellow } = out.colors
  const { findings, loss, request, format, detected } = diagnosis
  // What a wrong format makes of a file says nothing about the file.
  const groups = detected === undefined ? groupFindings(findings) : []
  const [verdict, ...more] = verdictLines(diagnosis, groups, tally)
  const isSound = groups.every(({ gravity }) => gravity === 'note')
  out.line(`${bold(escapeLine(name))}  ${format}`)
  out.line()
  out.line((request === null ? red : isSound ? green : yellow)(escapeLine(verdict!)))
  for (const line of more) out.line(escapeLine(line))
  const wrong = groups.filter(group => isWrong(group.gravity))
  const print = (title: string, lines: readonly string[]) => {
    for (const line of section(title, lines, out.colors)) out.line(line)
  }
  if (request !== null) print(wrong.length === 0 ? 'In it' : 'Recovered', recoveredLines(tally))
  for (const gravity of ['lost', 'refused', 'mended', 'risk'] as const) {
    const own = groups.filter(group => group.gravity === gravity)
    const lines = own.flatMap(group => groupLines(group, tally, out.colors))
    if (gravity !== 'lost') print(TITLES[gravity], lines)
    else if (wrong.length > 0) print(TITLES.lost, orNothing([...lines, ...neverWritten(groups, request !== null)]))
  }
  const left = loss.filter(({ kind }) => kind !== 'tool-schema').map(each => escapeLine(lossText(each)))
  print('Not sent, and still in the file', left)
  const notes = [...groups.filter(({ gravity }) => gravity === 'note').map(noteLine), ...schemaNote(loss)]
  print('Notes: nothing to worry about', notes.map(dim))
  if (steps.length === 0) return
  out.line(`\n${bold('Next')}`)
  for (const line of stepLines(steps)) out.line(line)
}

// --- internal ---

const TITLES: Record<Exclude<Gravity, 'note'>, string> = {
  lost: 'Lost',
  refused: 'Stops a resume',
  mended: 'Put in order',
  risk: 'A risk',
}

function section(title: string, lines: readonly string[], { bold }: Colors): string[] {
  return lines.length === 0 ? [] : ['', bold(title), ...lines.map(line => `  ${line}`)]
}

/** What a call gave back stands nowhere else. */
function neverWritten(groups: readonly FindingGroup[], isRead: boolean): string[] {
  const calls = groups.flatMap(({ code, findings }) => (UNWRITTEN.has(code) && isRead ? findings : []))
  if (calls.length === 0) return []
  const where = [...new Set([calls[0]!.where, calls.at(-1)!.where])].join(' … ')
  const what = calls.length === 1 ? 'what a call gave back' : `what ${calls.length} calls gave back`
  return [escapeLine(`${what} was never written (${where})`)]
}

const UNWRITTEN: ReadonlySet<string> = new Set(['call.unanswered', 'call.outcome-unknown'])

function orNothing(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? ['nothing'] : lines
}

function recoveredLines({ visible, messages, lastTime }: Tallied): string[] {
  const { prompts, answers, results, others } = visible
  const total = prompts + answers + results + others
  const parts = Object.entries({ prompt: prompts, answer: answers, 'tool result': results, [OTHERS]: others })
    .filter(([, count]) => count > 0)
    .map(([noun, count]) => (noun === OTHERS && count > 1 ? `${count} reminders or summaries` : counted(count, noun)))
  const until = lastTime === undefined ? '' : `, up to ${day(lastTime)}`
  const behind = messages - total
  return [
    `${counted(total, 'message')} for the next request${until}: ${parts.join(', ')}`,
    ...(behind > 0
      ? [`${counted(behind, 'older message')} behind a summary or an edited prompt: kept, and not sent`]
      : []),
  ]
}

const OTHERS = 'reminder or summary'

function groupLines({ code, findings }: FindingGroup, tally: Tallied, { dim }: Colors): string[] {
  const [first] = findings
  const count = findings.length === 1 ? '' : `${findings.length} × `
  const example = membersOf(first!)
  const where = placesOf(findings, tally)
  return [
    `${count}${FINDING_KINDS[code] ?? code}`,
    `    ${dim(escapeLine(`${where}${example === '' ? '' : `; ${findings.length > 1 ? 'the first: ' : ''}${example}`}  [${code}]`))}`,
  ]
}

/** `line 3 (2026-01-05 09:00 UTC)`, or the first and the last place. */
function placesOf(findings: readonly Finding[], tally: Tallied): string {
  const [first, last] = [findings[0]!.where, findings.at(-1)!.where]
  const time = tally.timeAt(first)
  const since = time === undefined ? '' : ` (${day(time)})`
  if (first === last) return `${first}${since}`
  return `${first}${since} ${findings.length === 2 ? 'and' : '…'} ${last}`
}

function membersOf({ severity: _, where: __, code: ___, ...members }: Finding): string {
  return Object.entries(members)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}

function noteLine({ code, findings }: FindingGroup): string {
  const [first, last] = [findings[0]!.where, findings.at(-1)!.where]
  const places = first === last ? first : `${findings.length} places, ${first} … ${last}`
  return escapeLine(`${FINDING_KINDS[code] ?? code} (${places})  [${code}]`)
}

/** Tools without a recorded schema work all the same: one line for all of them. */
function schemaNote(loss: readonly Loss[]): string[] {
  const count = loss.reduce((sum, { kind, count }) => sum + (kind === 'tool-schema' ? count : 0), 0)
  if (count === 0) return []
  return [
    `what ${counted(count, 'tool')} ${count === 1 ? 'takes' : 'take'} is not recorded in full: the request lets them take anything`,
  ]
}
