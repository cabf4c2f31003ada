import { type ReadOptions, type Source, stringifyRaw } from '@palimpsest/transcripts'
import type { Context } from '../context.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { type Diagnosis, type DiagnosisOptions, diagnose, documentOf } from './diagnosis.js'
import { emptiness } from './empty-file.js'
import { withSource } from './file-source.js'
import { inOrder } from './finding-order.js'
import { fileSteps, type Step } from './next-steps.js'
import { printDiagnosis } from './print-diagnosis.js'
import { readSource } from './read-file.js'
import { type GivenHealOptions, type GivenReadOptions, healOptions, readOptions } from './read-options.js'
import { redact } from './redact.js'
import { scanSecrets } from './secrets.js'
import { type Tallied, Tally } from './tally.js'

export interface DoctorFileOptions extends GivenReadOptions, GivenHealOptions {
  redact?: boolean
}

/** Looks into one transcript and prints what is wrong with it, and the request that the target accepts. Writes nothing. */
export async function doctorFile(context: Context, path: string, given: DoctorFileOptions): Promise<ExitCode> {
  const options = { ...readOptions(given), ...healOptions(given) }
  const tally = new Tally()
  const diagnosis = await withSource(path, source => diagnoseFile(source, options, tally))
  return printed(context, path, diagnosis, tally, fileSteps(path, diagnosis, given, context.storeFlag), given)
}

/** Prints a diagnosis of what `name` names; `redact` keeps secrets out of all of it. */
export async function printed(
  { out }: Context,
  name: string,
  diagnosis: Diagnosis,
  tally: Tallied,
  steps: readonly Step[],
  { redact: isRedacted }: DoctorFileOptions,
): Promise<ExitCode> {
  const shown = isRedacted ? await redact(diagnosis) : diagnosis
  if (out.isJson) out.write(`${stringifyRaw(documentOf(shown), 2)}\n`)
  else printDiagnosis(name, shown, tally, steps, out)
  if (diagnosis.isUnreadable) return EXIT.usage
  return shown.findings.some(({ severity }) => severity !== 'info') ? EXIT.failure : EXIT.ok
}

/** The diagnosis with the secrets that the file holds. `tally` counts what is read. */
export async function diagnoseFile(
  source: Source,
  options: ReadOptions & DiagnosisOptions,
  tally?: Tally,
): Promise<Diagnosis> {
  const read = readSource(source, options, tally?.add)
  tally?.see(read.view)
  const diagnosis = diagnose(read, options)
  if (emptiness(source) !== undefined) return { ...diagnosis, format: 'unknown' }
  const { detected } = read
  if (detected !== undefined) return misread(diagnosis.format, detected)
  const secrets = await scanSecrets(source, diagnosis.format)
  return { ...diagnosis, findings: inOrder([...diagnosis.findings, ...secrets]) }
}

// --- internal ---

/** Nothing of what a wrong format makes of a file is worth telling. */
function misread(format: string, detected: string): Diagnosis {
  const findings = [{ code: 'format.other', severity: 'info' as const, where: 'file', detected }]
  return { format, findings, request: null, appended: [], loss: [], isUnreadable: true, detected }
}
