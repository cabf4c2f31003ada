import { statSync } from 'node:fs'
import type { Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { usageError } from '../failure.js'
import { readStored } from '../stored-session.js'
import { diagnose } from './diagnosis.js'
import { type DoctorFileOptions, doctorFile, printed } from './doctor-file.js'
import { doctorFolder } from './doctor-folder.js'
import { fixFile } from './fix-file.js'
import { lossText } from './loss-text.js'
import { readSession } from './read-file.js'
import { healOptions } from './read-options.js'

/** What `doctor` does with a file or a folder. */
export async function doctorPath(
  context: Context,
  path: string,
  { fix = false, out, ...options }: DoctorFileOptions & { fix?: boolean; out?: string },
): Promise<ExitCode> {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    if (fix)
      throw usageError('--fix: expected one transcript, found a folder; palimpsest doctor FOLDER names the broken ones')
    return doctorFolder(context, path)
  }
  if (!fix && out !== undefined) throw usageError('--out: expected --fix with it, found none')
  if (!fix) return doctorFile(context, path, options)
  const fixed = await fixFile(path, { ...options, ...(out !== undefined && { out }) })
  if (context.out.isJson) context.out.json(fixed)
  else {
    context.out.line(`${context.out.colors.bold(escapeLine(fixed.file))} is a mended copy for ${fixed.format}:`)
    context.out.line(
      '  what its next request holds; what stands before a compaction, and rows that no request holds, stay in the old file',
    )
    for (const each of fixed.loss) context.out.line(`  left out: ${escapeLine(lossText(each))}`)
    context.out.line(`Go on: ${escapeLine(fixed.resume)}`)
  }
  return EXIT.ok
}

/** The request that a target would accept of a stored session, and what had to be changed for it. */
export async function doctorRequest(context: Context, id: string, options: DoctorFileOptions): Promise<ExitCode> {
  const { session } = await readStored(context, id)
  return printed(context, session.id, diagnose(readSession(session), healOptions(options)), options)
}
