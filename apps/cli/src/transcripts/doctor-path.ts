import type { Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { usageError } from '../failure.js'
import { isFolder } from '../is-folder.js'
import { readStored } from '../stored-session.js'
import { counted } from '../view/figures.js'
import { diagnose } from './diagnosis.js'
import { type DoctorFileOptions, doctorFile, printed } from './doctor-file.js'
import { doctorFolder } from './doctor-folder.js'
import { RESUMED_BY } from './export-formats.js'
import { type FixedFile, fixFile } from './fix-file.js'
import { lossText } from './loss-text.js'
import { sessionSteps } from './next-steps.js'
import { readSession } from './read-file.js'
import { healOptions } from './read-options.js'
import { tallySession } from './tally.js'

/** What `doctor` does with a file or a folder. */
export async function doctorPath(
  context: Context,
  path: string,
  { fix = false, out, ...options }: DoctorFileOptions & { fix?: boolean; out?: string },
): Promise<ExitCode> {
  if (isFolder(path)) {
    if (fix)
      throw usageError('--fix: expected one transcript, found a folder; palimpsest doctor FOLDER names the broken ones')
    return doctorFolder(context, path)
  }
  if (!fix && out !== undefined) throw usageError('--out: expected --fix with it, found none')
  if (!fix) return doctorFile(context, path, options)
  const fixed = await fixFile(path, { ...options, ...(out !== undefined && { out }) })
  if (context.out.isJson) context.out.json(fixed)
  else {
    const { out } = context
    out.line(`${out.colors.bold(escapeLine(fixed.file))} is a mended copy for ${RESUMED_BY[fixed.format]!.agent}.`)
    out.line('It holds what the next request does. The old file keeps its bytes, and alone has:')
    for (const line of leftOutLines(fixed)) out.line(`  ${escapeLine(line)}`)
    out.line(`${out.colors.bold('Next')}\n  ${fixed.resume}`)
  }
  return EXIT.ok
}

function leftOutLines({ loss, leftOut: { messages, rows } }: FixedFile): string[] {
  const sum = Object.values(rows).reduce((all, count) => all + count, 0)
  const kinds = Object.entries(rows).sort(([, a], [, b]) => b - a)
  const lines = [
    ...(messages > 0 ? [`${counted(messages, 'older message')} behind a summary or an edited prompt`] : []),
    ...(sum > 0
      ? [`${counted(sum, 'row')} that no request holds: ${kinds.map(([kind, count]) => `${count} ${kind}`).join(', ')}`]
      : []),
    ...loss.filter(({ kind }) => kind !== 'tool-schema').map(lossText),
  ]
  return lines.length === 0 ? ['nothing more'] : lines
}

/** The request that a target would accept of a stored session, and what had to be changed for it. */
export async function doctorRequest(context: Context, id: string, options: DoctorFileOptions): Promise<ExitCode> {
  const { session } = await readStored(context, id)
  const read = readSession(session)
  const tally = tallySession(session, read.view)
  const diagnosis = diagnose(read, healOptions(options))
  return printed(context, session.id, diagnosis, tally, sessionSteps(session.id, context.storeFlag), options)
}
