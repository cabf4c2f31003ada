import { closeInterruptedTurn, type SessionEvent, type SessionHeader } from '@palimpsest/session'
import { type Damage, forkSession, openSession, type SessionBackend } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '../src/index.js'
import { CrashPoint } from './crash-states.js'
import { lineOf } from './logs.js'
import { SimulatedDisk } from './simulated-disk.js'

export const STORE = '/store'

/** What the callers of a store know about one session. */
export interface Promised {
  readonly header: SessionHeader
  /** All that was ever handed over to be appended, in order, the shared events of a fork first. */
  readonly events: readonly SessionEvent[]
  /** How many of its own events, from `base` on, stand in its own file. */
  readonly base: number
  /** How many events were acknowledged; -1 where not even the session was. */
  readonly acknowledged: number
  /** The highest epoch that anybody got. */
  readonly epoch: number
  /** A removal was asked for, or acknowledged. */
  readonly removal: 'none' | 'asked' | 'done'
  /** Bytes that were on the disk and must not vanish, records or not. */
  readonly kept: readonly Buffer[]
}

export type Promises = ReadonlyMap<string, Promised>

/** What the check of one disk came upon that the contract allows, and that should be counted. */
export interface Findings {
  /** Pages of one unacknowledged batch came to the disk out of order: the session opens read-only, and goes on in a fork. */
  holes: number
  /** Of a lock only a part is there: nobody can say whose it is, and a takeover is needed. */
  takeovers: number
}

/**
 * The oracle. On a disk whose former owners are dead:
 *  1. every acknowledged event is there, byte for byte, in order; an acknowledged fork too;
 *  2. what is there beyond that is a prefix of what was handed over, and nothing else;
 *  3. an acknowledged removal stays done, and leaves no byte but the lock;
 *  4. a session that was never acknowledged is whole as far as it goes, or its id is free;
 *  5. it opens for work without a takeover, under a higher epoch than any before; what was cut is in a side file;
 *  6. it can be appended to, and what is then acknowledged survives the next loss of power, the worst one;
 *  7. it opens again without damage; no descriptor and no temporary file is left.
 * Throws where one of these does not hold. `isWhole`: the way applications take, and the listing; else the port's.
 */
export async function checkPromises(
  disk: SimulatedDisk,
  promises: Promises,
  findings: Findings,
  isWhole = true,
): Promise<void> {
  const backend = createJsonlBackend({ directory: STORE, fs: disk.calls })
  const store = { disk, backend, isWhole, findings }
  if (isWhole) await checkListing(store, promises)
  const lengths = new Map<string, number>()
  for (const [id, promised] of promises) {
    const isThere = isSession(disk, id, promised)
    mustHold(
      promised.removal !== 'none' || promised.kept.every(bytes => isKept(disk, id, bytes)),
      `${id}: bytes that were kept are gone`,
    )
    lengths.set(id, await (isThere ? checkStored : checkFree)(store, id, promised))
  }
  await backend.close()
  mustHold(disk.openFiles === 0, `${disk.openFiles} descriptors are left open`)
  await checkAfterPowerLoss(store, promises, lengths)
}

class BrokenPromise extends Error {}

function isKept(disk: SimulatedDisk, id: string, bytes: Buffer): boolean {
  const files = disk.namesIn(STORE).filter(name => name.startsWith(`${id}.jsonl`) || name.startsWith(`${id}.torn-`))
  return files.some(name => disk.contentOf(`${STORE}/${name}`)!.includes(bytes))
}

// --- internal ---

interface Store {
  readonly disk: SimulatedDisk
  readonly backend: SessionBackend
  readonly isWhole: boolean
  readonly findings: Findings
}

async function checkListing({ disk, backend }: Store, promises: Promises): Promise<void> {
  const listed = new Map<string, { error?: unknown }>()
  for await (const summary of backend.list()) listed.set(summary.id, summary)
  for (const id of promises.keys()) {
    const isThere = disk.contentOf(logOf(id)) !== undefined
    mustHold(listed.has(id) === isThere, `${id}: listed wrongly`)
  }
}

function mustHold(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BrokenPromise(message)
}

const logOf = (id: string) => `${STORE}/${id}.jsonl`

/** A first line that is torn is one that the test put there. */
function isSession(disk: SimulatedDisk, id: string, { kept }: Promised): boolean {
  const bytes = disk.contentOf(logOf(id))
  if (bytes === undefined) return false
  if (bytes.includes('"crc"')) return true
  mustHold(
    kept.some(each => each.equals(bytes)),
    `${id}: a header torn by the store`,
  )
  return false
}

const AFTERWARDS = [
  { type: 'turn/start', data: { turn: 900 } },
  { type: 'turn/end', data: { turn: 900, reason: { kind: 'completed' } } },
] as const

const afterwards = (seq: number) =>
  AFTERWARDS.map(({ type, data }, i) => ({ seq: seq + i, time: 1, type, data })) as SessionEvent[]

/** What opening for work has found, whichever way. */
interface Opened {
  /** Before anything was appended. */
  readonly length: number
  readonly damage: readonly Damage[]
  /** How many events the session has in the end; as many as before where it is read-only. */
  readonly end: number
  readonly isHoled: boolean
}

/** Gives how many events the session has in the end. */
async function checkStored(store: Store, id: string, promised: Promised): Promise<number> {
  const { disk, isWhole, findings } = store
  mustHold(promised.removal !== 'done', `${id}: removed, and there again`)
  const before = disk.contentOf(logOf(id))!
  const isLocked = isTornLock(disk, id)
  if (isLocked) findings.takeovers += 1
  const opened = await (isWhole ? openForWork : acquireForWork)(store, id, promised, isLocked)
  const { length, end, damage, isHoled } = opened
  mustHold(
    length >= promised.acknowledged,
    `${id}: ${promised.acknowledged} events were acknowledged, ${length} are there`,
  )
  mustHold(epochOf(disk, id) > promised.epoch, `${id}: epoch ${epochOf(disk, id)} after ${promised.epoch}`)
  mustHold(!disk.namesIn(STORE).some(name => name.startsWith(`${id}.tmp-`)), `${id}: temporary files are left`)
  if (isHoled) await checkMended(store, id, length)
  else checkFile(disk, id, before, promised, damage, length)
  return end
}

/** As the port is used: acquire, read, append. */
async function acquireForWork({ backend }: Store, id: string, promised: Promised, takeover: boolean): Promise<Opened> {
  const lease = await backend.acquire(id, { takeover })
  const { header, events, damage, length } = (await backend.read(id))!
  for (const event of events) mustBeSame(id, event, promised)
  const isHoled = damage.some(({ code }) => code === 'LOG_HOLE')
  if (!isHoled) {
    mustHold(events.length === length && events.every(({ seq }, i) => seq === i), `${id}: seqs that are not in order`)
    await backend.append(lease, header, afterwards(length))
  }
  await lease.release()
  const sound = events.findIndex(({ seq }, i) => seq !== i)
  return isHoled
    ? { length: sound, damage: [], end: sound, isHoled }
    : { length, damage: [...lease.damage!, ...damage], end: length + AFTERWARDS.length, isHoled }
}

/** As applications do: opened, repaired, written behind. */
async function openForWork({ backend }: Store, id: string, promised: Promised, takeover: boolean): Promise<Opened> {
  const seen = (await backend.read(id))!
  const { session, report, flush, close } = await openSession(backend, id, { takeover, now: () => 1, maxDelayMs: 1e9 })
  const length = session.length - report.repaired.length
  const stored = session.slice(0, length)
  for (const [i, event] of stored.entries()) {
    mustHold(event.seq === i, `${id}: event ${i} has the seq ${event.seq}`)
    mustBeSame(id, event, promised)
  }
  const isHoled = report.readOnly
  mustHold(!isHoled || seen.damage.some(({ code }) => code === 'LOG_HOLE'), `${id}: read-only without a hole`)
  if (!isHoled) {
    mustHold(
      JSON.stringify(report.repaired) === JSON.stringify(closeInterruptedTurn([...stored])),
      `${id}: closed wrongly`,
    )
    for (const { type, data } of AFTERWARDS) session.append(type, data as never)
    await flush()
  }
  await close()
  return { length, damage: report.damage, end: session.length, isHoled }
}

/** Byte for byte: header, records, and of what was there before everything, here or in a side file. */
function checkFile(
  disk: SimulatedDisk,
  id: string,
  before: Buffer,
  { events, base }: Promised,
  damage: readonly Damage[],
  length: number,
): void {
  const after = disk.contentOf(logOf(id))!
  const isGlued = damage.some(({ code }) => code === 'RECORD_GLUED')
  const tail = damage.find(({ kept }) => kept !== null)
  mustHold(
    damage.every(({ code, kept }) => kept !== null || code === 'RECORD_GLUED'),
    `${id}: a tail that was not kept`,
  )
  const cut = tail?.where.offset ?? before.length
  mustHold(after.subarray(0, cut).equals(before.subarray(0, cut)), `${id}: bytes before the cut have changed`)
  if (tail !== undefined) {
    const aside = disk.contentOf(`${STORE}/${tail.kept}`)
    mustHold(aside?.equals(before.subarray(cut)) ?? false, `${id}: ${before.length - cut} bytes were cut and not kept`)
  }
  // What lies between records that a newline is missing between stays; the events themselves were compared.
  if (isGlued) return
  const records = Buffer.concat(events.slice(base, length).map(recordOf))
  const start = after.indexOf(10) + 1
  mustHold(
    after.subarray(start, start + records.length).equals(records),
    `${id}: the records are not byte for byte those that were appended`,
  )
}

/** A hole behind everything that was acknowledged: the part before it goes on as another session. */
async function checkMended({ backend, findings }: Store, id: string, length: number): Promise<void> {
  findings.holes += 1
  const fork = await forkSession(backend, id, { id: `${id}-mended`, length })
  mustHold(!fork.report.readOnly, `${id}: a fork of its sound part is read-only`)
  await fork.close()
}

async function checkFree({ disk, backend }: Store, id: string, promised: Promised): Promise<number> {
  const { acknowledged, removal, header, events, epoch } = promised
  mustHold(acknowledged < 0 || removal !== 'none', `${id}: acknowledged, and not there`)
  const left = disk.namesIn(STORE).filter(name => name.startsWith(`${id}.`) && !/\.(lock|tmp-)/.test(name))
  if (removal === 'done') mustHold(left.length === 0, `${id}: removed, but there is ${left}`)
  const lease = await backend.acquire(id, isTornLock(disk, id) ? { takeover: true } : {})
  mustHold(lease.epoch > epoch, `${id}: epoch ${lease.epoch} after ${epoch}`)
  const { parent: _, ...own } = { ...header, id }
  const again = events[0]?.seq === 0 ? events.slice(0, 3) : []
  await backend.append(lease, own, again)
  await lease.release()
  return again.length
}

/** Whatever the check has appended and been promised is on the disk, and not only in its memory. */
async function checkAfterPowerLoss(
  { disk, isWhole }: Store,
  promises: Promises,
  lengths: ReadonlyMap<string, number>,
): Promise<void> {
  const image = new CrashPoint(disk, disk.changes.length).worst().image()
  for (const id of promises.keys()) {
    const bytes = disk.contentOf(logOf(id))
    const isSame = bytes === undefined || (image.get(logOf(id))?.data.equals(bytes) ?? false)
    mustHold(isSame, `${id}: the log is not what it was before a second loss of power`)
  }
  if (!isWhole && [...promises.values()].every(({ base }) => base === 0)) return
  const after = new SimulatedDisk(image)
  const backend = createJsonlBackend({ directory: STORE, fs: after.calls })
  for (const id of promises.keys()) {
    const log = await backend.read(id)
    if (log?.damage.some(({ code }) => code === 'LOG_HOLE')) continue
    mustHold(
      log !== undefined && log.length === lengths.get(id),
      `${id}: ${log?.length} events, not ${lengths.get(id)}`,
    )
    // Records that the first loss has glued together stay so, and are reported each time.
    const isGlued = log.damage.every(({ code }) => code === 'RECORD_GLUED')
    mustHold(isGlued, `${id}: damaged by a second loss of power`)
    await (await backend.acquire(id, { takeover: isTornLock(after, id) })).release()
  }
  mustHold(after.openFiles === 0, `${after.openFiles} descriptors are left open`)
}

function mustBeSame(id: string, event: SessionEvent, { events }: Promised): void {
  const wanted = events[event.seq]
  mustHold(
    wanted !== undefined && JSON.stringify(event) === textOf(wanted),
    `${id}: event ${event.seq} is not what was appended`,
  )
}

const textOf = remembered((event: SessionEvent) => JSON.stringify(event))
const recordOf = remembered((event: SessionEvent) => Buffer.from(lineOf(event)))

/** Events never change. */
function remembered<T>(make: (event: SessionEvent) => T): (event: SessionEvent) => T {
  const made = new WeakMap<SessionEvent, T>()
  return event => {
    const known = made.get(event)
    if (known !== undefined) return known
    const value = make(event)
    made.set(event, value)
    return value
  }
}

/** The highest lock is neither empty, nor of zeros, nor a whole one. */
function isTornLock(disk: SimulatedDisk, id: string): boolean {
  const bytes = disk.contentOf(`${STORE}/${id}.lock.${epochOf(disk, id)}`)
  if (bytes === undefined || bytes.every(byte => byte === 0)) return false
  try {
    return typeof JSON.parse(bytes.toString('utf8', 0, bytes.indexOf(10))).boot !== 'string'
  } catch {
    return true
  }
}

function epochOf(disk: SimulatedDisk, id: string): number {
  const start = `${id}.lock.`
  const epochs = disk
    .namesIn(STORE)
    .filter(name => name.startsWith(start))
    .map(name => Number(name.slice(start.length)))
  return Math.max(0, ...epochs)
}
