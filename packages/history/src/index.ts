export { type CompactionReport, type CompactOptions, compact, type Summarize, type SummaryInput } from './compact.js'
export { type CompactionOptions, compaction } from './compaction.js'
export type { EditCost } from './edit-cost.js'
export {
  type Edit,
  type EditEffect,
  EditFold,
  type EditKind,
  effectOf,
  findInterruptedCompaction,
} from './edits.js'
export * from './errors.js'
export { type Explanation, explain } from './explain.js'
export { isLegalRange, legalCuts, type SurfaceRange } from './legal-cuts.js'
export { type CompactionPlanOptions, planCompaction } from './plan-compaction.js'
export { requestTokens } from './pressure.js'
export { type PrunedResult, type PruneOptions, type PruneReport, prune } from './prune.js'
export { recall, recallTool } from './recall.js'
export { type RestoreOptions, restore } from './restore.js'
export { type SummarizeWithOptions, summarizeWith } from './summarize-with.js'
export { type CountTokens, estimateTokens, messageTokens } from './tokens.js'
export { type ToolResultPruneOptions, toolResultPrune } from './tool-result-prune.js'
