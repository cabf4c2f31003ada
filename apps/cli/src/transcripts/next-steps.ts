import { pathWord } from '../view/shell-word.js'
import { besidePath } from './beside-path.js'
import type { Diagnosis } from './diagnosis.js'
import { EXPORT_TARGETS, PROVIDER_FORMATS, RESUMED_BY } from './export-formats.js'
import { wrongOf } from './finding-groups.js'
import type { GivenReadOptions } from './read-options.js'

/** What to do, and the command for it, as it can be copied. */
export type Step = readonly [what: string, command: string]

/** What to run after a look into a file. */
export function fileSteps(path: string, diagnosis: Diagnosis, given: GivenReadOptions, storeFlag: string): Step[] {
  const { request, format, findings, resume, detected } = diagnosis
  const file = pathWord(path)
  if (detected !== undefined) return [['read it as what it is', `palimpsest doctor ${file} --format ${detected}`]]
  if (request === null) return []
  const flags = [
    ...(given.format === undefined ? [] : [` --format ${given.format}`]),
    ...(given.conversation === undefined ? [] : [` --conversation ${given.conversation}`]),
  ].join('')
  const isWrong = wrongOf(findings).length > 0
  const hasKeys = findings.some(({ code }) => code === 'secret.found')
  const agent = RESUMED_BY[format]?.agent
  const to = format in EXPORT_TARGETS ? format : 'ai-sdk-messages'
  const copy = (how: string) => pathWord(besidePath(path, how))
  return [
    ...(resume === 'refused'
      ? [
          [
            'take out what can be read',
            `palimpsest export ${file}${flags} --to ${to} --out ${copy('readable')}`,
          ] as const,
        ]
      : [['go on with it here (the file is only read)', `palimpsest import ${file}${flags}${storeFlag}`] as const]),
    ...(isWrong && agent !== undefined
      ? [[`write a mended copy that ${agent} resumes`, `palimpsest doctor ${file}${flags} --fix`] as const]
      : []),
    ...(isWrong && format in PROVIDER_FORMATS
      ? [['write a mended copy', `palimpsest export ${file}${flags} --to ${to} --out ${copy('mended')}`] as const]
      : []),
    ...(hasKeys
      ? [
          [
            'write a copy without the keys',
            `palimpsest export ${file}${flags} --redact --to ${to} --out ${copy('redacted')}`,
          ] as const,
        ]
      : []),
  ]
}

/** What to run after a look into a stored session. */
export function sessionSteps(id: string, storeFlag: string): Step[] {
  return [
    ['go on with it', `palimpsest resume ${id} "…"${storeFlag}`],
    ['read it', `palimpsest show ${id}${storeFlag}`],
  ]
}

/** In lines, the commands last, so that each can be copied. */
export function stepLines(steps: readonly Step[]): string[] {
  const width = Math.max(0, ...steps.map(([what]) => what.length))
  return steps.map(([what, command]) => `  ${what.padEnd(width)}  ${command}`)
}
