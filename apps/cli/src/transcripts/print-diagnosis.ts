import type { Finding } from '@palimpsest/transcripts'
import { escapeLine } from '../escape.js'
import type { Colors, Output } from '../output.js'
import { counted } from '../view/figures.js'
import { table } from '../view/table.js'
import type { Diagnosis } from './diagnosis.js'
import { RESUMED_BY } from './export-formats.js'
import { FINDING_KINDS } from './finding-kinds.js'
import { isPath } from './is-path.js'
import { lossText } from './loss-text.js'

/** What is wrong, where, what becomes of it, what is lost, and what to run next: for a person. */
export function printDiagnosis(path: string, diagnosis: Omit<Diagnosis, 'isUnreadable'>, out: Output): void {
  const isStored = !isPath(path)
  const { bold, dim, green, red, yellow } = out.colors
  const { findings, loss, request, format, resume } = diagnosis
  const wrong = findings.filter(({ severity }) => severity !== 'info')
  const verdict =
    request === null ? red('unreadable') : wrong.length === 0 ? green('ok') : yellow(counted(wrong.length, 'problem'))
  out.line(`${bold(escapeLine(path))}  ${format}  ${verdict}`)
  for (const line of findingLines(findings, out.colors)) out.line(`  ${line}`)
  if (request !== null) out.line(`  ${dim(`next request: ${sizeOf(request)} for ${String(request.target)}`)}`)
  for (const each of loss) out.line(`  not in the request: ${escapeLine(lossText(each))}`)
  if (resume === 'refused') out.line('  it can be looked at; to go on with it would lose what this build cannot read')
  if (isStored) out.line(`Go on: palimpsest resume ${escapeLine(path)} "task"`)
  else for (const line of nextSteps(path, diagnosis)) out.line(line)
}

// --- internal ---

const SEVERITY = { error: 'red', warning: 'yellow', info: 'dim' } as const
/** More of them hide each other. */
const SHOWN = 40

function findingLines(findings: readonly Finding[], colors: Colors): string[] {
  const [head, ...rest] = findings.slice(0, SHOWN).map(cells)
  if (head === undefined) return []
  const more = findings.length - SHOWN
  const lines = table(head, rest).map((line, i) => colors[SEVERITY[findings[i]!.severity]](line))
  return more > 0 ? [...lines, `… and ${more} more: --json lists them all`] : lines
}

function cells({ severity, where, code, ...members }: Finding): string[] {
  const more = Object.entries(members).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const told = more.length === 0 ? '' : ` (${more.join(', ')})`
  return [severity, escapeLine(where), code, escapeLine(`${FINDING_KINDS[code] ?? ''}${told}`)]
}

function sizeOf(request: Record<string, unknown>): string {
  const list = request.messages ?? request.input ?? request.contents
  return counted(Array.isArray(list) ? list.length : 0, 'message')
}

function nextSteps(path: string, { request, format, findings }: Omit<Diagnosis, 'isUnreadable'>): string[] {
  if (request === null) return []
  const file = escapeLine(path)
  const isWrong = findings.some(({ severity }) => severity === 'error')
  return [
    `Go on with it here: palimpsest import ${file}`,
    ...(isWrong && format in RESUMED_BY ? [`A mended copy for ${format}: palimpsest doctor ${file} --fix`] : []),
    ...(findings.some(({ code }) => code === 'secret.found')
      ? [`Without the secrets: palimpsest export ${file} --redact --to FORMAT`]
      : []),
  ]
}
