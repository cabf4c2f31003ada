import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { SessionEvent } from '@palimpsest/session'
import { deleteText, readText } from './blocks.js'
import type { Handle } from './handle.js'
import { type EventRow, LONE_SURROGATE } from './record.js'
import { placeOf } from './schema.js'

/** A string of this many UTF-16 units is stored once, by its hash, whoever uses it. */
const TEXT_FROM = 1024

/** A large string of an event, or the tools of a request header. */
export interface LargeText {
  readonly path: readonly (string | number)[]
  /** The string itself; JSON text of what is none, and of a string with half of a surrogate pair, which has no UTF-8 form. */
  readonly text: string
  readonly isJson: boolean
  readonly hash: Buffer
}

/** What a row says of one of its texts. */
export type TextEntry = [path: readonly (string | number)[], id: number, crc: number, isJson?: 1]

/** The large strings of an event whose row has this `data`; none in nearly every event. */
export function findTexts(event: SessionEvent, data: string): LargeText[] {
  if (data.length < TEXT_FROM) return NONE
  const found: LargeText[] = []
  const add = (path: readonly (string | number)[], text: string, isJson: boolean) =>
    found.push({ path, text, isJson, hash: createHash('sha256').update(text).digest() })
  const tools = toolsOf(event)
  if (tools !== undefined) add(['tools'], tools, true)
  walk(event.data, [], tools === undefined ? undefined : 'tools', (path, text) => {
    const isJson = LONE_SURROGATE.test(text)
    add(path, isJson ? JSON.stringify(text) : text, isJson)
  })
  return found
}

/**
 * Stores the texts that are not stored, and makes the row refer to them: `null` stands where they stood.
 * Gives how many bytes were new.
 */
export function placeTexts(
  db: Handle,
  key: number,
  event: SessionEvent,
  row: EventRow,
  texts: readonly LargeText[],
): number {
  let bytes = 0
  const entries = texts.map((large): TextEntry => {
    let id = idOf(db, large.hash)
    if (id === undefined) {
      const body = Buffer.from(large.text)
      bytes += body.length
      id = Number(db.run('INSERT INTO texts (hash, body) VALUES (?, ?)', large.hash, body).lastInsertRowid)
    } else mend(db, id, large)
    db.run('INSERT OR IGNORE INTO text_refs (session, text) VALUES (?, ?)', key, id)
    const crc = crc32(large.text)
    return large.isJson ? [large.path, id, crc, 1] : [large.path, id, crc]
  })
  const tools = toolsOf(event) === undefined ? undefined : (event.data as { tools?: unknown }).tools
  const isElsewhere = (value: unknown) =>
    typeof value === 'string' ? value.length >= TEXT_FROM : value !== undefined && value === tools
  row[3] = JSON.stringify(event.data, (_, value) => (isElsewhere(value) ? null : value))
  row[7] = JSON.stringify(entries)
  return bytes
}

/** Puts the texts back into the event of a row. Throws where one is gone, or is not what it was. */
export function restoreTexts(db: Handle, event: SessionEvent, texts: string): SessionEvent {
  return putTexts(event, JSON.parse(texts), ([, id, crc]) => {
    const body = readText(db, id)
    if (body !== undefined && crc32(body) === crc) return body.toString()
    throw new Error(`text ${id} of event ${event.seq} is damaged`)
  })
}

/** Puts texts back that were read already. */
export function putTexts(
  event: SessionEvent,
  entries: readonly TextEntry[],
  textOf: (entry: TextEntry) => string,
): SessionEvent {
  for (const entry of entries) {
    const text = textOf(entry)
    const [path, , , isJson] = entry
    // From the event itself: all of its data may be one text.
    let node = event as unknown as Record<string | number, unknown>
    let step: string | number = 'data'
    for (const next of path) {
      node = node[step] as typeof node
      step = next
    }
    node[step] = isJson === 1 ? JSON.parse(text) : text
  }
  return event
}

/** Forgets what `key` referred to, but for the texts of `keeping`, and deletes what nobody refers to any more. */
export function releaseTexts(db: Handle, key: number, keeping: ReadonlyMap<number, unknown> = new Map()): void {
  for (const [id] of db.rows<[number]>('SELECT text FROM text_refs WHERE session = ?').all(key)) {
    if (keeping.has(id)) continue
    db.run('DELETE FROM text_refs WHERE session = ? AND text = ?', key, id)
    if (db.rows('SELECT 1 FROM text_refs WHERE text = ? LIMIT 1').get(id) === undefined) {
      deleteText(db, id)
    }
  }
}

/** The texts that the events of a half-open range refer to, by id, with their checksums. */
export function textsWithin(db: Handle, key: number, from: number, to: number): Map<number, number> {
  const sql = 'SELECT texts FROM events WHERE place >= ? AND place < ? AND texts IS NOT NULL'
  const rows = db.rows<[string]>(sql).all(placeOf(key, from), placeOf(key, to))
  return new Map(rows.flatMap(([texts]) => entriesIn(texts).map(([, id, crc]) => [id, crc])))
}

// --- internal ---

const NONE: LargeText[] = []

/** A damaged row names none. */
function entriesIn(texts: string): TextEntry[] {
  try {
    const entries: unknown = JSON.parse(texts)
    return Array.isArray(entries) && entries.every(Array.isArray) ? (entries as unknown[] as TextEntry[]) : []
  } catch {
    return []
  }
}

function idOf(db: Handle, hash: Buffer): number | undefined {
  return db.rows<[number]>('SELECT id FROM texts WHERE hash = ?').get(hash)?.[0]
}

/** A hash that led astray, or a bad body, would lose what is being stored. */
function mend(db: Handle, id: number, { text, hash }: LargeText): void {
  const known = db.rows<[Buffer]>('SELECT hash FROM texts NOT INDEXED WHERE id = ?').get(id)?.[0]
  if (!Buffer.isBuffer(known) || !known.equals(hash)) throw new Error(`text ${id} is not the one that its hash names`)
  if (isReadable(db, id, text)) return
  db.run('UPDATE texts SET body = ?, block = NULL, size = NULL WHERE id = ?', Buffer.from(text), id)
}

function isReadable(db: Handle, id: number, text: string): boolean {
  try {
    return readText(db, id)?.equals(Buffer.from(text)) ?? false
  } catch {
    return false
  }
}

function toolsOf(event: SessionEvent): string | undefined {
  if (event.type !== 'request/header' || event.data.tools === undefined) return undefined
  const text = JSON.stringify(event.data.tools)
  return text.length < TEXT_FROM ? undefined : text
}

function walk(
  value: unknown,
  path: readonly (string | number)[],
  skip: string | undefined,
  onText: (path: readonly (string | number)[], text: string) => void,
): void {
  if (typeof value === 'string') {
    if (value.length >= TEXT_FROM) onText(path, value)
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const [i, entry] of value.entries()) walk(entry, [...path, i], undefined, onText)
    return
  }
  for (const key of Object.keys(value)) {
    if (key !== skip) walk((value as Record<string, unknown>)[key], [...path, key], undefined, onText)
  }
}
