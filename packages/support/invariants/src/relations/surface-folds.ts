import type { Session, SessionEvent, SurfaceMarker } from '@palimpsest/session'
import { NaiveSurface } from '../naive-surface.js'
import type { LogJudge, Relation, Violation } from '../relation.js'

export const surfaceFolds: Relation = {
  name: 'surface-folds',
  description: 'The surface that was kept event by event equals a fold of the log’s markers from scratch.',
  judgeLog: session => createJudge(session),
}

// --- internal ---

/** Up to this size the whole surface is compared at each message: that costs less than the message did. */
const SMALL = 64

/**
 * What the surface was is known only while an event is the last of its log; an older one is judged with the
 * next. An append to a large surface is judged by its size and end, edits by the whole, and ends of turns
 * too, once the log has grown by a quarter of the surface: so a comparison costs each event the same.
 */
function createJudge(session: Session): LogJudge {
  const folded = new NaiveSurface()
  let size: number | undefined
  let comparedAt = 0
  return event => {
    const { seq, type, surfaceOp } = event
    if (surfaceOp !== undefined) folded.fold(event as SurfaceMarker)
    if (seq !== session.length - 1) {
      size = undefined
      return undefined
    }
    const before = size
    if (surfaceOp === undefined && before !== undefined) {
      if (type !== 'turn/end' || (seq - comparedAt) * 4 < before) return undefined
    }
    const { surface } = session
    size = surface.size
    const isPlain = surfaceOp === 'append' && before !== undefined && size > SMALL
    if (isPlain && size === before + 1 && surface.last === seq) return undefined
    comparedAt = seq
    return compareWhole(session, folded, seq)
  }
}

/** After a violation the surface that was kept is what counts. */
function compareWhole(session: Session, folded: NaiveSurface, seq: SessionEvent['seq']): Violation | undefined {
  const kept = session.surface.seqs()
  const message = folded.isLost ? LOST : differenceOf(folded.seqs, kept)
  if (message === undefined) return undefined
  folded.resume(kept)
  return { seqs: [seq], message }
}

const LOST = 'expected markers that fold, found an edit of what is not on the surface'

function differenceOf(folded: readonly number[], kept: readonly number[]): string | undefined {
  let place = 0
  while (place < folded.length && folded[place] === kept[place]) place++
  if (place === folded.length && kept.length === folded.length) return undefined
  const [expected, found] = [folded[place] ?? 'the end', kept[place] ?? 'the end']
  return `expected ${expected} at position ${place} of the surface, found ${found}`
}
