import type { Agent } from '@palimpsest/host'
import type { Session } from '@palimpsest/session'
import { AgentError } from './errors.js'

/**
 * `agent` drives the session until it is released: from the send that wakes it until nothing of it runs or waits. Two at
 * a time would mix their turns, and the one would close what the other has open. Throws `SESSION_BUSY`.
 */
export function claimSession(session: Session, agent: Agent): void {
  const driver = drivers.get(session)
  if (driver) {
    throw new AgentError(
      'SESSION_BUSY',
      `expected no other agent at work on session ${session.id}, found agent ${driver.id} in a turn; ` +
        'send to that one, or await its idle() or dispose() first',
    )
  }
  drivers.set(session, agent)
}

export function releaseSession(session: Session): void {
  drivers.delete(session)
}

// --- internal ---

/** By the session's object: who drives a stored session in another process is the lease's business. */
const drivers = new WeakMap<Session, Agent>()
