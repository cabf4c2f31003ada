import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Handle } from './handle.js'

/**
 * Compresses texts that were stored plain, several to a block: they are read together, and what they have
 * in common is kept once. Gives by how many bytes the store grows, a negative number.
 */
export function packTexts(db: Handle, ids: Iterable<number>): number {
  let growth = 0
  let block: PlainText[] = []
  let size = 0
  for (const id of new Set(ids)) {
    const body = db.rows<[Buffer | null]>('SELECT body FROM texts WHERE id = ?').get(id)?.[0]
    if (!Buffer.isBuffer(body)) continue
    if (size + body.length > LARGEST_BLOCK) {
      growth += writeBlock(db, block)
      block = []
      size = 0
    }
    block.push({ id, body })
    size += body.length
  }
  return growth + writeBlock(db, block)
}

/** `undefined` where it is gone. Throws where its block is damaged. */
export function readText(db: Handle, id: number): string | undefined {
  const sql = 'SELECT body, block, at, size FROM texts WHERE id = ?'
  const row = db.rows<[Buffer | null, number, number, number]>(sql).get(id)
  if (row === undefined) return undefined
  const [body, block, at, size] = row
  if (Buffer.isBuffer(body)) return body.toString()
  return readBlock(db, block).toString('utf8', at, at + size)
}

/** With its block, once no other text lies there. */
export function deleteText(db: Handle, id: number): void {
  const block = db.rows<[number | null]>('SELECT block FROM texts WHERE id = ?').get(id)?.[0]
  db.run('DELETE FROM texts WHERE id = ?', id)
  if (block == null || db.rows('SELECT 1 FROM texts WHERE block = ? LIMIT 1').get(block) !== undefined) return
  db.run('DELETE FROM blocks WHERE id = ?', block)
}

// --- internal ---

interface PlainText {
  readonly id: number
  readonly body: Buffer
}

/** Reading one text inflates its whole block. A larger text has a block to itself. */
const LARGEST_BLOCK = 64 * 1024
/** So many inflated blocks are kept at hand. */
const KEPT_BLOCKS = 4

function writeBlock(db: Handle, texts: readonly PlainText[]): number {
  if (texts.length === 0) return 0
  const plain = Buffer.concat(texts.map(({ body }) => body))
  // A large block is compressed in a hurry: the event loop waits for it.
  const body = deflateRawSync(plain, { level: plain.length > LARGEST_BLOCK ? 1 : 6 })
  if (body.length >= plain.length) return 0
  const { lastInsertRowid: block } = db.run('INSERT INTO blocks (body) VALUES (?)', body)
  let at = 0
  for (const { id, body: text } of texts) {
    db.run('UPDATE texts SET body = NULL, block = ?, at = ?, size = ? WHERE id = ?', block, at, text.length, id)
    at += text.length
  }
  return body.length - plain.length
}

function readBlock(db: Handle, id: number): Buffer {
  const { blocks } = db
  const known = blocks.get(id)
  if (known !== undefined) return known
  const body = db.rows<[Buffer]>('SELECT body FROM blocks WHERE id = ?').get(id)?.[0]
  const plain = inflateRawSync(body!)
  if (plain.length > LARGEST_BLOCK) return plain
  if (blocks.size >= KEPT_BLOCKS) blocks.delete(blocks.keys().next().value!)
  blocks.set(id, plain)
  return plain
}
