import type { SessionSummary } from '@palimpsest/session-persistence'
import type { Handle } from './handle.js'
import { LARGEST_LENGTH, placeOf } from './schema.js'
import type { SessionRow } from './session-row.js'
import { isCorrupt } from './sqlite-error.js'

/**
 * The last turn that the session itself began or ended, by the index of the landmarks; `undefined` where it
 * is its parent's, or its row is not sound, or its data no JSON. Only for a listing: the row that it reads may be damaged.
 */
export function lastTurnOf(db: Handle, { key, base, isStateSound }: SessionRow): SessionSummary['lastTurn'] {
  if (!isStateSound) return undefined
  const [type, data] = lastEdge(db, placeOf(key, base), placeOf(key, LARGEST_LENGTH)) ?? []
  if (type === undefined) return base === 0 ? { turn: 0, isOpen: false } : undefined
  if (type === null) return undefined
  const turn = turnIn(data)
  return turn === undefined ? undefined : { turn, isOpen: type === 'turn/start' }
}

// --- internal ---

const LAST = `SELECT type, data FROM events INDEXED BY landmarks
  WHERE landmark IS NOT NULL AND place >= ? AND place < ? AND type IN ('turn/start', 'turn/end')
  ORDER BY place DESC LIMIT 1`

/** On a page that cannot be read there may be one, or none. */
function lastEdge(db: Handle, from: number, to: number): [unknown, unknown] | undefined {
  try {
    return db.rows<[unknown, unknown]>(LAST).get(from, to)
  } catch (error) {
    if (isCorrupt(error)) return [null, null]
    throw error
  }
}

function turnIn(data: unknown): number | undefined {
  try {
    const { turn } = JSON.parse(String(data)) as { turn?: unknown }
    return typeof turn === 'number' ? turn : 0
  } catch {
    return undefined
  }
}
