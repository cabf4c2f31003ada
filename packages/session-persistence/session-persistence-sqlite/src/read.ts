import { setImmediate as pause } from 'node:timers/promises'
import type { Damage, StoredLog } from '@palimpsest/session-persistence'
import { type Chain, openChain } from './chain.js'
import type { Connection } from './connection.js'
import type { Handle } from './handle.js'
import { LARGEST_PACK } from './pack.js'
import { damaged, reportLost, reportLostTail, type Scan, scanLog } from './scan.js'
import { LARGEST_LENGTH, placeOf } from './schema.js'
import { findSession, type SessionRow } from './session-row.js'
import { isCorrupt } from './sqlite-error.js'

/** A log of up to this many events is looked at whole, whatever part of it is asked for. */
export const SMALL_LOG = 1024

/** Reads without a lease, beside whoever writes. */
export async function readLog(
  connection: Connection,
  id: string,
  range: { from?: number; to?: number },
): Promise<StoredLog | undefined> {
  const found = await connection.read(db => findLog(db, id))
  if (found === undefined) return undefined
  const { chain, length } = found
  const from = Math.min(Math.max(0, range.from ?? 0), length)
  const to = Math.min(Math.max(from, range.to ?? length), length)
  const [start, end] = length <= SMALL_LOG ? [0, length] : [from, to]
  const scan = await scanInWindows(connection, chain, start, end)
  if (end - start > WINDOW && (await connection.read(db => findSession(db, id)?.key)) !== chain.row.key)
    return undefined
  const isAtEnd = end === length
  if (isAtEnd) reportLostTail(scan, end)
  else reportLost(scan, end)
  const events = start === from && end === to ? scan.events : scan.events.filter(({ seq }) => seq >= from && seq < to)
  return {
    header: chain.header,
    events,
    length: isAtEnd && start < end ? scan.end : length,
    damage: [...found.damage, ...scan.damage],
  }
}

/** A log as it is found: how far it goes, and what its row says wrong. */
export interface FoundLog {
  readonly chain: Chain
  readonly length: number
  readonly damage: Damage[]
}

export function findLog(db: Handle, id: string): FoundLog | undefined {
  const row = findSession(db, id)
  if (row === undefined) return undefined
  if (row.isStateSound) return { chain: openChain(db, row, id, row.state.length), length: row.state.length, damage: [] }
  const length = countOwn(db, row)
  // Nobody knows any more how many events there were.
  return { chain: openChain(db, row, id, length), length, damage: [damaged(length, 0)] }
}

/** Where a log ends as far as its own sound events tell. */
export function countOwn(db: Handle, { key, base }: SessionRow): number {
  const [from, to] = [placeOf(key, base), placeOf(key, LARGEST_LENGTH)]
  return Math.max(base, endOf(db, ROWS_DOWN, key, from, to), endOf(db, PACKS_DOWN, key, from, to))
}

// --- internal ---

const ROWS_DOWN = 'SELECT place FROM events WHERE place >= ? AND place < ? ORDER BY place DESC'
const PACKS_DOWN = 'SELECT place FROM packs WHERE place >= ? AND place < ? ORDER BY place DESC'

/** A place may be damaged itself, so it only counts where a sound event stands. */
function endOf(db: Handle, sql: string, key: number, from: number, to: number): number {
  const part = { key, from: 0, to: LARGEST_LENGTH }
  for (const [place] of rowsIn(() => db.rows<[number]>(sql).all(from, to))) {
    const seq = place - placeOf(key, 0)
    const { events, end } = scanLog(db, [part], seq, seq + (sql === PACKS_DOWN ? LARGEST_PACK : 1))
    if (events.length > 0) return end
  }
  return 0
}

function rowsIn<Row>(read: () => Row[]): Row[] {
  try {
    return read()
  } catch (error) {
    if (isCorrupt(error)) return []
    throw error
  }
}

/** So many events are read before others get their turn. */
const WINDOW = 20_000

async function scanInWindows(connection: Connection, { parts }: Chain, from: number, to: number): Promise<Scan> {
  let scan = await connection.read(db => scanLog(db, parts, from, Math.min(to, from + WINDOW)))
  for (let start = from + WINDOW; start < to; start += WINDOW) {
    await pause()
    const before = scan
    scan = await connection.read(db => scanLog(db, parts, start, Math.min(to, start + WINDOW), before))
  }
  return scan
}
