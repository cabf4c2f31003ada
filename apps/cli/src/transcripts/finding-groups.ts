import type { Finding } from '@palimpsest/transcripts'

/**
 * What a finding means to who wants to go on, the worst first. `lost`: bytes or records that are not there any more.
 * `refused`: what a provider would not take. `mended`: what is doubled, out of order or wrongly linked, and was put
 * right. `risk`: nothing wrong, and dangerous. `note`: nothing wrong.
 */
const GRAVITIES = ['lost', 'refused', 'mended', 'risk', 'note'] as const
export type Gravity = (typeof GRAVITIES)[number]

/** Findings of one kind: told once, with how many and where. */
export interface FindingGroup {
  readonly code: string
  readonly gravity: Gravity
  /** In the order of the file; never empty. */
  readonly findings: readonly Finding[]
}

export function gravityOf(finding: Finding): Gravity {
  const { code, severity } = finding
  if (severity === 'info' || HARMLESS.has(code)) return 'note'
  if (severity === 'warning') return 'risk'
  if (LOST.has(code)) return 'prefixOf' in finding ? 'mended' : 'lost'
  return MENDED.has(code) ? 'mended' : 'refused'
}

/** The worst first; of one gravity in the order of the file. */
export function groupFindings(findings: readonly Finding[]): FindingGroup[] {
  const groups = new Map<string, { code: string; gravity: Gravity; findings: Finding[] }>()
  for (const finding of findings) {
    const { code } = finding
    const gravity = gravityOf(finding)
    const key = `${gravity} ${code}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { code, gravity, findings: [finding] })
    else group.findings.push(finding)
  }
  return [...groups.values()].sort((a, b) => GRAVITIES.indexOf(a.gravity) - GRAVITIES.indexOf(b.gravity))
}

/** What is wrong, wherever it is counted: neither a risk nor a note. */
export function wrongOf(findings: readonly Finding[]): Finding[] {
  return findings.filter(finding => isWrong(gravityOf(finding)))
}

export function isWrong(gravity: Gravity): boolean {
  return gravity !== 'risk' && gravity !== 'note'
}

// --- internal ---

/** The last record of a file that is written to has no newline yet. */
const HARMLESS: ReadonlySet<string> = new Set(['file.no-final-newline'])

const LOST: ReadonlySet<string> = new Set([
  'file.empty',
  'file.nul-run',
  'file.spliced-record',
  'file.torn-frame',
  'file.torn-record',
  'format.newer',
  'format.unknown',
  'format.unknown-required-event',
  'seq.gap',
])

const MENDED: ReadonlySet<string> = new Set([
  'compaction.cut-inside-pair',
  'compaction.overlap',
  'compaction.superseded-inside-pair',
  'compaction.void-summary',
  'event.missing-id',
  'file.joined-records',
  'lineage.cycle',
  'lineage.dangling-boundary',
  'lineage.dangling-parent',
  'lineage.foreign-session',
  'lineage.replayed-copy',
  'lineage.sibling-recovered',
  'order.clock-disagrees',
  'ordinal.repeat',
  'reasoning.superseded-attempt',
  'seq.repeat',
  'surface.replace-of-gone-node',
  'turn.open',
])
