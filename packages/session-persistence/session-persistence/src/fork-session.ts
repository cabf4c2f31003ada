import { Session, type SessionHeader } from '@palimpsest/session'
import { assertWriteBehind } from './attachment.js'
import { acquireNew } from './create-session.js'
import { assertSessionId } from './id.js'
import { type OpenSession, type ResumeOptions, readHead, releaseOnFailure, resume, soundPart } from './open-session.js'
import type { SessionBackend } from './port.js'

export interface ForkOptions extends ResumeOptions {
  /** How many of the parent's stored events the child shares; default: all before its first hole. */
  length?: number
  /** The child's id; default: a new one. */
  id?: string
}

/**
 * Makes a new session that shares a prefix of what is *durable* of another one, which may be open, in
 * mid-turn, or another process's: it is only read. A turn that is open at the boundary is closed in
 * the child, as recovery closes it. The child outlives its parent's removal.
 *
 * `RangeError` for a `length` that the parent does not have.
 */
export async function forkSession(
  backend: SessionBackend,
  id: string,
  options: ForkOptions = {},
): Promise<OpenSession> {
  assertWriteBehind(options)
  if (options.id !== undefined) assertSessionId(options.id)
  const parent = await readHead(backend, id)
  const isWhole = parent.damage.length === 0
  const available = isWhole ? parent.length : soundPart((await backend.read(id))?.events ?? []).length
  const length = options.length ?? available
  if (!Number.isInteger(length) || length < 0 || length > available) {
    throw new RangeError(
      `length: expected a whole number from 0 to ${available}, the sound stored events of "${id}", found ${length}`,
    )
  }
  const header = childHeader(parent.header, length, options)
  const lease = await acquireNew(backend, header.id)
  return releaseOnFailure(lease, async () => {
    await backend.fork(lease, header, length)
    return resume(backend, lease, options)
  })
}

// --- internal ---

function childHeader(parent: SessionHeader, length: number, { id, now }: ForkOptions): SessionHeader {
  const header = { ...(parent.cwd !== undefined && { cwd: parent.cwd }), parent: { id: parent.id, length } }
  return Session.create({ ...(id !== undefined && { id }), ...(now !== undefined && { now }), header }).header
}
