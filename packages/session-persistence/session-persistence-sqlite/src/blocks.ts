import { crc32, gunzipSync } from 'node:zlib'
import { encodeBlock, entriesOf, LARGEST_BLOCK, type PlainText, sizeOfBlock } from './block.js'
import type { Handle } from './handle.js'

/**
 * Compresses texts that were stored plain, several to a block: they are read together, and what they have
 * in common is kept once. `crcs` says what each must be: one that is not stays as it is, for a reader to
 * find. Gives by how many bytes the store grows, a negative number.
 */
export function packTexts(db: Handle, crcs: ReadonlyMap<number, number>): number {
  let growth = 0
  let block: PlainText[] = []
  let size = 0
  for (const [id, crc] of crcs) {
    const body = db.rows<[Buffer | null]>('SELECT body FROM texts WHERE id = ?').get(id)?.[0]
    if (!Buffer.isBuffer(body) || crc32(body) !== crc) continue
    if (size + body.length > LARGEST_BLOCK) {
      growth += writeBlock(db, block)
      block = []
      size = 0
    }
    block.push({ id, crc, body })
    size += body.length
  }
  return growth + writeBlock(db, block)
}

/** `undefined` where it is gone. Throws where its block is damaged. */
export function readText(db: Handle, id: number): Buffer | undefined {
  const row = db.rows<[Buffer | null, number]>('SELECT body, block FROM texts WHERE id = ?').get(id)
  if (row === undefined) return undefined
  const [body, block] = row
  return Buffer.isBuffer(body) ? body : readBlock(db, block).get(id)
}

/** With its block, once no other text lies there. */
export function deleteText(db: Handle, id: number): void {
  const block = db.rows<[number | null]>('SELECT block FROM texts WHERE id = ?').get(id)?.[0]
  db.run('DELETE FROM texts WHERE id = ?', id)
  if (block == null || db.rows('SELECT 1 FROM texts WHERE block = ? LIMIT 1').get(block) !== undefined) return
  db.run('DELETE FROM blocks WHERE id = ?', block)
}

// --- internal ---

/** So many inflated blocks are kept at hand. */
const KEPT_BLOCKS = 4

function writeBlock(db: Handle, texts: readonly PlainText[]): number {
  if (texts.length === 0) return 0
  const plainSize = texts.reduce((sum, { body }) => sum + body.length, 0)
  const body = encodeBlock(texts)
  if (body.length >= plainSize) return 0
  const { lastInsertRowid: block } = db.run('INSERT INTO blocks (body) VALUES (?)', body)
  for (const { id, body: text } of texts) {
    db.run('UPDATE texts SET body = NULL, block = ?, size = ? WHERE id = ?', block, text.length, id)
  }
  return body.length - plainSize
}

function readBlock(db: Handle, id: number): ReadonlyMap<number, Buffer> {
  const { blocks } = db
  const known = blocks.get(id)
  if (known !== undefined) return known
  const body = db.rows<[Buffer]>('SELECT body FROM blocks WHERE id = ?').get(id)?.[0]
  // What follows the member, gunzip would pass by.
  const size = sizeOfBlock(body!)
  const plain = gunzipSync(body!, { maxOutputLength: Math.max(1, size) })
  const texts = new Map(entriesOf(plain, 0, size).map(({ id: text, from, to }) => [text, plain.subarray(from, to)]))
  if (plain.length > 2 * LARGEST_BLOCK) return texts
  if (blocks.size >= KEPT_BLOCKS) blocks.delete(blocks.keys().next().value!)
  blocks.set(id, texts)
  return texts
}
