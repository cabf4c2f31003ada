export { attachInvariants, invariants } from './invariants.js'
export { checkLog } from './log-judge.js'
export { InvariantError, type Relation, type Violation } from './relation.js'
export * from './relations.js'
