import { isSurfaceType, Session, type SessionEvent, type SessionLandmarks } from '@palimpsest/session'
import {
  createMemoryBackend,
  type LazyLog,
  type Lease,
  type MemoryStore,
  type SessionBackend,
} from '@palimpsest/session-persistence'

/** What is wrong with a backend over memory. */
export type Breaking = (base: SessionBackend, store: MemoryStore) => Partial<SessionBackend>

/** The backend with some of its methods replaced. */
export function over(base: SessionBackend, changes: Partial<SessionBackend>): SessionBackend {
  return {
    supports: base.supports,
    acquire: (...args) => base.acquire(...args),
    append: (...args) => base.append(...args),
    read: (...args) => base.read(...args),
    fork: (...args) => base.fork(...args),
    list: () => base.list(),
    remove: id => base.remove(id),
    close: () => base.close(),
    ...(base.open !== undefined && { open: lease => base.open!(lease) }),
    ...changes,
  }
}

/** The memory backend with `open`, as a store with an index has it; notes in `loads` what is read later. */
export function lazyMemoryBackend(
  base = createMemoryBackend(),
  loads: [from: number, to: number][] = [],
): SessionBackend {
  return over(base, {
    supports: { lazyEvents: true },
    open: async lease => {
      const log = await base.read(lease.id)
      if (log === undefined) return undefined
      const { header, events, length } = log
      const load: LazyLog['load'] = (from, to) => {
        loads.push([from, to])
        return events.slice(from, to)
      }
      return { header, length, load, damage: [], ...landmarksOf(events) }
    },
  })
}

/** Appends stop in front of a gate until the test lets them through, one by one. */
export function gatedBackend(base = createMemoryBackend()) {
  const waiting: { batch: readonly SessionEvent[]; pass: () => void; fail: (cause: unknown) => void }[] = []
  const backend = over(base, {
    append: (lease, header, batch) =>
      new Promise((resolve, reject) => {
        const pass = () => base.append(lease, header, batch).then(resolve, reject)
        waiting.push({ batch, pass, fail: reject })
      }),
  })
  return { base, backend, waiting }
}

/** The n-th append (from 1) and all later ones fail, and how many were tried. */
export function failingBackend(n: number, cause: unknown, base = createMemoryBackend()) {
  const tried = { appends: 0 }
  const append: SessionBackend['append'] = async (...args) => {
    if (++tried.appends >= n) throw cause
    return base.append(...args)
  }
  return { base, backend: over(base, { append }), tried }
}

/** Lets everything run that waits for nothing but itself. */
export async function settle(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve))
}

/** `pending` until the promise is fulfilled or rejected. */
export function watch(promise: Promise<unknown>): { state: string } {
  const watched = { state: 'pending' }
  promise.then(
    () => Object.assign(watched, { state: 'fulfilled' }),
    () => Object.assign(watched, { state: 'rejected' }),
  )
  return watched
}

export async function isFree(backend: SessionBackend, id: string): Promise<boolean> {
  const lease: Lease | undefined = await backend.acquire(id).catch(() => undefined)
  await lease?.release()
  return lease !== undefined
}

// --- internal ---

function landmarksOf(events: readonly SessionEvent[]): { landmarks: SessionLandmarks; unknown: SessionEvent[] } {
  const all = Session.create({ seed: events, acceptUnknown: events.map(({ type }) => type) })
  const last = events.findLast(({ type }) => type === 'turn/start' || type === 'turn/end')
  const seqsOf = (wanted: string) => events.filter(({ type }) => type === wanted).map(({ seq }) => seq)
  const landmarks: SessionLandmarks = {
    markers: events.filter(({ surfaceOp }) => surfaceOp !== undefined) as never,
    surface: all.surface.seqs().map(seq => events[seq]!),
    headers: events.filter(event => event.type === 'request/header'),
    turns: seqsOf('turn/start'),
    steps: seqsOf('step/start'),
    open: last?.type === 'turn/start' ? events.slice(last.seq) : [],
  }
  const unknown = events.filter(
    ({ type, ignorable }) => !ignorable && !isSurfaceType(type) && type.startsWith('future/'),
  )
  return { landmarks, unknown }
}
