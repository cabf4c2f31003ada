import type { ModelRequest, Session, SessionEvent } from '@palimpsest/session'
import type { Agent, AgentStatus } from './agent.js'

/** What can be heard. The subject, a session or an agent, is always the last argument. */
export interface HostEventMap {
  'session/adopted': [session: Session]
  'session/event': [event: SessionEvent, session: Session]
  'session/disposed': [session: Session]
  'agent/created': [agent: Agent]
  'agent/status': [status: AgentStatus, agent: Agent]
  'agent/disposed': [agent: Agent]
  /** Once an attempt; `request` is the very object that the port gets, and equals `session.requestAt(length)`. */
  'model/request': [request: ModelRequest, at: { readonly session: Session; readonly length: number }, agent: Agent]
}

export type HostEvent = keyof HostEventMap & string

/** May return a promise; one that rejects is reported like a throw. */
export type HostListener<E extends HostEvent> = (...args: HostEventMap[E]) => unknown

// --- internal ---

export const HOST_EVENTS = Object.keys({
  'session/adopted': true,
  'session/event': true,
  'session/disposed': true,
  'agent/created': true,
  'agent/status': true,
  'agent/disposed': true,
  'model/request': true,
} satisfies Record<HostEvent, true>)
