import { isAscii } from 'node:buffer'
import { gunzip } from 'node:zlib'
import { entriesOf, sizeOfBlock } from './block.js'
import type { Handle } from './handle.js'

/** Texts as a snapshot had them, still to be inflated. */
export interface FetchedTexts {
  /** By id; still to be checked. */
  readonly plain: ReadonlyMap<number, Buffer>
  readonly blocks: readonly Buffer[]
}

/** A text of a block that was checked as a whole. */
export interface InflatedText {
  /** What its checksum was when it was packed. */
  readonly crc: number
  readonly text: string
}

/** Many texts at once, and whatever lies in the same blocks. What is not there is not among them. */
export function fetchTexts(db: Handle, ids: readonly number[]): FetchedTexts {
  const list = JSON.stringify(ids)
  const [places, plain] = db.rows<[string | null, number]>(PLACES).get(list)!
  return {
    plain: new Map(plain === 0 ? [] : db.rows<[number, Buffer]>(PLAIN).all(list)),
    blocks: db
      .rows<[Buffer]>(BLOCKS)
      .all(`[${places ?? ''}]`)
      .map(([body]) => body),
  }
}

/** Inflates the blocks in the thread pool, about a MB as one, and checks them there. Rejects where one is damaged, without saying which. */
export async function inflateTexts({ blocks }: FetchedTexts): Promise<ReadonlyMap<number, InflatedText>> {
  const texts = new Map<number, InflatedText>()
  const batches = batchesOf(blocks)
  for (let from = 0; from < batches.length; from += BATCHES_AT_ONCE) {
    const some = batches.slice(from, from + BATCHES_AT_ONCE)
    const inflated = await Promise.all(some.map(inflateBatch))
    for (let i = 0; i < some.length; i++) takeTexts(texts, some[i]!, inflated[i]!)
  }
  return texts
}

// --- internal ---

const WANTED = 'IN (SELECT value FROM json_each(?))'
const PLACES = `SELECT group_concat(DISTINCT block), count(body) FROM texts WHERE id ${WANTED}`
const PLAIN = `SELECT id, body FROM texts WHERE id ${WANTED} AND body IS NOT NULL`
const BLOCKS = `SELECT body FROM blocks WHERE id ${WANTED} ORDER BY id`

/** What inflates to about so much goes to the thread pool as one, and is held as long as one text of it is. */
const BATCH_SIZE = 1024 * 1024
const BATCHES_AT_ONCE = 8

interface Batch {
  readonly blocks: Buffer[]
  /** Where each one ends, once they are inflated. */
  readonly ends: number[]
}

function batchesOf(blocks: readonly Buffer[]): Batch[] {
  const batches: Batch[] = []
  for (const body of blocks) {
    const size = sizeOfBlock(body)
    const batch = batches.at(-1)
    const end = (batch?.ends.at(-1) ?? 0) + size
    if (batch !== undefined && end <= BATCH_SIZE) {
      batch.blocks.push(body)
      batch.ends.push(end)
    } else batches.push({ blocks: [body], ends: [size] })
  }
  return batches
}

function inflateBatch({ blocks, ends }: Batch): Promise<Buffer> {
  const size = ends.at(-1)!
  return new Promise((resolve, reject) => {
    // A chunk with room to spare: one that comes out full makes zlib go on into another one.
    gunzip(Buffer.concat(blocks), { chunkSize: size + 64, maxOutputLength: size }, (error, plain) => {
      if (error === null && plain.length === size) resolve(plain)
      else reject(error ?? new Error(`expected ${size} bytes of inflated texts, found ${plain.length}`))
    })
  })
}

/** Of ASCII the texts are slices of one string, which costs next to nothing; others are decoded one by one. */
function takeTexts(texts: Map<number, InflatedText>, { ends }: Batch, plain: Buffer): void {
  const whole = isAscii(plain) ? plain.toString('latin1') : undefined
  for (let i = 0; i < ends.length; i++) {
    for (const { id, crc, from, to } of entriesOf(plain, ends[i - 1] ?? 0, ends[i]!)) {
      texts.set(id, { crc, text: whole === undefined ? plain.toString('utf8', from, to) : whole.slice(from, to) })
    }
  }
}
