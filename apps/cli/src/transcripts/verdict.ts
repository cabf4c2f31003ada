import type { Target } from '@palimpsest/provider-rules'
import { counted, day, wrongText } from '../view/figures.js'
import type { Diagnosis } from './diagnosis.js'
import { TARGET_NAMES } from './export-formats.js'
import { type FindingGroup, gravityOf, wrongOf } from './finding-groups.js'
import type { Tallied } from './tally.js'

/** Whether a session can be continued as it is, and if not since when: the first lines that a worried person reads. */
export function verdictLines(
  diagnosis: Diagnosis,
  groups: readonly FindingGroup[],
  tally: Pick<Tallied, 'timeAt'>,
): string[] {
  const wrong = wrongOf(diagnosis.findings)
  const kinds = groups.filter(({ findings }) => findings.some(finding => wrong.includes(finding))).length
  const keys = diagnosis.findings.filter(finding => gravityOf(finding) === 'risk').length
  return [
    sentenceOf(diagnosis, groups),
    ...(wrong.length === 0 || isNothing(groups)
      ? []
      : [`${wrongText(wrong.length, kinds)}${since(wrong[0]!.where, tally)}.`]),
    ...(keys > 0
      ? [`${counted(keys, 'place')} in it ${keys === 1 ? 'holds' : 'hold'} a key or a token in clear text.`]
      : []),
  ]
}

// --- internal ---

function sentenceOf(diagnosis: Diagnosis, groups: readonly FindingGroup[]): string {
  const { request, resume, format, detected } = diagnosis
  if (detected !== undefined)
    return `Read as ${format}, as --format asks, this file holds no message. Its content is ${detected}.`
  if (request === null) return nothingToContinue(diagnosis, groups)
  if (resume === 'refused')
    return 'This session can be looked at, but not be continued with this build: it holds what may not be skipped.'
  const has = (gravity: FindingGroup['gravity']) => groups.some(group => group.gravity === gravity)
  if (has('refused')) {
    const target = TARGET_NAMES[request.target as Target]
    return `This session cannot be continued as it is: ${target} would refuse it. It can be mended.`
  }
  if (has('lost')) return 'This session can be continued, but a part of its file is lost.'
  if (has('mended')) return 'This session can be continued, but its file is not in order.'
  return 'This session can be continued as it is. Nothing is wrong with it.'
}

function nothingToContinue({ isUnreadable, format }: Diagnosis, groups: readonly FindingGroup[]): string {
  const has = (code: string) => groups.some(group => group.code === code)
  if (has('file.empty')) return 'This file is empty: there is nothing to continue in it, and nothing to mend.'
  if (has('format.unknown')) return 'This file is no transcript of a kind that is known here.'
  if (has('format.newer'))
    return 'This session was written by a newer version than this build reads. Its file is as it was.'
  if (isUnreadable) return `This file cannot be read as ${format}.`
  if (groups.some(({ gravity }) => gravity === 'lost')) return 'No message can be read in this file.'
  return 'There is no message in this file: nothing was said, so nothing is lost.'
}

/** The sentence says all there is to say. */
function isNothing(groups: readonly FindingGroup[]): boolean {
  return groups.some(({ code }) => ['file.empty', 'format.unknown', 'format.newer'].includes(code))
}

function since(where: string, tally: Pick<Tallied, 'timeAt'>): string {
  if (where === 'file') return ''
  const time = tally.timeAt(where)
  return `, the first at ${where}${time === undefined ? '' : ` (${day(time)})`}`
}
