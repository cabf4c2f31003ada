import { type ReadOptions, type Source, stringifyRaw } from '@palimpsest/transcripts'
import type { Context } from '../context.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { type Diagnosis, type DiagnosisOptions, diagnose } from './diagnosis.js'
import { withSource } from './file-source.js'
import { inOrder } from './finding-order.js'
import { printDiagnosis } from './print-diagnosis.js'
import { readSource } from './read-file.js'
import { type GivenHealOptions, type GivenReadOptions, healOptions, readOptions } from './read-options.js'
import { redact } from './redact.js'
import { scanSecrets } from './secrets.js'

export interface DoctorFileOptions extends GivenReadOptions, GivenHealOptions {
  redact?: boolean
}

/** Looks into one transcript and prints what is wrong with it, and the request that the target accepts. Writes nothing. */
export async function doctorFile(context: Context, path: string, given: DoctorFileOptions): Promise<ExitCode> {
  const options = { ...readOptions(given), ...healOptions(given) }
  const diagnosis = await withSource(path, source => diagnoseFile(source, options))
  return printed(context, path, diagnosis, given)
}

/** Prints a diagnosis of what `name` names; `redact` keeps secrets out of all of it. */
export async function printed(
  { out }: Context,
  name: string,
  diagnosis: Diagnosis,
  { redact: isRedacted }: DoctorFileOptions,
): Promise<ExitCode> {
  const { isUnreadable, ...shown } = isRedacted ? await redact(diagnosis) : diagnosis
  if (out.isJson) out.write(`${stringifyRaw(shown, 2)}\n`)
  else printDiagnosis(name, shown, out)
  if (isUnreadable) return EXIT.usage
  return shown.findings.some(({ severity }) => severity !== 'info') ? EXIT.failure : EXIT.ok
}

/** The diagnosis with the secrets that the file holds. */
export async function diagnoseFile(source: Source, options: ReadOptions & DiagnosisOptions): Promise<Diagnosis> {
  const diagnosis = diagnose(readSource(source, options), options)
  if (source.size === 0) return { ...diagnosis, format: 'unknown' }
  const secrets = await scanSecrets(source, diagnosis.format)
  return { ...diagnosis, findings: inOrder([...diagnosis.findings, ...secrets]) }
}
