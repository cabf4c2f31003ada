import type { Message, Session } from '@palimpsest/session'
import { type EditCost, planCost } from './edit-cost.js'
import { type CountTokens, estimateTokens } from './tokens.js'

export interface RestoreOptions {
  /** Why, for who reads the log. */
  reason?: string
  countTokens?: CountTokens
}

/**
 * Takes a visible replacement off the surface and puts back what it shadowed; later turns stay. Nested
 * ones are restored level by level. `SURFACE_RESTORE_INVALID` for a node that is no visible replacement.
 */
export function restore(
  session: Session,
  node: number,
  { reason, countTokens = estimateTokens }: RestoreOptions = {},
): EditCost {
  const back = session.surface.shadowed(node).map(seq => (session.at(seq)!.data as { message: Message }).message)
  const cost = planCost(session, new Map([[node, back]]), countTokens)
  session.append('surface/restore', reason === undefined ? {} : { reason }, {
    surfaceOp: { op: 'restore', node },
    sourceEventSeqs: [node],
  })
  return cost
}
