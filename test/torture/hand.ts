import type { Session } from '@palimpsest/session'
import {
  createSession,
  forkSession,
  type Lease,
  type OpenSession,
  openSession,
  type SessionBackend,
} from '@palimpsest/session-persistence'
import type { Acknowledged } from './said.js'
import { digestOf, STAMP } from './turns.js'

/** A session open for work, each of whose events is stamped with the epoch of its lease. */
export interface Hand extends OpenSession {
  readonly epoch: number
  /** Flushes, and gives what is acknowledged by that. */
  acknowledge(): Promise<Acknowledged>
}

export function createByHand(backend: SessionBackend, id: string): Promise<Hand> {
  return take(backend, (noted, options) => createSession(noted, { ...options, id }))
}

export function openByHand(backend: SessionBackend, id: string, takeover = false): Promise<Hand> {
  return take(backend, (noted, options) => openSession(noted, id, { ...options, ...(takeover && { takeover }) }))
}

export function forkByHand(backend: SessionBackend, parent: string, id: string, length: number): Promise<Hand> {
  return take(backend, (noted, options) => forkSession(noted, parent, { ...options, id, length }))
}

// --- internal ---

interface HandOptions {
  now: () => number
  maxDelayMs: number
}

async function take(
  backend: SessionBackend,
  open: (noted: SessionBackend, options: HandOptions) => Promise<OpenSession>,
): Promise<Hand> {
  let epoch = 0
  let session: Session | undefined
  const noted = noting(backend, lease => {
    epoch = lease.epoch
  })
  const now = () => epoch * STAMP + (session?.length ?? 0)
  // Whoever opens says when it is written; the clock has no part in it.
  const opened = await open(noted, { now, maxDelayMs: Number.POSITIVE_INFINITY })
  session = opened.session
  let durable = 0
  const acknowledge = async () => {
    const [from, to] = [durable, opened.session.length]
    await opened.flush()
    durable = to
    return { id: opened.session.id, from, to, digest: digestOf(opened.session.slice(from, to)), epoch }
  }
  return { ...opened, epoch, acknowledge }
}

/** The backend, with somebody listening to which leases it gives. */
function noting(backend: SessionBackend, note: (lease: Lease) => void): SessionBackend {
  const acquire: SessionBackend['acquire'] = async (...args) => {
    const lease = await backend.acquire(...args)
    note(lease)
    return lease
  }
  return new Proxy(backend, {
    get(target, name) {
      if (name === 'acquire') return acquire
      const member = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}
