import { PersistenceError } from '@palimpsest/session-persistence'

/** What a caller hears of an error of the file system: never the raw one, which is the cause. */
export function writeFailed(id: string, cause: unknown): PersistenceError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new PersistenceError(
    'WRITE_FAILED',
    `session "${id}": expected the file system to do what it was asked, found: ${reason}; make room or mend the device, then open the session again`,
    { cause },
  )
}
