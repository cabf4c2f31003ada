import { type Stats, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import type { SessionBackend } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { CommandError } from './failure.js'

/** The folder of the sessions: `--store`, else under the XDG state directory (a relative one is ignored, as its rules say). */
export function storeDirectory(given: string | undefined): string {
  if (given !== undefined) return resolve(given)
  const { XDG_STATE_HOME: state } = process.env
  const base = state !== undefined && isAbsolute(state) ? state : join(homedir(), '.local', 'state')
  return join(base, 'palimpsest', 'sessions')
}

/** Makes the folder when it is missing. */
export function openStore(directory: string): SessionBackend {
  requireFolder(directory)
  return createJsonlBackend({ directory })
}

/** For commands that only look: `undefined` where there is no folder, and none is made. */
export function openExistingStore(directory: string): SessionBackend | undefined {
  return requireFolder(directory) === undefined ? undefined : createJsonlBackend({ directory })
}

// --- internal ---

/** Refuses what stands in the folder's place. */
function requireFolder(directory: string): Stats | undefined {
  const stats = statSync(directory, { throwIfNoEntry: false })
  if (stats === undefined || stats.isDirectory()) return stats
  throw new CommandError(
    'STORE_INVALID',
    `--store: expected a folder, found another kind of file at ${directory}; name a folder`,
  )
}
