import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkLog } from '@palimpsest/invariants'
import { TARGETS, type Target } from '@palimpsest/provider-rules'
import { Session } from '@palimpsest/session'
import { bytesSource, type FormatName, type ReadOptions, readTranscript, stringifyRaw } from '@palimpsest/transcripts'
import { describe, expect, test } from 'vitest'
import { type Diagnosis, type DiagnosisOptions, diagnose } from '../apps/cli/src/transcripts/diagnosis.js'
import { readSource } from '../apps/cli/src/transcripts/read-file.js'

// Real transcripts, an independent reader of each format and judges of each provider's requests lie beside the repository.
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const shared = join(root, '..', 'shared')
const corpus = join(shared, 'corpus')
const atHand = existsSync(corpus) && existsSync(join(shared, 'cases', 'oracle.mjs'))
if (!atHand) console.log(`SKIPPED: no transcripts at ${join('..', 'shared', 'corpus')}`)

interface Judges {
  check(target: string, request: unknown): { rule: string; path: string; message: string }[]
  read(format: string, file: string): Reading | undefined
  compare(
    target: string,
    want: Reading,
    request: unknown,
  ): { missing: { kind: string; what: string }[]; extra: { what: string }[] }
}
interface Reading {
  note?: string
}

const judges = atHand ? await loadJudges() : (undefined as never)
const files = atHand ? transcripts() : []
/** Other vendors' sessions are offered to the strictest Gemini, which wants a signature on the first call. */
const MODELS: Partial<Record<Target, string>> = { gemini: 'gemini-3-pro-preview' }
const BACK: Record<Target, FormatName> = {
  anthropic: 'anthropic-messages',
  'openai-chat': 'openai-chat',
  'openai-responses': 'openai-responses',
  gemini: 'gemini-contents',
  deepseek: 'openai-chat',
}
/** Larger files go to one target each in turn, so that the whole stays quick. */
const SMALL_BYTES = 100_000
const PER_TARGET = process.env.PALIMPSEST_CORPUS_TARGETS === 'all' ? Number.POSITIVE_INFINITY : SMALL_BYTES

describe.runIf(atHand)('real transcripts', () => {
  test.each(TARGETS)('make requests that %s accepts, with all that was said, and need no more healing', target => {
    const problems: string[] = []
    let checked = 0
    for (const [i, name] of files.entries()) {
      const isLarge = statSync(join(corpus, name)).size > PER_TARGET
      if (isLarge && TARGETS[i % TARGETS.length] !== target) continue
      checked += 1
      problems.push(...judge(name, target).map(problem => `${name}: ${problem}`))
    }
    console.log(`${target}: ${checked} of ${files.length} transcripts`)
    expect(problems).toEqual([])
    expect(checked).toBeGreaterThan(0)
  })
})

test.runIf(atHand)('real transcripts are logs whose relations hold, but where calls were left open', () => {
  const broken: string[] = []
  for (const name of files) {
    const { events } = readTranscript(readFileSync(join(corpus, name)))
    for (const { relation, seqs } of checkLog(Session.create({ seed: events }))) {
      // Recorded parts of a log tell of turns that they do not hold.
      if (relation === 'calls-pair' || (relation === 'turns-nest' && name.startsWith('dsh'))) continue
      broken.push(`${name}: ${relation} ${seqs}`)
    }
  }
  expect(broken).toEqual([])
})

// --- internal ---

/** Each lies in a folder named for its format. */
function transcripts(): string[] {
  const names = readdirSync(corpus, { recursive: true, encoding: 'utf8' })
  return names.filter(name => dirname(name) !== '.' && statSync(join(corpus, name)).isFile()).sort()
}

async function loadJudges(): Promise<Judges> {
  const [oracle, readers] = await Promise.all([
    import(join(shared, 'cases', 'oracle.mjs')),
    import(join(shared, 'cases', 'readers.mjs')),
  ])
  return { check: oracle.check, read: readers.read, compare: readers.compare }
}

function look(bytes: Uint8Array, target: Target, read: ReadOptions = {}): Diagnosis {
  const model = MODELS[target]
  const options: DiagnosisOptions = { target, ...(model !== undefined && { model }) }
  return diagnose(readSource(bytesSource(bytes), read), options)
}

function judge(name: string, target: Target): string[] {
  const file = join(corpus, name)
  const { request, loss, isUnreadable } = look(readFileSync(file), target)
  if (isUnreadable || request === null) return isNothing(file) ? [] : ['no request']
  const refused = judges.check(target, request).map(({ rule, path, message }) => `${rule} at ${path}: ${message}`)
  return [...refused, ...contentProblems(file, target, request, loss), ...healAgain(request, target)]
}

/** What the request lacks must be declared; it may hold nothing else. */
function contentProblems(file: string, target: Target, request: object, loss: Diagnosis['loss']): string[] {
  const want = judges.read(basename(dirname(file)), file)
  if (want === undefined || want.note !== undefined) return []
  const { missing, extra } = judges.compare(target, want, request)
  const undeclared = missing.filter(({ kind }) => !loss.some(each => each.kind === kind))
  return [
    ...undeclared.map(({ what }) => `missing and not declared: ${what}`),
    ...extra.map(({ what }) => `too much: ${what}`),
  ]
}

function healAgain(request: Record<string, unknown>, target: Target): string[] {
  const { target: _, model: __, ...body } = request
  const again = look(new TextEncoder().encode(stringifyRaw(body)), target, { format: BACK[target] })
  const left = again.findings
    .filter(({ severity }) => severity !== 'info')
    .map(({ code }) => `healed, and still ${code}`)
  const { target: ___, model: ____, ...second } = again.request ?? {}
  return stringifyRaw(second) === stringifyRaw(body) ? left : [...left, 'healing what is healed changes it']
}

function isNothing(file: string): boolean {
  const want = judges.read(basename(dirname(file)), file) as Record<string, unknown[]> | undefined
  return want !== undefined && ['user', 'assistant', 'calls', 'holds'].every(key => want[key]?.length === 0)
}
