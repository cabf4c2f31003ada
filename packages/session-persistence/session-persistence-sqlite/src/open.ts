import { type LazyLog, PersistenceError } from '@palimpsest/session-persistence'
import type { Handle } from './handle.js'
import { landmarksIn, readLandmarks } from './landmarks.js'
import type { SqliteLease } from './lease.js'
import { findLog, SMALL_LOG } from './read.js'
import { readEvents, reportLost, scanLog } from './scan.js'
import { sessionAt } from './session-row.js'

/** A log as its landmarks; the rest is read when it is asked for. Within a snapshot. */
export function openLog(db: Handle, { connection, id }: Pick<SqliteLease, 'connection' | 'id'>): LazyLog | undefined {
  const found = findLog(db, id)
  if (found === undefined) return undefined
  const { chain, length, damage } = found
  const { row, header, parts } = chain
  const load = (from: number, to: number) =>
    connection.readNow(now => {
      if (sessionAt(now, row.key)?.id !== id) throw new Error(`session "${id}" was removed`)
      return readEvents(now, parts, from, to)
    })
  const isSmall = length <= SMALL_LOG || !row.isStateSound
  const indexed = isSmall ? undefined : tryLandmarks(() => readLandmarks(db, parts, length, row.state.landmarks))
  if (indexed !== undefined) return { header, length, load, damage, ...indexed }
  const scan = scanLog(db, parts, 0, length)
  reportLost(scan, length)
  const sound = scan.lostFrom ?? scan.end
  return {
    header,
    length: sound,
    load,
    damage: [...damage, ...scan.damage],
    ...landmarksIn(scan.events.slice(0, sound)),
  }
}

// --- internal ---

/** Whatever is wrong with the index, or behind it: the log itself tells what. */
function tryLandmarks<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof PersistenceError) throw error
    return undefined
  }
}
