import type { Session } from '@palimpsest/session'
import { foldUnits, type Units } from './units.js'

/** A stretch of the surface: the seqs of its first and last node, in surface order. */
export interface SurfaceRange {
  start: number
  end: number
}

/**
 * Where a range may begin or end, as surface positions: 0 is before the first node, `surface.size` behind
 * the last. No place between a call and its result, or inside a tool loop of signed reasoning, is one.
 */
export function legalCuts(session: Session): readonly number[] {
  const seqs = session.surface.seqs()
  return Object.freeze(cutsBetween(seqs.length, foldUnits(session, seqs)))
}

/** Whether a range begins and ends at legal cuts and holds no call without its result. */
export function isLegalRange(session: Session, { start, end }: SurfaceRange): boolean {
  const seqs = session.surface.seqs()
  const [from, to] = [seqs.indexOf(start), seqs.indexOf(end)]
  if (from === -1 || to < from) return false
  return isLegal(foldUnits(session, seqs), from, to)
}

/**
 * The longest legal range from the beginning of the surface that leaves at least `keepRecent` nodes behind
 * it, as positions; `undefined` where there is none.
 */
export function longestLegalRange(
  session: Session,
  seqs: readonly number[],
  keepRecent: number,
): { from: number; to: number } | undefined {
  const units = foldUnits(session, seqs)
  const limit = Math.min(seqs.length - keepRecent, units.pending[0] ?? seqs.length)
  const end = cutsBetween(seqs.length, units).findLast(cut => cut <= limit) ?? 0
  return end > 0 ? { from: 0, to: end - 1 } : undefined
}

// --- internal ---

function cutsBetween(size: number, { units }: Units): number[] {
  const cuts: number[] = []
  let next = 0
  for (let cut = 0; cut <= size; cut++) {
    while (next < units.length && units[next]!.to < cut) next++
    const isInside = next < units.length && units[next]!.from < cut
    if (!isInside) cuts.push(cut)
  }
  return cuts
}

function isLegal({ units, pending }: Units, from: number, to: number): boolean {
  const splits = units.some(unit => {
    const isWhole = from <= unit.from && unit.to <= to
    return !isWhole && unit.from <= to && from <= unit.to
  })
  return !splits && !pending.some(position => from <= position && position <= to)
}
