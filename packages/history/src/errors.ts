export type CompactionErrorCode =
  | 'COMPACTION_BUSY'
  | 'COMPACTION_NOTHING_TO_DO'
  | 'COMPACTION_RANGE_ILLEGAL'
  | 'COMPACTION_RANGE_CHANGED'
  | 'COMPACTION_SUMMARY_FAILED'
  | 'COMPACTION_SUMMARY_VOID'
  | 'COMPACTION_SUMMARY_NOT_SMALLER'
  | 'COMPACTION_ABORTED'

/** Why a range was not compacted; the surface is as it was. */
export class CompactionError extends Error {
  override readonly name = 'CompactionError'

  constructor(
    readonly code: CompactionErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** A seq that cannot be read back. */
export class RecallError extends Error {
  override readonly name = 'RecallError'
  readonly code = 'RECALL_UNKNOWN'
}
