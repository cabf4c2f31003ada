export type SessionErrorCode =
  | 'NOT_LOSSLESS_JSON'
  | 'SURFACE_INTENT_REQUIRED'
  | 'SURFACE_INTENT_NOT_ALLOWED'
  | 'SURFACE_RANGE_UNKNOWN'
  | 'SURFACE_RANGE_REVERSED'
  | 'SURFACE_RESTORE_INVALID'
  | 'PROVENANCE_INVALID'
  | 'PROVENANCE_INCOMPLETE'
  | 'TOOL_RESULT_REWRITE_INVALID'
  | 'EVENT_DATA_INVALID'
  | 'SEED_INVALID'
  | 'REENTRANT_APPEND'
  | 'HEADER_INVALID'
  | 'UNKNOWN_EVENT_TYPE'
  | 'HISTORY_UNREADABLE'
  | 'SESSION_READ_ONLY'

/** A refusal that callers are expected to handle: match on `code`. Nothing has changed when it is thrown. */
export class SessionError extends Error {
  override readonly name = 'SessionError'
  readonly code: SessionErrorCode

  constructor(code: SessionErrorCode, message: string, options?: { cause?: unknown }) {
    super(`${code}: ${message}`, options)
    this.code = code
  }
}
