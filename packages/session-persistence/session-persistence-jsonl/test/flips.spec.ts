import { PersistenceError, type StoredLog } from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { createJsonlBackend } from '../src/index.js'
import { generateLog, lineOf, type SampleLog, seeded, TEXTS, type TextKind } from './logs.js'
import { STORE } from './promises.js'
import { EMPTY_IMAGE, type Image, nextVersion, SimulatedDisk } from './simulated-disk.js'

const IS_WHOLE = process.env.PALIMPSEST_FLIPS === 'all'
/** Of a file with more, so many are drawn; fewer where each look costs a large log. */
const MOST = { small: 2000, large: 120 }
const LARGE_BYTES = 64 * 1024

interface Stored {
  readonly name: string
  readonly log: SampleLog
  readonly base: number
  readonly image: Image
}

const kinds = Object.keys(TEXTS) as TextKind[]
const SPECS = [
  ...kinds.map(text => ({ name: text, text, length: 9, shared: 0 })),
  ...kinds.map(text => ({ name: `fork, ${text}`, text, length: 7, shared: 4 })),
  { name: 'one event', text: 'plain' as const, length: 1, shared: 0 },
  { name: 'no event', text: 'plain' as const, length: 0, shared: 0 },
  { name: 'many turns', text: 'unicode' as const, length: 40, shared: 0 },
  { name: 'an index', text: 'long' as const, length: 220, shared: 0 },
]

const total = { cuts: 0, bits: 0 }

describe.each(SPECS)('the log “$name”', spec => {
  test('is cut at its bytes, and its bits flip', async () => {
    const stored = await store(spec)
    const bytes = [...stored.image.values()].reduce((sum, { data }) => sum + data.length, 0)
    const most = IS_WHOLE ? Number.POSITIVE_INFINITY : MOST[bytes < LARGE_BYTES ? 'small' : 'large']
    const random = seeded(spec.length + spec.name.length)
    for (const path of stored.image.keys()) {
      const { data } = stored.image.get(path)!
      for (const end of drawn(data.length, Math.max(most, bytes < LARGE_BYTES ? data.length : 0), random)) {
        await expectTruth(stored, path, data.subarray(0, end), `cut at byte ${end}`)
        total.cuts += 1
      }
      for (const bit of drawn(data.length * 8, most, random)) {
        const bad = Buffer.from(data)
        bad[bit >> 3]! ^= 1 << (bit & 7)
        await expectTruth(stored, path, bad, `bit ${bit} flipped`)
        total.bits += 1
      }
    }
    console.log(`${JSON.stringify(total)} so far, with ${spec.name}`)
  })
})

// --- internal ---

async function store({ text, length, shared }: (typeof SPECS)[number]): Promise<Stored> {
  const disk = new SimulatedDisk(EMPTY_IMAGE)
  const backend = createJsonlBackend({ directory: STORE, fs: disk.calls })
  const log = generateLog('s', length, { text })
  const lease = await backend.acquire('s')
  await backend.append(lease, log.header, shared > 0 ? log.events.slice(0, shared + 1) : log.events)
  await lease.release()
  if (shared > 0) {
    const child = await backend.acquire('child')
    const header = { ...log.header, id: 'child', parent: { id: 's', length: shared } }
    await backend.fork(child, header, shared)
    await backend.append(child, header, log.events.slice(shared))
    await child.release()
  }
  const id = shared > 0 ? 'child' : 's'
  const names = disk.namesIn(STORE).filter(name => name.startsWith(`${id}.`))
  const image = new Map(
    names.map((name, i) => [`${STORE}/${name}`, fileOf(i + 2, disk.contentOf(`${STORE}/${name}`)!)]),
  )
  return { name: id, log, base: shared, image }
}

function fileOf(ino: number, data: Buffer) {
  return { ino, isDirectory: false, data, version: nextVersion() }
}

/** Right data, reported damage with its place, or a refusal with a code; every byte of the log is accounted for. */
async function expectTruth(stored: Stored, path: string, bytes: Buffer, what: string): Promise<void> {
  const { name: id, log } = stored
  const files = new Map(stored.image).set(path, fileOf(stored.image.get(path)!.ino, bytes))
  const disk = new SimulatedDisk(new Map(files).set(STORE, { ...fileOf(1, Buffer.alloc(0)), isDirectory: true }))
  const backend = createJsonlBackend({ directory: STORE, fs: disk.calls })
  const about = `${path}, ${what}`
  try {
    const read = (await backend.read(id))!
    for (const event of read.events) {
      if (JSON.stringify(event) !== JSON.stringify(log.events[event.seq])) throw new Error(`another event ${event.seq}`)
    }
    if (path.endsWith('.jsonl')) expectAccount(stored, read, bytes)
    else if (path.endsWith('.base'))
      expect(read.damage.length > 0 || read.events.length === log.events.length).toBe(true)
    else expect({ events: read.events.length, damage: read.damage }).toEqual({ events: log.events.length, damage: [] })
    for (const { where } of read.damage) expect(where.offset).toBeTypeOf('number')
    if (!path.endsWith('.jsonl') && !path.endsWith('.base')) await expectOpens(stored, disk)
  } catch (error) {
    const code = error instanceof PersistenceError ? error.code : undefined
    if (code === 'HEADER_DAMAGED' || code === 'FORMAT_VERSION_UNSUPPORTED' || code === 'PARENT_MISMATCH') {
      if (/\.(jsonl|base)$/.test(path)) return
    }
    throw new Error(`${about}: ${error}`, { cause: error })
  }
  expect(disk.openFiles).toBe(0)
}

/** The records that count, and the damage, are the whole file; of a record a newline may be missing. */
function expectAccount({ name, log, base, image }: Stored, read: StoredLog, bytes: Buffer): void {
  const lost = read.damage.filter(({ code }) => code !== 'LOG_HOLE')
  const records = read.events.filter(({ seq }) => seq >= base).map(event => Buffer.byteLength(lineOf(event)))
  const header = Math.min(bytes.length, bytes.indexOf(10) + 1 || bytes.length)
  const told = [header, ...records, ...lost.map(({ bytes }) => bytes)].reduce((sum, each) => sum + each, 0)
  const newlines = 1 + lost.length
  expect(told).toBeGreaterThanOrEqual(bytes.length)
  expect(told - newlines).toBeLessThanOrEqual(bytes.length)
  // A log that ends behind a record looks like one that was never longer; of one as long as before nothing is missing untold.
  const { length } = image.get(`${STORE}/${name}.jsonl`)!.data
  if (bytes.length === length && read.events.length < log.events.length) expect(read.damage).not.toEqual([])
}

/** A lock or an index that is damaged costs a takeover, or time. */
async function expectOpens({ name: id, log }: Stored, disk: SimulatedDisk): Promise<void> {
  const backend = createJsonlBackend({ directory: STORE, fs: disk.calls })
  const lease = await backend.acquire(id).catch(error => {
    if (error.code !== 'SESSION_LOCKED') throw error
    return backend.acquire(id, { takeover: true })
  })
  const opened = (await backend.open!(lease))!
  if (opened.length !== log.events.length)
    throw new Error(`opened with ${opened.length} of ${log.events.length} events`)
  const last = opened.load(Math.max(0, opened.length - 3), opened.length)
  expect(JSON.stringify(last)).toBe(JSON.stringify(log.events.slice(-3)))
  await lease.release()
}

/** All numbers below `count`, or `most` of them. */
function drawn(count: number, most: number, random: () => number): number[] {
  if (count <= most) return [...Array(count).keys()]
  return Array.from({ length: most }, () => Math.floor(random() * count))
}
