import {
  assertSessionId,
  PersistenceError,
  type SessionBackend,
  type SessionSummary,
} from '@palimpsest/session-persistence'
import { escapeLine, shorten } from './escape.js'
import { CommandError, usageError } from './failure.js'

/** The word for the newest session of the store. */
const LAST = 'last'

/**
 * The whole id for what the user typed: an id, a beginning that only one id has, or `last`; nothing is
 * `last` too. Refuses (`SESSION_ID_INVALID`) what could not be an id before the store is touched.
 */
export async function resolveId(backend: SessionBackend | undefined, given: string = LAST): Promise<string> {
  if (given === LAST) return newestId(backend)
  assertSessionId(given)
  if (backend === undefined) throw notFound(given)
  if (await isStored(backend, given)) return given
  const ids = (await listAll(backend)).map(({ id }) => id).filter(id => id.startsWith(given))
  if (ids.length === 1) return ids[0]!
  if (ids.length === 0) throw notFound(given)
  const some = ids.slice(0, 5).map(escapeLine).join(', ')
  throw usageError(
    `expected an id or its unique beginning, found ${ids.length} sessions that begin with "${given}": ${some}; type more of it`,
  )
}

export async function listAll(
  backend: SessionBackend | undefined,
  options: { turns?: boolean } = {},
): Promise<SessionSummary[]> {
  const summaries: SessionSummary[] = []
  if (backend !== undefined) for await (const summary of backend.list(options)) summaries.push(summary)
  return summaries.sort((a, b) => (b.updatedAt ?? 0) - (a.updatedAt ?? 0) || (a.id < b.id ? -1 : 1))
}

export function notFound(id: string): CommandError {
  return new CommandError(
    'SESSION_NOT_FOUND',
    `expected a session "${shorten(id, 60)}" in this store, found none; palimpsest ls names what there is`,
  )
}

// --- internal ---

async function newestId(backend: SessionBackend | undefined): Promise<string> {
  const newest = (await listAll(backend))[0]
  if (newest !== undefined) return newest.id
  throw new CommandError(
    'SESSION_NOT_FOUND',
    'expected a session in this store, found none yet; palimpsest run "task" starts one',
  )
}

/** One that cannot be read is there too; what is wrong with it is for the command to say. */
async function isStored(backend: SessionBackend, id: string): Promise<boolean> {
  try {
    return (await backend.read(id, { from: 0, to: 0 })) !== undefined
  } catch (error) {
    if (error instanceof PersistenceError && error.code !== 'SESSION_NOT_FOUND') return true
    throw error
  }
}
