import { assertSessionId } from '@palimpsest/session-persistence'
import { notFound } from './chain.js'
import type { Handle } from './handle.js'
import { assertFree } from './lease.js'
import { LARGEST_LENGTH, placeOf } from './schema.js'
import { releaseTexts, textsWithin } from './texts.js'

/**
 * Removes a session and what was kept of it, but for its epoch. Events that a fork shares stay as long as
 * it does, under a row without an id. Within a transaction.
 */
export function removeSession(db: Handle, id: string): void {
  assertSessionId(id)
  const row = db.rows<[key: number]>('SELECT key FROM sessions WHERE id = ?').get(id)
  if (row === undefined) throw notFound(id)
  assertFree(db, id)
  db.run('DELETE FROM kept WHERE id = ?', id)
  db.run('UPDATE sessions SET id = NULL WHERE key = ?', row[0])
  trim(db, row[0])
}

// --- internal ---

/** Deletes of a removed session what no fork shares any more; without forks all of it, and then its parent is asked. */
function trim(db: Handle, key: number): void {
  const found = db.rows<[id: string | null, parent: number | null]>('SELECT id, parent FROM sessions WHERE key = ?')
  const row = found.get(key)
  if (row === undefined || row[0] !== null) return
  const shared = db.rows<[number | null]>('SELECT max(base) FROM sessions WHERE parent = ?').get(key)?.[0] ?? 0
  const [from, to] = [placeOf(key, shared), placeOf(key, LARGEST_LENGTH)]
  db.run('DELETE FROM events WHERE place >= ? AND place < ?', from, to)
  // A pack that begins below the boundary is shared, whole.
  db.run('DELETE FROM packs WHERE place >= ? AND place < ?', from, to)
  releaseTexts(db, key, shared === 0 ? undefined : textsWithin(db, key, 0, shared))
  if (shared > 0) return
  db.run('DELETE FROM sessions WHERE key = ?', key)
  if (row[1] !== null) trim(db, row[1])
}
