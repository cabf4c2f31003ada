import { isSurfaceType, type Session } from '@palimpsest/session'

/**
 * Where an event is now. `by` of a shadowed one is the node directly above it and `since` the seq from
 * which on it is so; `by` of an undone replacement is the `surface/restore` that took it off.
 */
export type Explanation =
  | { state: 'visible' }
  | { state: 'shadowed'; by: number; since: number }
  | { state: 'undone'; by: number }
  /** An event that makes no message. */
  | { state: 'never' }

/** Throws a `RangeError` for a seq that is not in the log. */
export function explain(session: Session, seq: number): Explanation {
  const event = session.at(seq)
  if (event === undefined) {
    throw new RangeError(`seq: expected one of the ${session.length} events of "${session.id}", found ${seq}`)
  }
  const { surface } = session
  if (!isSurfaceType(event.type)) return { state: 'never' }
  if (surface.has(seq)) return { state: 'visible' }
  const by = surface.coveredBy(seq)
  if (by !== undefined) return { state: 'shadowed', by, since: by }
  return { state: 'undone', by: restoreOf(session, seq) }
}

// --- internal ---

/** What is neither visible nor covered was a replacement, and one restore took it off. */
function restoreOf(session: Session, node: number): number {
  const restore = session
    .markers()
    .find(({ surfaceOp }) => typeof surfaceOp === 'object' && surfaceOp.op === 'restore' && surfaceOp.node === node)
  return restore!.seq
}
