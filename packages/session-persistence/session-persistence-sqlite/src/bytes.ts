import type { BytePart } from '@palimpsest/session-persistence'
import type { Part } from './chain.js'
import type { Handle } from './handle.js'
import { LARGEST_PACK } from './pack.js'
import { findLog } from './read.js'
import { placeOf } from './schema.js'

/** Where the bytes of a session are; what it shares with its parents and its forks is marked as such. Within a snapshot. */
export function bytesOf(db: Handle, id: string): BytePart[] | undefined {
  const found = findLog(db, id)
  if (found === undefined) return undefined
  const { row } = found.chain
  const parts = splitAtForks(db, found.chain.parts)
  const shared = parts
    .slice(0, -1)
    .flatMap(part => partsOf(db, part).map(entry => ({ ...entry, isShared: true as const })))
  return [
    { what: 'header', bytes: Buffer.byteLength(row.header) },
    ...merged(shared),
    ...partsOf(db, parts.at(-1)!),
    ...textsOf(db, parts),
    ...keptOf(db, id),
  ]
}

// --- internal ---

const BY_TYPE = `SELECT type, sum(${['type', 'data', 'source_event_seqs', 'surface_op', 'texts']
  .map(column => `coalesce(octet_length(${column}), 0)`)
  .join(' + ')} + ?), count(*) FROM events WHERE place >= ? AND place < ? GROUP BY type ORDER BY type`
const FORKED = 'SELECT max(base) FROM sessions WHERE parent = ?'
const PACKS = 'SELECT place, last, length(body) FROM packs WHERE place >= ? AND place < ?'
const SHARED_TEXTS = `SELECT DISTINCT json_extract(e.texts, t.fullkey || '[1]')
  FROM events e, json_each(iif(json_valid(e.texts), e.texts, '[]')) t WHERE e.place >= ? AND e.place < ?`
/** Of a text in a block: its part of what the block takes. */
const TEXTS = `SELECT t.id, coalesce(length(t.body), (SELECT length(b.body) FROM blocks b WHERE b.id = t.block) * t.size /
  (SELECT sum(o.size) FROM texts o WHERE o.block = t.block)), (SELECT count(*) FROM text_refs o WHERE o.text = t.id)
  FROM text_refs r JOIN texts t ON t.id = r.text WHERE r.session = ?`
/** The numbers of a row, and what SQLite adds to it. */
const ROW_BYTES = 32
const PACK_BYTES = 20

/** The last part is what no fork reads: removing the session gives back just that. */
function splitAtForks(db: Handle, parts: readonly Part[]): Part[] {
  const own = parts.at(-1)!
  const forked = db.rows<[number | null]>(FORKED).get(own.key)?.[0] ?? 0
  const end = Math.min(own.to, Math.max(own.from, forked))
  return end === own.from ? [...parts] : [...parts.slice(0, -1), { ...own, to: end }, { ...own, from: end }]
}

function partsOf(db: Handle, { key, from, to }: Part): BytePart[] {
  const rows = db.rows<[string, number, number]>(BY_TYPE).all(ROW_BYTES, placeOf(key, from), placeOf(key, to))
  const parts: BytePart[] = rows.map(([what, bytes, events]) => ({ what, bytes, events }))
  const start = Math.max(0, from - LARGEST_PACK + 1)
  const pack = { what: 'pack', bytes: 0, events: 0 }
  for (const [place, last, bytes] of db
    .rows<[number, number, number]>(PACKS)
    .all(placeOf(key, start), placeOf(key, to))) {
    const events = Math.min(last + 1, to) - Math.max(place - placeOf(key, 0), from)
    if (!(events > 0)) continue
    // Of a pack that is cut by a fork: its part.
    pack.bytes += Math.round(((bytes + PACK_BYTES) * events) / (last + 1 - (place - placeOf(key, 0))))
    pack.events += events
  }
  return pack.events === 0 ? parts : [...parts, pack]
}

/** The large texts that the session's own events alone refer to, and those that shared ones do too. */
function textsOf(db: Handle, parts: readonly Part[]): BytePart[] {
  const sizes = new Map<number, { bytes: number; isShared: boolean }>()
  const own = parts.at(-1)!
  const shared = new Set(
    parts.slice(0, -1).flatMap(({ key, from, to }) =>
      db
        .rows<[number]>(SHARED_TEXTS)
        .all(placeOf(key, from), placeOf(key, to))
        .map(([id]) => id),
    ),
  )
  for (const key of new Set(parts.map(part => part.key))) {
    for (const [id, bytes, users] of db.rows<[number, number, number]>(TEXTS).all(key)) {
      if (key === own.key || shared.has(id)) sizes.set(id, { bytes, isShared: users > 1 || shared.has(id) })
    }
  }
  const sum = (isShared: boolean) =>
    [...sizes.values()].reduce((total, size) => total + (size.isShared === isShared ? size.bytes : 0), 0)
  const texts: BytePart[] = [
    { what: 'text', bytes: sum(false) },
    { what: 'text', bytes: sum(true), isShared: true },
  ]
  return texts.filter(({ bytes }) => bytes > 0)
}

function keptOf(db: Handle, id: string): BytePart[] {
  const bytes = db.rows<[number | null]>('SELECT sum(octet_length(row)) FROM kept WHERE id = ?').get(id)?.[0] ?? 0
  return bytes === 0 ? [] : [{ what: 'kept', bytes }]
}

/** One entry a kind, whichever ancestor holds it. */
function merged(parts: readonly BytePart[]): BytePart[] {
  const byKind = new Map<string, BytePart>()
  for (const part of parts) {
    const known = byKind.get(part.what)
    const events = (known?.events ?? 0) + (part.events ?? 0)
    byKind.set(part.what, { ...part, bytes: part.bytes + (known?.bytes ?? 0), events })
  }
  return [...byKind.values()]
}
