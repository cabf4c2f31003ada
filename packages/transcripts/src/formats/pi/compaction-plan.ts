import type { Finding } from '../../finding.js'
import type { Entry } from './session-entry.js'

/** For the compactions that count, by their place on the path: the place of the first entry that they keep. */
export type CompactionPlan = ReadonlyMap<number, number>

/**
 * The last compaction of the path decides what is in view: each takes the place of what stands before its kept stretch.
 * An earlier one that lies in the kept stretch of a later one says nothing.
 */
export function planCompactions(path: readonly Entry[], report: (finding: Finding) => void): CompactionPlan {
  const plan = new Map<number, number>()
  let kept = Number.POSITIVE_INFINITY
  const last = path.findLastIndex(({ compaction }) => compaction !== undefined && !compaction.isVoid)
  for (const [at, entry] of [...path.entries()].reverse()) {
    if (entry.compaction === undefined) continue
    if (entry.compaction.isVoid) {
      if (at > last) report({ code: 'compaction.void-summary', severity: 'error', where: `line ${entry.line}` })
      continue
    }
    const keep = keptFrom(path, at, at === last ? report : () => {})
    if (at !== last && isInsidePair(path, at, plan.get(last)!)) {
      report({ code: 'compaction.superseded-inside-pair', severity: 'error', where: `line ${entry.line}` })
    }
    if (at >= kept) continue
    kept = keep
    plan.set(at, keep)
  }
  return plan
}

// --- internal ---

function keptFrom(path: readonly Entry[], at: number, report: (finding: Finding) => void): number {
  const { compaction, line } = path[at]!
  const { keepId, keepIndex } = compaction!
  // Files without ids count the header as their first entry.
  const named = keepId !== undefined ? path.findIndex(({ id }) => id === keepId) : (keepIndex ?? 0) - 1
  if (named < 0 || named > at) {
    if (keepId !== undefined) {
      const bridgedTo = path[at - 1]?.id ?? null
      const where = `line ${line}`
      report({ code: 'lineage.dangling-boundary', severity: 'error', where, missing: keepId, bridgedTo })
    }
    return at
  }
  return widened(path, named, at, report)
}

/** The kept stretch may not begin with results whose calls were cut off. */
function widened(path: readonly Entry[], named: number, at: number, report: (finding: Finding) => void): number {
  let keep = named
  for (let i = named; i < at && path[i]!.shows !== 'message'; i++) {
    const { answers } = path[i]!
    if (answers === undefined) continue
    const call = path.slice(0, keep).findLastIndex(({ calls }) => calls.includes(answers))
    if (call >= 0) keep = call
  }
  if (keep < named) {
    const where = `line ${path[at]!.line}`
    const [cut, movedTo] = [nameOf(path[named]!), nameOf(path[keep]!)]
    report({ code: 'compaction.cut-inside-pair', severity: 'error', where, cut, movedTo })
  }
  return keep
}

function isInsidePair(path: readonly Entry[], at: number, kept: number): boolean {
  const before = new Set(path.slice(kept, at).flatMap(({ calls }) => calls))
  return path.slice(at).some(({ answers }) => answers !== undefined && before.has(answers))
}

function nameOf({ hasId, id, line }: Entry): string {
  return hasId ? id : `line ${line}`
}
