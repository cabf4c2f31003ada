import { type LazyLog, PersistenceError } from '@palimpsest/session-persistence'
import type { Handle } from './handle.js'
import { type FetchedLandmarks, fetchLandmarks, landmarksIn } from './landmarks.js'
import type { SqliteLease } from './lease.js'
import { type FoundLog, findLog, SMALL_LOG } from './read.js'
import { readEvents, reportLost, scanLog } from './scan.js'
import { sessionAt } from './session-row.js'

type Stored = Pick<SqliteLease, 'connection' | 'id'>

/** A log as its landmarks, from one snapshot; the rest is read when it is asked for. */
export async function openLog(stored: Stored): Promise<LazyLog | undefined> {
  const { connection, id } = stored
  const found = await connection.read(db => {
    const log = findLog(db, id)
    if (log === undefined) return undefined
    const fetched = fetchIndexed(db, log)
    return fetched === undefined ? scanAll(db, stored, log) : { log, fetched }
  })
  if (found === undefined || !('fetched' in found)) return found
  try {
    return { ...lazily(stored, found.log), ...(await found.fetched.complete()) }
  } catch {
    return connection.read(db => {
      const log = findLog(db, id)
      return log && scanAll(db, stored, log)
    })
  }
}

// --- internal ---

/** Whatever is wrong with the index, or behind it: the log itself tells what. */
function fetchIndexed(db: Handle, { chain, length }: FoundLog): FetchedLandmarks | undefined {
  const { row, parts } = chain
  if (length <= SMALL_LOG || !row.isStateSound) return undefined
  try {
    return fetchLandmarks(db, parts, length, row.state.landmarks)
  } catch (error) {
    if (error instanceof PersistenceError) throw error
    return undefined
  }
}

function scanAll(db: Handle, stored: Stored, log: FoundLog): LazyLog {
  const scan = scanLog(db, log.chain.parts, 0, log.length)
  reportLost(scan, log.length)
  const length = scan.lostFrom ?? scan.end
  return {
    ...lazily(stored, log),
    length,
    damage: [...log.damage, ...scan.damage],
    ...landmarksIn(scan.events.slice(0, length)),
  }
}

function lazily({ connection, id }: Stored, { chain, length, damage }: FoundLog): Omit<LazyLog, 'landmarks'> {
  const { row, header, parts } = chain
  const load = (from: number, to: number) =>
    connection.readNow(now => {
      if (sessionAt(now, row.key)?.id !== id) throw new Error(`session "${id}" was removed`)
      return readEvents(now, parts, from, to)
    })
  return { header, length, load, damage }
}
