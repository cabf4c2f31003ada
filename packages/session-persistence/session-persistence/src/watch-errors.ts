import { SessionError } from '@palimpsest/session'
import { PersistenceError } from './errors.js'

/** What ends a watch once its session is gone, or another one stands under its id. */
export function sessionRemoved(id: string): PersistenceError {
  return new PersistenceError(
    'SESSION_NOT_FOUND',
    `session "${id}" was removed while it was watched; list() names what there is`,
  )
}

/** What ends a watch at an event that cannot be given. `why` says what was found in its place. */
export function eventUnreadable(id: string, seq: number, why: string): SessionError {
  return new SessionError(
    'HISTORY_UNREADABLE',
    `event ${seq} of session "${id}" cannot be read: ${why}; check the session with doctor`,
  )
}
