import { foldSurface, type Session, type SessionEvent, type SurfaceMarker } from '@palimpsest/session'
import type { LogJudge, Relation, Violation } from '../relation.js'

export const surfaceFolds: Relation = {
  name: 'surface-folds',
  description: 'The surface that was kept event by event equals a fold of the log’s markers from scratch.',
  judgeLog: session => createJudge(session),
}

// --- internal ---

/** Up to this size the whole surface is compared at each message: a fold costs less than the message did. */
const SMALL = 64

/**
 * What the surface was is known only while an event is the last of its log; an older one is judged with the
 * next. An append to a large surface is judged by its size and end; edits and ends of turns by the whole.
 */
function createJudge(session: Session): LogJudge {
  const markers: SurfaceMarker[] = []
  let size: number | undefined
  return event => {
    const { seq, type, surfaceOp } = event
    // No more of it is kept, so that a stored log of any length can be judged as it is read.
    if (surfaceOp !== undefined) markers.push({ seq, type, surfaceOp } as SurfaceMarker)
    if (seq !== session.length - 1) {
      size = undefined
      return undefined
    }
    if (surfaceOp === undefined && type !== 'turn/end' && size !== undefined) return undefined
    const before = size
    const { surface } = session
    size = surface.size
    const isPlain = surfaceOp === 'append' && before !== undefined && size > SMALL
    if (isPlain && size === before + 1 && surface.last === seq) return undefined
    return compareWhole(session, markers, seq)
  }
}

function compareWhole(
  session: Session,
  markers: readonly SurfaceMarker[],
  seq: SessionEvent['seq'],
): Violation | undefined {
  const kept = session.surface.seqs()
  const folded = foldOf(markers)
  if (folded === undefined)
    return { seqs: [seq], message: 'expected markers that fold, found an edit of what is not on the surface' }
  const differs = folded.findIndex((each, i) => each !== kept[i])
  if (differs === -1 && kept.length === folded.length) return undefined
  const place = differs === -1 ? folded.length : differs
  const [expected, found] = [folded[place] ?? 'the end', kept[place] ?? 'the end']
  return { seqs: [seq], message: `expected ${expected} at position ${place} of the surface, found ${found}` }
}

function foldOf(markers: readonly SurfaceMarker[]): readonly number[] | undefined {
  try {
    return foldSurface(markers)
  } catch {
    return undefined
  }
}
