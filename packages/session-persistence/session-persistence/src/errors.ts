export type PersistenceErrorCode =
  | 'SESSION_NOT_FOUND'
  | 'SESSION_EXISTS'
  | 'SESSION_ID_INVALID'
  | 'SESSION_LOCKED'
  | 'SESSION_FENCED'
  | 'SESSION_READ_ONLY'
  | 'PARENT_MISMATCH'
  | 'STORE_BUSY'
  | 'APPEND_CONFLICT'
  | 'FORMAT_VERSION_UNSUPPORTED'
  | 'SCHEMA_VERSION_UNSUPPORTED'
  | 'DATABASE_FOREIGN'
  | 'HEADER_DAMAGED'
  | 'WRITE_FAILED'

/** A storage failure that callers are expected to handle: match on `code`. The system's own error is the `cause`. */
export class PersistenceError extends Error {
  override readonly name = 'PersistenceError'
  readonly code: PersistenceErrorCode

  constructor(code: PersistenceErrorCode, message: string, options?: { cause?: unknown }) {
    super(`${code}: ${message}`, options)
    this.code = code
  }
}
