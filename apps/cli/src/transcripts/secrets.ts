import type { Finding, Source } from '@palimpsest/transcripts'
import { isOpaque } from './opaque.js'
import { recordsToScan, type ScanRecord } from './records-to-scan.js'

export interface Secret {
  /** Of keys and tokens, in words joined by `-`: `aws-access-key-id`. */
  readonly kind: string
  readonly text: string
}

/** Keys and tokens in a text, by secretlint's recommended rules and by the kinds that those leave out. */
export async function findSecrets(text: string): Promise<Secret[]> {
  const { lintSource, config } = await loadRules()
  const content = { content: text, filePath: 'transcript.txt', contentType: 'text' as const }
  const { messages } = await lintSource({ source: content, options: { config } })
  const found = new Map<string, string>()
  for (const { messageId, data } of messages) {
    if (NO_SECRETS.has(messageId)) continue
    for (const secret of textsOf(data, text)) found.set(secret, kindOf(messageId))
  }
  for (const [kind, pattern] of OTHERS) for (const [secret] of text.matchAll(pattern)) found.set(secret, kind)
  // The longest first: a password inside a connection string is replaced with it.
  return [...found].map(([secret, kind]) => ({ kind, text: secret })).sort((a, b) => b.text.length - a.text.length)
}

/** One finding for each place of a transcript that holds a secret, without the secret itself. */
export async function scanSecrets(source: Source, format: string): Promise<Finding[]> {
  const findings: Finding[] = []
  let batch: ScanRecord[] = []
  let size = 0
  const flush = async () => {
    const suspects = batch
    batch = []
    size = 0
    if (suspects.length === 0 || !(await holdsSecrets(suspects.map(({ text }) => text).join('\n')))) return
    for (const { where, value, text } of suspects) {
      if (await holdsSecrets(text)) findings.push(...(await secretsIn(value, where)))
    }
  }
  for (const record of recordsToScan(source, format)) {
    batch.push(record)
    size += record.text.length
    if (size > BATCH_CHARACTERS) await flush()
  }
  await flush()
  return findings
}

// --- internal ---

const BATCH_CHARACTERS = 1 << 20
/** An account's number opens nothing. */
const NO_SECRETS = new Set(['AWSAccountID'])
/** Of AWS the rules leave examples out, of OpenAI keys of another length. */
const OTHERS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['aws-access-key-id', /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])/g],
  ['openai-token', /(?<![\w-])sk-(?:proj|svcacct|admin)-[\w-]{40,}/g],
  ['google-api-key', /(?<![\w-])AIza[\w-]{35}(?![\w-])/g],
  ['gitlab-token', /(?<![\w-])glpat-[\w-]{20,}/g],
  ['hugging-face-token', /(?<![\w-])hf_[A-Za-z0-9]{34,}(?![\w-])/g],
  ['stripe-secret-key', /(?<![\w-])[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g],
  ['json-web-token', /(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g],
]

type Lint = typeof import('@secretlint/core').lintSource
type Config = Parameters<Lint>[0]['options']['config']

let rules: Promise<{ lintSource: Lint; config: Config }> | undefined

/** Loaded when the first text is looked at: half a megabyte of rules. */
function loadRules() {
  rules ??= (async () => {
    const [{ lintSource }, { creator }] = await Promise.all([
      import('@secretlint/core'),
      import('@secretlint/secretlint-rule-preset-recommend'),
    ])
    // A comment in a transcript cannot switch the search off.
    const chosen = creator.rules.filter(({ meta }) => !meta.id.includes('filter-comments'))
    const config = {
      rules: chosen.map(rule => ({
        id: rule.meta.id,
        rule,
        options: rule.meta.id.endsWith('-aws') ? { enableIDScanRule: true } : {},
      })),
    }
    return { lintSource, config: config as unknown as Config }
  })()
  return rules
}

async function holdsSecrets(text: string): Promise<boolean> {
  return (await findSecrets(text)).length > 0
}

async function secretsIn(value: unknown, where: string): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [path, text] of stringsOf(value, '')) {
    const kinds = new Set((await findSecrets(text)).map(({ kind }) => kind))
    for (const kind of kinds) findings.push({ code: 'secret.found', severity: 'warning', where, path, kind })
  }
  return findings
}

/** Each string with its JSON pointer; signatures and encrypted state are opaque and may hold anything. */
function* stringsOf(value: unknown, path: string): Generator<[string, string]> {
  if (typeof value === 'string') yield [path, value]
  else if (value !== null && typeof value === 'object') {
    for (const [key, each] of Object.entries(value)) {
      const step = key.replaceAll('~', '~0').replaceAll('/', '~1')
      if (!isOpaque(key, each)) yield* stringsOf(each, `${path}/${step}`)
    }
  }
}

/** What the rule took for the secret; its own range is wrong for some. */
function textsOf(data: unknown, text: string): string[] {
  const values = Object.values((data ?? {}) as Record<string, unknown>)
  const texts = values.filter(
    (each): each is string => typeof each === 'string' && each.length >= 8 && text.includes(each),
  )
  const longest = texts.sort((a, b) => b.length - a.length)[0]
  return longest === undefined ? [] : [longest]
}

/** `GITHUB_TOKEN` is `github-token`, `AWSSecretAccessKey` `aws-secret-access-key`. */
function kindOf(messageId: string): string {
  const plain = messageId.replace(/(Postgre|My)SQL|MongoDB/g, name => name[0] + name.slice(1).toLowerCase())
  return (plain.match(/[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+/g) ?? [plain]).join('-').toLowerCase()
}
