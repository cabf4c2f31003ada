import type { Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { describeFailure } from '../failure.js'
import { counted, wrongText } from '../view/figures.js'
import { pathWord } from '../view/shell-word.js'
import { withSource } from './file-source.js'
import { filesOf, formatOfFile } from './find-transcripts.js'
import { gravityOf, wrongOf } from './finding-groups.js'
import { type Imported, importSource } from './import-file.js'
import { type Step, sessionSteps, stepLines } from './next-steps.js'
import { readOptions } from './read-options.js'

export interface ImportOptions {
  format?: string
  conversation?: string
}

/** Imports what the paths name, one after the other; one that fails stops none of the others. */
export async function importPaths(context: Context, paths: string[], options: ImportOptions): Promise<ExitCode> {
  const { out } = context
  const backend = await context.store()
  const files = paths.flatMap(path => named(path, options))
  const outcomes: Outcome[] = []
  for (const [i, path] of files.entries()) {
    const chosen = Number(options.conversation ?? 0)
    let last = chosen
    for (let conversation = chosen; conversation <= last; conversation++) {
      const outcome = await importOne(path, conversation)
      if (options.conversation === undefined) last = (outcome.imported?.conversations ?? 1) - 1
      outcomes.push(outcome)
      print(outcome, files.length > 1 ? `[${i + 1}/${files.length}] ` : '')
    }
  }
  if (out.isJson) out.json(outcomes.map(toJson))
  else summarise(outcomes, context)
  return outcomes.some(isFailed) ? EXIT.failure : EXIT.ok

  async function importOne(path: string, conversation: number): Promise<Outcome> {
    try {
      const read = readOptions({ ...options, conversation: String(conversation) })
      return { path, imported: await withSource(path, source => importSource(backend, source, read, path)) }
    } catch (error) {
      const { code, message } = describeFailure(error)
      return { path, error: { code, message }, isBare: code === 'NOTHING_TO_IMPORT' && !paths.includes(path) }
    }
  }

  function print({ path, imported, error, isBare }: Outcome, progress: string): void {
    const { bold, dim, green, red } = out.colors
    const name = `${progress}${escapeLine(path)}`
    if (isBare) out.line(`${dim('empty')}    ${name}  no message in it: nothing to import, nothing lost`)
    else if (error !== undefined) out.line(`${red('failed')}   ${name}  ${error.code}: ${escapeLine(error.message)}`)
    else if (imported!.isKnown) out.line(`${dim('known')}    ${name}  is ${imported!.id} already`)
    else out.line(`${green('imported')} ${name}  ${imported!.format} → ${bold(imported!.id)}, ${told(imported!)}`)
  }
}

// --- internal ---

interface Outcome {
  path: string
  imported?: Imported
  error?: { code: string; message: string }
  /** A file of a folder in which nothing was said yet: no failure. */
  isBare?: boolean
}

function isFailed({ error, isBare }: Outcome): boolean {
  return error !== undefined && !isBare
}

/** A folder's files that are transcripts; a file that was named, whatever it is. */
function named(path: string, { format }: ImportOptions): string[] {
  const files = filesOf(path)
  const isFile = files.length === 1 && files[0] === path
  return isFile ? files : files.filter(file => format !== undefined || formatOfFile(file) !== undefined)
}

function told({ length, findings, loss }: Imported): string {
  const wrong = wrongOf(findings)
  const lost = wrong.filter(finding => gravityOf(finding) === 'lost').length
  const left = loss.reduce((sum, { count }) => sum + count, 0)
  return [
    counted(length, 'event'),
    ...(wrong.length > 0 ? [`${wrongText(wrong.length)}${lost > 0 ? `, of which ${lost} lost` : ''}`] : []),
    ...(left > 0 ? [`${left} left out`] : []),
  ].join(', ')
}

function summarise(outcomes: readonly Outcome[], { out, storeFlag }: Context): void {
  const imported = outcomes.flatMap(({ imported }) => imported ?? [])
  const known = imported.filter(({ isKnown }) => isKnown).length
  const failed = outcomes.find(isFailed)
  const bare = outcomes.filter(({ isBare }) => isBare).length
  if (outcomes.length === 0) out.line('No transcripts found there; palimpsest doctor FILE says what a file is.')
  if (outcomes.length > 1) {
    const empty = bare > 0 ? `, ${bare} without a message` : ''
    const count = outcomes.filter(isFailed).length
    out.line(`\n${imported.length - known} imported, ${known} known already${empty}, ${count} failed`)
  }
  if (imported.some(({ findings }) => wrongOf(findings).length > 0)) {
    out.line(
      'What is wrong is mended, in the session or in each request that it makes; what is lost stays lost. No file was changed.',
    )
  }
  const steps: Step[] = [
    ...(imported.length === 1 ? sessionSteps(imported[0]!.id, storeFlag) : []),
    ...(imported.length > 1
      ? ([
          ['see all of them', `palimpsest ls${storeFlag}`],
          ['read the newest', `palimpsest show last${storeFlag}`],
          ['go on with the newest', `palimpsest resume last "…"${storeFlag}`],
        ] as const)
      : []),
    ...(failed === undefined ? [] : [['see why one failed', `palimpsest doctor ${pathWord(failed.path)}`] as const]),
  ]
  if (steps.length > 0) out.line(out.colors.bold('Next'))
  for (const line of stepLines(steps)) out.line(line)
}

function toJson({ path, imported, error }: Outcome) {
  return { path, ...imported, ...(error && { error }) }
}
