import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionBackend } from '@palimpsest/session-persistence'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import { afterAll, describe, expect, test } from 'vitest'
import { DATABASES, type GeneratedDatabase, type Moment } from './generated-databases.js'
import { randomFrom } from './random-logs.js'
import { type Expected, findUntruth, isCoded } from './truth.js'

/** How many bits are flipped in all; `all` flips every one, and cuts at every byte. */
const FLIPS =
  process.env.PALIMPSEST_FLIPS === 'all' ? Number.POSITIVE_INFINITY : Number(process.env.PALIMPSEST_FLIPS ?? 4400)
const SEED = Number(process.env.PALIMPSEST_SEED ?? 20)
const PAGE = 4096
const WAL_HEADER = 32
const FRAME = 24 + PAGE

const folder = mkdtempSync(join(memory(), 'palimpsest-flips-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const total = { cuts: 0, flips: 0, refused: 0 }

describe.each(DATABASES)('the database “$name”', ({ name, make, isLarge }) => {
  test(
    'is cut, and its bits flip',
    async () => {
      const stored = await make(folder)
      const random = randomFrom(SEED + name.length)
      await expectTruth(stored, { what: 'nothing' }, random)
      for (const part of ['file', 'wal'] as const) {
        for (const cut of cuts(stored[part].length, part, random)) {
          await expectTruth(stored, { what: 'cut', part, at: cut }, random)
          total.cuts += 1
        }
        for (const bit of bits(stored, part, isLarge ? FLIPS / 6 : FLIPS, random)) {
          await expectTruth(stored, { what: 'flip', part, at: bit }, random)
          total.flips += 1
        }
      }
      console.log(`${JSON.stringify(total)} so far, seed ${SEED}, with ${name}`)
    },
    2 ** 31 - 1,
  )
})

// --- internal ---

type Harm = { what: 'nothing' } | { what: 'cut' | 'flip'; part: 'file' | 'wal'; at: number }

async function expectTruth(stored: GeneratedDatabase, harm: Harm, random: () => number): Promise<void> {
  const file = join(folder, 'harmed.db')
  for (const end of ['-wal', '-shm', '-journal']) rmSync(file + end, { force: true })
  writeFileSync(file, harmed(stored, 'file', harm))
  if (stored.wal.length > 0) writeFileSync(`${file}-wal`, harmed(stored, 'wal', harm))
  const wrong = await untruthOf(file, expectedOf(stored, harm, random))
  expect
    .soft(wrong?.split('\n').slice(0, 12).join(' '), `${stored.name}, ${JSON.stringify(harm)}, seed ${SEED}`)
    .toBeUndefined()
}

async function untruthOf(file: string, expected: Expected): Promise<string | undefined> {
  let backend: SessionBackend
  try {
    backend = createSqliteBackend({ file, busyMs: 0 })
  } catch (error) {
    total.refused += 1
    return isCoded(error) && !expected.isExact ? undefined : `making: ${(error as Error).stack}`
  }
  try {
    return await findUntruth(backend, expected)
  } finally {
    await backend.close().catch(() => {})
  }
}

function harmed(stored: GeneratedDatabase, part: 'file' | 'wal', harm: Harm): Buffer {
  if (harm.what === 'nothing' || harm.part !== part) return stored[part]
  if (harm.what === 'cut') return stored[part].subarray(0, harm.at)
  const bytes = Buffer.from(stored[part])
  bytes[harm.at >> 3]! ^= 1 << (harm.at & 7)
  return bytes
}

/**
 * Of a write-ahead log SQLite believes all frames up to the first bad one, so what was acknowledged with these is there
 * exactly. A flip in its first bytes is refused, or takes all of it.
 */
function expectedOf({ logs, moments, wal }: GeneratedDatabase, harm: Harm, random: () => number): Expected {
  const ids = [...moments.at(-1)!.lengths.keys()]
  const worker = ids[Math.floor(random() * ids.length)]!
  if (harm.what === 'nothing') return { logs, lengths: moments.at(-1)!.lengths, isExact: true, worker }
  if (harm.part === 'file')
    return {
      logs,
      lengths: harm.what === 'cut' && harm.at === 0 && wal.length === 0 ? NOTHING : moments.at(-1)!.lengths,
      isExact: false,
      worker,
    }
  const sound = harm.what === 'cut' ? harm.at : frameOf(harm.at >> 3)
  const { lengths } = moments.findLast(moment => moment.walBytes <= sound) ?? moments[0]!
  return { logs, lengths, isExact: sound > 0, worker }
}

/** An empty file is a database that is still to be made. */
const NOTHING: Moment['lengths'] = new Map()

/** Where the frame of a byte begins; 0 for the header. */
function frameOf(byte: number): number {
  return byte < WAL_HEADER ? 0 : WAL_HEADER + Math.floor((byte - WAL_HEADER) / FRAME) * FRAME
}

/** At, before and behind each boundary, and some between. */
function cuts(length: number, part: 'file' | 'wal', random: () => number): Iterable<number> {
  if (FLIPS === Number.POSITIVE_INFINITY) return Array(length).keys()
  const [first, size] = part === 'file' ? [0, PAGE] : [WAL_HEADER, FRAME]
  const chosen = new Set([0, 1, 2, 99, 100, 511, 512])
  const boundaries = Math.ceil((length - first) / size)
  // Of a long log some of the boundaries; of a database all.
  const step = part === 'file' ? 1 : Math.max(1, boundaries / 40)
  for (let n = 0; n <= boundaries; n += step) {
    for (const near of [-1, 0, 1]) chosen.add(first + Math.floor(n) * size + near)
  }
  for (let n = 0; n < 30; n++) chosen.add(Math.floor(random() * length))
  return [...chosen].filter(at => at >= 0 && at < length)
}

/** As many on each page, the first of which counts five times: it says what all others are. */
function bits(stored: GeneratedDatabase, part: 'file' | 'wal', flips: number, random: () => number): Iterable<number> {
  const { length } = stored[part]
  if (flips === Number.POSITIVE_INFINITY) return Array(length * 8).keys()
  const pages = Math.ceil(length / PAGE)
  const share = flips / DATABASES.length / (Math.ceil((stored.file.length + stored.wal.length) / PAGE) + 4)
  const chosen: number[] = []
  for (let page = 0; page < pages; page++) {
    const most = share * (page === 0 ? 5 : 1)
    for (let n = Math.floor(most + random()); n > 0; n--) {
      const byte = page * PAGE + Math.floor(random() * PAGE)
      if (byte < length) chosen.push(byte * 8 + Math.floor(random() * 8))
    }
  }
  return chosen
}

/** In memory where the system has a folder for that. */
function memory(): string {
  return statSync('/dev/shm', { throwIfNoEntry: false })?.isDirectory() ? '/dev/shm' : tmpdir()
}
