import type { Damage } from '@palimpsest/session-persistence'
import { assertVersion, headerOf, openChain } from './chain.js'
import type { Connection } from './connection.js'
import type { Handle } from './handle.js'
import { countLandmarks } from './landmarks.js'
import { SqliteLease, takeLease } from './lease.js'
import { LARGEST_PACK } from './pack.js'
import { countOwn, SMALL_LOG } from './read.js'
import { COLUMNS } from './record.js'
import { damaged, type Scan, scanLog } from './scan.js'
import { placeOf } from './schema.js'
import { findSession, keepRow, type SessionRow, updateState } from './session-row.js'
import { isCorrupt } from './sqlite-error.js'

/** Takes the lease, and in the same transaction cuts what is bad at the log's end and keeps it. */
export async function acquireLease(
  connection: Connection,
  id: string,
  takeover: boolean,
  onRelease: (lease: SqliteLease) => void,
): Promise<SqliteLease> {
  try {
    const taken = await connection.write(db => {
      const row = findSession(db, id)
      // A log of another version is refused before anybody holds it.
      if (row !== undefined) row.isHeaderSound ? headerOf(row, id) : assertVersion(row)
      const epoch = takeLease(db, id, { takeover, isStored: row !== undefined })
      return { epoch, ...(row === undefined ? SOUND : settle(db, row, id)) }
    })
    const lease = new SqliteLease(connection, id, taken.epoch, onRelease)
    lease.damage.push(...taken.damage)
    lease.holeAt = taken.holeAt
    return lease
  } catch (error) {
    if (!isCorrupt(error)) throw error
    return acquireBeside(connection, id, takeover, onRelease)
  }
}

// --- internal ---

interface Settled {
  readonly damage: Damage[]
  readonly holeAt?: number
}

const SOUND: Settled = { damage: [] }

/**
 * Takes the lease of a log with a page that cannot be read. A transaction that has met one may not write, so
 * the log is looked at in another one, and nothing is cut: what is lost is a hole, wherever it lies.
 */
async function acquireBeside(
  connection: Connection,
  id: string,
  takeover: boolean,
  onRelease: (lease: SqliteLease) => void,
): Promise<SqliteLease> {
  const epoch = await connection.write(db => takeLease(db, id, { takeover, isStored: true }))
  const lease = new SqliteLease(connection, id, epoch, onRelease)
  try {
    lease.holeAt = await connection.read(db => findHole(db, id))
    return lease
  } catch (error) {
    await lease.release().catch(() => {})
    throw error
  }
}

function findHole(db: Handle, id: string): number | undefined {
  const row = findSession(db, id)
  if (row === undefined || !row.isHeaderSound) return undefined
  const length = row.isStateSound ? row.state.length : countOwn(db, row)
  const { end, lostFrom } = scanEnd(db, row, id, length)
  return lostFrom ?? (end < length || !row.isStateSound ? end : undefined)
}

function settle(db: Handle, row: SessionRow, id: string): Settled {
  if (!row.isHeaderSound) {
    return { damage: [{ code: 'HEADER_DAMAGED', where: {}, bytes: String(row.header).length, kept: null }] }
  }
  if (!row.isStateSound) return recount(db, row, id)
  const { length } = row.state
  const scan = scanEnd(db, row, id, length)
  if (scan.lostFrom !== undefined) return { damage: [], holeAt: scan.lostFrom }
  if (scan.end >= length) return SOUND
  // What a fork still shares is not ours alone to cut, and a table that is torn itself loses more where it is written to.
  if (isSharedFrom(db, row, scan.end) || !areTablesSound(db)) return { damage: [], holeAt: scan.end }
  return { damage: [cutTail(db, row, id, scan)] }
}

/** Of a small log everything; of a large one its end, as far back as it is bad. */
function scanEnd(db: Handle, row: SessionRow, id: string, length: number): Scan {
  const { parts } = openChain(db, row, id, length)
  if (length <= SMALL_LOG) return scanLog(db, parts, 0, length)
  for (let window = 1; ; window *= 8) {
    const from = Math.max(row.base, length - window)
    const scan = scanLog(db, parts, from, length)
    // Where nothing is good as far as one has looked, the log may go on further back.
    if (scan.end > from || from === row.base) return scan
  }
}

/** The last sound event ends the log. What stands behind it is kept, then goes. */
function cutTail(db: Handle, row: SessionRow, id: string, { end, damage, tailFrom }: Scan): Damage {
  const [from, to] = [placeOf(row.key, end), placeOf(row.key, row.state.length)]
  const bytes = damage.slice(tailFrom).reduce((sum, entry) => sum + entry.bytes, 0)
  let kept: string | null = null
  for (const [source, columns] of [
    ['events', `${COLUMNS}, place`],
    ['packs', 'place, last, body, crc'],
  ] as const) {
    // A pack with good events has no end of its own to cut: it is good or bad as a whole.
    const start = source === 'packs' ? Math.max(from - LARGEST_PACK, placeOf(row.key, row.base)) : from
    for (const bad of db.rows(`SELECT ${columns} FROM ${source} WHERE place >= ? AND place < ?`).all(start, to)) {
      const place = Number(source === 'packs' ? bad[0] : bad.at(-1))
      if (place < from) continue
      kept = keepRow(db, id, source, place - placeOf(row.key, 0), bad)
      db.run(`DELETE FROM ${source} WHERE place = ?`, place)
    }
  }
  resetState(db, row, id, end)
  return { ...damaged(end, bytes), kept }
}

/** A state that fails its checksum is made anew from the events; nobody knows whether some are gone. */
function recount(db: Handle, row: SessionRow, id: string): Settled {
  const kept = keepRow(db, id, 'sessions', null, db.rows('SELECT * FROM sessions WHERE key = ?').get(row.key) ?? [])
  const length = countOwn(db, row)
  resetState(db, row, id, length)
  const found = settle(db, findSession(db, id)!, id)
  return { ...found, damage: [{ ...damaged(length, 0), kept }, ...found.damage] }
}

function resetState(db: Handle, row: SessionRow, id: string, length: number): void {
  const { parts } = openChain(db, row, id, length)
  const sound = row.isStateSound ? row.state : { ...row.state, bytes: 0, titleSeq: null, title: null }
  updateState(db, row.key, {
    ...sound,
    updatedAt: row.isStateSound ? row.state.updatedAt : Date.now(),
    length,
    landmarks: countLandmarks(db, parts, length),
    packed: row.isStateSound ? Math.min(row.state.packed, length) : row.base,
  })
}

function isSharedFrom(db: Handle, { key }: SessionRow, seq: number): boolean {
  return db.rows('SELECT 1 FROM sessions WHERE parent = ? AND base > ? LIMIT 1').get(key, seq) !== undefined
}

/** Looks at every page, which only a damaged log is worth. */
function areTablesSound(db: Handle): boolean {
  return db.rows<[string]>('PRAGMA quick_check(1)').get()?.[0] === 'ok'
}
