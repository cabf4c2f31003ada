import { type CreateOptions as KernelOptions, Session } from '@palimpsest/session'
import { assertWriteBehind, type WriteBehindOptions } from './attachment.js'
import { PersistenceError } from './errors.js'
import { assertSessionId } from './id.js'
import { attach, type OpenSession, releaseOnFailure } from './open-session.js'
import type { Lease, SessionBackend } from './port.js'

export interface CreateOptions extends KernelOptions, WriteBehindOptions {}

/**
 * Makes a new session that is stored, with its seed, when this resolves. `SESSION_EXISTS` where the id
 * is taken, whoever holds it; any failure frees the lease.
 */
export async function createSession(backend: SessionBackend, options: CreateOptions = {}): Promise<OpenSession> {
  const { maxDelayMs, maxBatch, ...kernelOptions } = options
  assertWriteBehind(options)
  if (options.id !== undefined) assertSessionId(options.id)
  const session = Session.create(kernelOptions)
  const lease = await acquireNew(backend, session.id)
  return releaseOnFailure(lease, async () => {
    await backend.append(lease, session.header, session.slice())
    const report = { damage: [...(lease.damage ?? [])], repaired: [], readOnly: false }
    return attach(backend, lease, session, report, options)
  })
}

/** The lease of an id under which nothing is stored. */
export async function acquireNew(backend: SessionBackend, id: string): Promise<Lease> {
  assertSessionId(id)
  // An id that is taken is refused as such, not as locked, and gets no lock of ours.
  await assertFree(backend, id)
  const lease = await backend.acquire(id)
  // Nobody had an id of epoch 1 before, so nobody can have stored it since we looked.
  if (lease.epoch > 1) await releaseOnFailure(lease, () => assertFree(backend, id))
  return lease
}

// --- internal ---

async function assertFree(backend: SessionBackend, id: string): Promise<void> {
  if ((await isStored(backend, id)) === false) return
  throw new PersistenceError('SESSION_EXISTS', `session "${id}" is already stored; open it, or choose another id`)
}

/** A damaged header is the backend's to judge when it writes: bytes that never became a session are moved aside. */
async function isStored(backend: SessionBackend, id: string): Promise<boolean> {
  try {
    return (await backend.read(id, { from: 0, to: 0 })) !== undefined
  } catch (error) {
    if (error instanceof PersistenceError && error.code === 'HEADER_DAMAGED') return false
    throw error
  }
}
