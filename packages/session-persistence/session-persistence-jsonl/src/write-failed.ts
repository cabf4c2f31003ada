import { PersistenceError } from '@palimpsest/session-persistence'

/** What a caller hears of an error of the file system: never the raw one, which is the cause. */
export function writeFailed(id: string, cause: unknown): PersistenceError {
  return fileSystemFailed(`session "${id}"`, cause, 'open the session again')
}

/** The same of what is no session's alone; `next`: what to do once that is mended. */
export function fileSystemFailed(what: string, cause: unknown, next = 'try again'): PersistenceError {
  const reason = (cause instanceof Error ? cause.message : String(cause)).replace(/^E[A-Z0-9]+: /, '')
  const advice = ADVICE[(cause as NodeJS.ErrnoException | undefined)?.code ?? ''] ?? 'make room or mend the device'
  return new PersistenceError(
    'WRITE_FAILED',
    `${what}: expected the file system to do what it was asked, found: ${reason}; ${advice}, then ${next}`,
    { cause },
  )
}

// --- internal ---

const MAY_NOT = 'let this user read and write the folder of the store and its files'
const NO_FOLDER = 'name a folder, or move away what stands in its place'
const TOO_MANY = 'close some, or raise the limit'

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: MAY_NOT,
  EPERM: MAY_NOT,
  EEXIST: NO_FOLDER,
  ENOTDIR: NO_FOLDER,
  EROFS: 'make it writable, or copy the store to where it may be written',
  EMFILE: TOO_MANY,
  ENFILE: TOO_MANY,
}
