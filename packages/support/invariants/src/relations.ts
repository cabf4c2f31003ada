import type { Relation } from './relation.js'
import { callsPair } from './relations/calls-pair.js'
import { provenanceHolds } from './relations/provenance-holds.js'
import { requestRebuilds } from './relations/request-rebuilds.js'
import { scopeIsolated } from './relations/scope-isolated.js'
import { seqsDense } from './relations/seqs-dense.js'
import { statusLegal } from './relations/status-legal.js'
import { surfaceFolds } from './relations/surface-folds.js'
import { turnsNest } from './relations/turns-nest.js'

/** All that is proved, in the order in which it is judged. */
export const RELATIONS: readonly Relation[] = Object.freeze([
  seqsDense,
  turnsNest,
  callsPair,
  statusLegal,
  scopeIsolated,
  requestRebuilds,
  surfaceFolds,
  provenanceHolds,
])

export { callsPair, provenanceHolds, requestRebuilds, scopeIsolated, seqsDense, statusLegal, surfaceFolds, turnsNest }
