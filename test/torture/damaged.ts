import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mendSession, type SessionBackend } from '@palimpsest/session-persistence'
import Database from 'better-sqlite3'
import { createByHand } from './hand.js'
import { seeded } from './seeded.js'
import type { StoreName } from './stores.js'
import { appendTurn, digestOf } from './turns.js'

export const DAMAGED = 'damaged'

/** Stores a session, and spoils one record in its middle. */
async function storeDamaged(backend: SessionBackend, store: StoreName, place: string): Promise<void> {
  const hand = await createByHand(backend, DAMAGED)
  for (let turn = 0; turn < 4; turn++) for (const _ of appendTurn(hand.session, seeded(turn), 9, true));
  await hand.flush()
  await hand.close()
  if (store === 'jsonl') spoilLine(join(place, 'sessions', `${DAMAGED}.jsonl`))
  else spoilRow(join(place, 'sessions.sqlite'))
}

/** What mending that session gives, whoever does it. */
export async function mendDamaged(
  backend: SessionBackend,
  store: StoreName,
  place: string,
): Promise<{ length: number; digest: number }> {
  await storeDamaged(backend, store, place)
  await mendSession(backend, DAMAGED, { id: 'mended' })
  const { events, length } = (await backend.read('mended'))!
  return { length, digest: digestOf(events) }
}

// --- internal ---

function spoilLine(path: string): void {
  const lines = readFileSync(path, 'utf8').split('\n')
  const middle = Math.floor(lines.length / 2)
  lines[middle] = lines[middle]!.replace('"seq"', '"sea"')
  writeFileSync(path, lines.join('\n'))
}

function spoilRow(file: string): void {
  const database = new Database(file)
  const of = `session = (SELECT key FROM sessions WHERE id = '${DAMAGED}')`
  const second = `SELECT place FROM events WHERE ${of} AND type = 'assistant/message' ORDER BY place LIMIT 1 OFFSET 1`
  const { changes } = database.prepare(`UPDATE events SET data = '{' WHERE place = (${second})`).run()
  database.close()
  if (changes !== 1) throw new Error(`expected one row to spoil, found ${changes}`)
}
