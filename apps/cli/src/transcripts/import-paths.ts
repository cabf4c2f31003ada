import type { Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { describeFailure } from '../failure.js'
import { counted } from '../view/figures.js'
import { withSource } from './file-source.js'
import { filesOf, formatOfFile } from './find-transcripts.js'
import { type Imported, importSource } from './import-file.js'
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
  return outcomes.every(({ error }) => error === undefined) ? EXIT.ok : EXIT.failure

  async function importOne(path: string, conversation: number): Promise<Outcome> {
    try {
      const read = readOptions({ ...options, conversation: String(conversation) })
      return { path, imported: await withSource(path, source => importSource(backend, source, read)) }
    } catch (error) {
      const { code, message } = describeFailure(error)
      return { path, error: { code, message } }
    }
  }

  function print({ path, imported, error }: Outcome, progress: string): void {
    const name = `${progress}${escapeLine(path)}`
    if (error !== undefined)
      out.line(`${out.colors.red('failed')}   ${name}  ${error.code}: ${escapeLine(error.message)}`)
    else if (imported!.isKnown) out.line(`${out.colors.dim('known')}    ${name}  is ${imported!.id} already`)
    else
      out.line(
        `${out.colors.green('imported')} ${name}  ${imported!.format} → ${out.colors.bold(imported!.id)}, ${told(imported!)}`,
      )
  }
}

// --- internal ---

interface Outcome {
  path: string
  imported?: Imported
  error?: { code: string; message: string }
}

/** A folder's files that are transcripts; a file that was named, whatever it is. */
function named(path: string, { format }: ImportOptions): string[] {
  const files = filesOf(path)
  const isFile = files.length === 1 && files[0] === path
  return isFile ? files : files.filter(file => format !== undefined || formatOfFile(file) !== undefined)
}

function told({ length, findings, loss }: Imported): string {
  const wrong = findings.filter(({ severity }) => severity !== 'info').length
  const lost = loss.reduce((sum, { count }) => sum + count, 0)
  const parts = [counted(length, 'event'), ...(wrong > 0 ? [counted(wrong, 'problem')] : [])]
  return [...parts, ...(lost > 0 ? [`${lost} left out`] : [])].join(', ')
}

function summarise(outcomes: readonly Outcome[], { out, storeFlag }: Context): void {
  const fresh = outcomes.filter(({ imported }) => imported !== undefined && !imported.isKnown)
  const known = outcomes.filter(({ imported }) => imported?.isKnown).length
  const failed = outcomes.filter(({ error }) => error !== undefined).length
  if (outcomes.length === 0) out.line('No transcripts found there; palimpsest doctor FILE says what a file is.')
  if (outcomes.length > 1) out.line(`${fresh.length} imported, ${known} known already, ${failed} failed`)
  if (fresh.length === 1) {
    const { id } = fresh[0]!.imported!
    out.line(`Look: palimpsest show ${id}${storeFlag}   Go on: palimpsest resume ${id} "task"${storeFlag}`)
  }
}

function toJson({ path, imported, error }: Outcome) {
  return { path, ...imported, ...(error && { error }) }
}
