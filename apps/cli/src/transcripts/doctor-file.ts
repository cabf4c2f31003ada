import { TARGETS, type Target } from '@palimpsest/provider-rules'
import { FORMAT_NAMES, type FormatName, type ReadOptions, type Source, stringifyRaw } from '@palimpsest/transcripts'
import type { Context } from '../context.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { usageError } from '../failure.js'
import { type Diagnosis, type DiagnosisOptions, diagnose } from './diagnosis.js'
import { fileSource } from './file-source.js'
import { inOrder } from './finding-order.js'
import { printDiagnosis } from './print-diagnosis.js'
import { readSource } from './read-file.js'
import { redact } from './redact.js'
import { scanSecrets } from './secrets.js'

export interface DoctorFileOptions {
  target?: string
  format?: string
  model?: string
  thinking?: string
  purpose?: string
  redact?: boolean
  conversation?: string
}

/** Looks into one transcript and prints what is wrong with it, and the request that the target accepts. Writes nothing. */
export async function doctorFile({ out }: Context, path: string, given: DoctorFileOptions): Promise<ExitCode> {
  const options = { ...readOptions(given), ...diagnosisOptions(given) }
  const source = fileSource(path)
  try {
    const diagnosis = await diagnoseFile(source, options)
    const { isUnreadable, ...shown } = given.redact ? await redact(diagnosis) : diagnosis
    if (out.isJson) out.write(`${stringifyRaw(shown, 2)}\n`)
    else printDiagnosis(path, shown, out)
    if (isUnreadable) return EXIT.usage
    return shown.findings.some(({ severity }) => severity !== 'info') ? EXIT.failure : EXIT.ok
  } finally {
    source.close()
  }
}

/** The diagnosis with the secrets that the file holds. */
export async function diagnoseFile(source: Source, options: ReadOptions & DiagnosisOptions): Promise<Diagnosis> {
  const diagnosis = diagnose(readSource(source, options), options)
  if (source.size === 0) return { ...diagnosis, format: 'unknown' }
  const secrets = await scanSecrets(source, diagnosis.format)
  return { ...diagnosis, findings: inOrder([...diagnosis.findings, ...secrets]) }
}

export function readOptions({ format = 'auto', conversation = '0' }: DoctorFileOptions): ReadOptions {
  const number = Number(conversation)
  if (!Number.isInteger(number) || number < 0) {
    throw usageError(`--conversation: expected a number from 0, found ${conversation}`)
  }
  return {
    format: oneOf('--format', format, ['auto', ...FORMAT_NAMES] as const) as FormatName | 'auto',
    conversation: number,
  }
}

export function diagnosisOptions(given: DoctorFileOptions): DiagnosisOptions {
  return {
    ...(given.target !== undefined && { target: targetOf(given.target) }),
    thinking: oneOf('--thinking', given.thinking ?? 'keep', ['on', 'off', 'keep'] as const),
    purpose: oneOf('--purpose', given.purpose ?? 'next', ['next', 'summary'] as const),
    ...(given.model !== undefined && { model: given.model }),
  }
}

export function targetOf(given: string): Target {
  return oneOf('--target', given, TARGETS)
}

// --- internal ---

function oneOf<T extends string>(option: string, given: string, known: readonly T[]): T {
  if ((known as readonly string[]).includes(given)) return given as T
  throw usageError(`${option}: expected one of ${known.join(', ')}, found ${given}`)
}
