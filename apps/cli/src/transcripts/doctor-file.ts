import { TARGETS, type Target } from '@palimpsest/provider-rules'
import { FORMAT_NAMES, type FormatName, stringifyRaw } from '@palimpsest/transcripts'
import type { Context } from '../context.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { usageError } from '../failure.js'
import { diagnose } from './diagnosis.js'
import { fileSource } from './file-source.js'

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
export async function doctorFile({ out }: Context, path: string, options: DoctorFileOptions): Promise<ExitCode> {
  const source = fileSource(path)
  try {
    const { isUnreadable, ...diagnosis } = diagnose(source, {
      target: oneOf('--target', options.target ?? 'anthropic', TARGETS) as Target,
      format: oneOf('--format', options.format ?? 'auto', ['auto', ...FORMAT_NAMES]) as FormatName | 'auto',
      thinking: oneOf('--thinking', options.thinking ?? 'keep', ['on', 'off', 'keep'] as const),
      purpose: oneOf('--purpose', options.purpose ?? 'next', ['next', 'summary'] as const),
      ...(options.model !== undefined && { model: options.model }),
      conversation: Number(options.conversation ?? 0),
    })
    out.write(`${stringifyRaw(diagnosis, 2)}\n`)
    if (isUnreadable) return EXIT.usage
    return diagnosis.findings.some(({ severity }) => severity !== 'info') ? EXIT.failure : EXIT.ok
  } finally {
    source.close()
  }
}

// --- internal ---

function oneOf<T extends string>(option: string, given: string, known: readonly T[]): T {
  if ((known as readonly string[]).includes(given)) return given as T
  throw usageError(`${option}: expected one of ${known.join(', ')}, found ${given}`)
}
