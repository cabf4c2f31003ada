import type { Session } from '@palimpsest/session'
import { longestLegalRange, type SurfaceRange } from './legal-cuts.js'

export interface CompactionPlanOptions {
  /** How many of the newest nodes stay as they are. Default 2. */
  keepRecent?: number
}

/**
 * What a compaction without a range would take: the longest legal range from the beginning that leaves
 * the newest nodes alone. `undefined` where nothing is left, or only what is one summary already.
 */
export function planCompaction(
  session: Session,
  { keepRecent = KEEP_RECENT }: CompactionPlanOptions = {},
): SurfaceRange | undefined {
  if (!Number.isInteger(keepRecent) || keepRecent < 0) {
    throw new RangeError(`keepRecent: expected a number of nodes from 0 on, found ${keepRecent}`)
  }
  const seqs = session.surface.seqs()
  const range = longestLegalRange(session, seqs, keepRecent)
  if (range === undefined) return undefined
  const [start, end] = [seqs[range.from]!, seqs[range.to]!]
  return start === end && isSummary(session, start) ? undefined : { start, end }
}

// --- internal ---

const KEEP_RECENT = 2

function isSummary(session: Session, seq: number): boolean {
  return session.at(seq)!.type === 'user/message' && session.surface.shadowed(seq).length > 0
}
