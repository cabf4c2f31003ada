import { closeInterruptedTurn, type SessionEvent } from '@palimpsest/session'
import { type Damage, openSession, type SessionBackend } from '@palimpsest/session-persistence'
import type { SampleLog } from './random-logs.js'

/** What a store should hold. */
export interface Expected {
  readonly logs: ReadonlyMap<string, SampleLog>
  /** By id: how many events each session has; who is not named here is not there. */
  readonly lengths: ReadonlyMap<string, number>
  /** Nothing may be missing, reported or refused. */
  readonly isExact: boolean
  /** Who is opened for work, once everything was read. */
  readonly worker: string
}

/**
 * What is wrong with what a store says of itself; `undefined` where each session is right, or what is lost is
 * reported at its place, or refused with a code.
 */
export async function findUntruth(backend: SessionBackend, expected: Expected): Promise<string | undefined> {
  const ids = [...expected.logs.keys()]
  const wrong = (await judgeListing(backend, expected)) ?? (await judgeReads(backend, ids, expected))
  if (wrong !== undefined || !expected.lengths.has(expected.worker)) return wrong
  const { untruth, added } = await work(backend, expected)
  if (untruth !== undefined) return `opened, ${expected.worker}: ${untruth}`
  const after = await judgeReads(backend, ids.slice(-2).concat(expected.worker), withAdded(expected, added))
  return after && `after work on ${expected.worker}: ${after}`
}

/** An error that the API names; never one of SQLite, of the file system, or of the language. */
export function isCoded(error: unknown): boolean {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return typeof code === 'string' && (name === 'PersistenceError' || name === 'SessionError')
}

// --- internal ---

async function judgeListing(backend: SessionBackend, { lengths, isExact }: Expected): Promise<string | undefined> {
  const listed = new Map<string, { length?: number; isBad: boolean }>()
  try {
    for await (const { id, length, error, damage } of backend.list()) {
      listed.set(id, { ...(length !== undefined && { length }), isBad: (error ?? damage) !== undefined })
    }
  } catch (error) {
    return `the listing: ${told(error)}`
  }
  for (const [id, length] of lengths) {
    const found = listed.get(id)
    if (found === undefined) return `the listing: ${id} is left out`
    if (found.isBad ? isExact : found.length !== length) return `the listing: ${id} is ${JSON.stringify(found)}`
  }
  const strange = [...listed].find(([id, { isBad }]) => !lengths.has(id) && (isExact || !isBad))
  return strange && `the listing: there is no ${strange[0]}`
}

async function judgeReads(backend: SessionBackend, ids: readonly string[], expected: Expected) {
  for (const id of ids) {
    const wrong = await judgeRead(backend, id, expected)
    if (wrong !== undefined) return `read, ${id}: ${wrong}`
  }
  return undefined
}

async function judgeRead(backend: SessionBackend, id: string, { logs, lengths, isExact }: Expected) {
  const { value, error } = await attempt(() => backend.read(id))
  if (error !== undefined) return isCoded(error) && !isExact ? undefined : told(error)
  const length = lengths.get(id)
  if (value === undefined) return length === undefined ? undefined : 'gone without a word'
  if (length === undefined) return 'back again'
  const { header, events } = logs.get(id)!
  if (value.header.id !== id || value.header.createdAt !== header.createdAt) return 'another header'
  const missing = judgeEvents(value.events, events, length) ?? account(value.events, length, value.damage)
  return missing ?? (isExact && value.damage.length > 0 ? `damage ${JSON.stringify(value.damage)}` : undefined)
}

function judgeEvents(found: readonly SessionEvent[], written: readonly SessionEvent[], length: number) {
  const strange = found.find(event => JSON.stringify(event) !== JSON.stringify(written[event.seq]))
  if (strange !== undefined) return `event ${strange.seq} is another one`
  return found.length > length ? `${found.length} events instead of ${length}` : undefined
}

/** Every stretch that is missing is reported by the seq at which it begins. */
function account(found: readonly SessionEvent[], length: number, damage: readonly Damage[]): string | undefined {
  const reported = (code: string, seq: number) => damage.some(entry => entry.code === code && entry.where.seq === seq)
  let next = 0
  for (const { seq } of found) {
    if (seq < next) return `event ${seq} is there twice`
    if (seq > next && !reported('LOG_HOLE', next)) return `events ${next} to ${seq - 1} are missing, unreported`
    next = seq + 1
  }
  if (next >= length || reported('RECORD_DAMAGED', next)) return undefined
  return `events from ${next} on are missing, unreported: ${JSON.stringify(damage)}`
}

interface Work {
  readonly untruth?: string | undefined
  /** What the session holds now. */
  readonly added?: readonly SessionEvent[]
}

/** Opens the session, looks at all of it, and appends. */
async function work(backend: SessionBackend, { logs, lengths, isExact, worker }: Expected): Promise<Work> {
  const stored = logs.get(worker)!.events.slice(0, lengths.get(worker))
  /** Damage may show only behind the closing of the turn, which is stored then. */
  const closed = stored.concat(closeInterruptedTurn(stored))
  const perhapsClosed = async (): Promise<Work> => {
    const found = await attempt(() => backend.read(worker))
    return (found.value?.length ?? 0) > stored.length ? { added: closed } : {}
  }
  const opening = await attempt(() => openSession(backend, worker, { takeover: true }))
  if (opening.error !== undefined) {
    return !isCoded(opening.error) || isExact ? { untruth: told(opening.error) } : perhapsClosed()
  }
  const { session, report, flush, close } = opening.value!
  const sound = report.repaired[0]?.seq ?? session.length
  const reading = await attempt(async () => [...session.slice(0, session.length)])
  if (reading.error !== undefined) {
    await attempt(close)
    if (!isCoded(reading.error) || isExact) return { untruth: told(reading.error) }
    // What is damaged lies between the landmarks, so the turn was closed behind it.
    return { added: [...stored, ...report.repaired] }
  }
  const untruth =
    (report.readOnly
      ? judgeEvents(reading.value!, closed, closed.length)
      : judgeEvents(reading.value!.slice(0, sound), stored, stored.length)) ??
    (sound < stored.length && report.damage.length === 0 ? 'events are missing, unreported' : undefined)
  if (untruth !== undefined || report.readOnly) {
    await attempt(close)
    return untruth === undefined ? perhapsClosed() : { untruth }
  }
  session.append('turn/start', { turn: 1 + reading.value!.filter(({ type }) => type === 'turn/start').length })
  const all = [...reading.value!, session.at(session.length - 1)!]
  const { error } = await attempt(flush)
  const closing = await attempt(close)
  if (error === undefined)
    return closing.error === undefined || isCoded(closing.error) ? { added: all } : { untruth: told(closing.error) }
  // Pages that no reading touches may be bad as well: whoever writes there must say so, and nothing else.
  if (!isCoded(error) || isExact) return { untruth: `append: ${told(error)}` }
  return { added: reading.value! }
}

function withAdded(expected: Expected, added: readonly SessionEvent[] | undefined): Expected {
  if (added === undefined) return expected
  const { worker } = expected
  const log = { ...expected.logs.get(worker)!, events: added }
  return {
    ...expected,
    logs: new Map(expected.logs).set(worker, log),
    lengths: new Map(expected.lengths).set(worker, added.length),
  }
}

async function attempt<T>(act: () => Promise<T>): Promise<{ value?: T; error?: unknown }> {
  try {
    return { value: await act() }
  } catch (error) {
    return { error }
  }
}

function told(error: unknown): string {
  return error instanceof Error ? `${(error as { code?: string }).code} ${error.stack}` : String(error)
}
