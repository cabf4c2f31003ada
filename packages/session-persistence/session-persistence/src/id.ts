import { PersistenceError } from './errors.js'

const ID = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,119}$/
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])$/i

/**
 * Refuses (`SESSION_ID_INVALID`) an id that is not safe as a file name on every system. Every backend
 * calls this before it touches its store.
 */
export function assertSessionId(id: string): void {
  if (typeof id === 'string' && ID.test(id) && !WINDOWS_DEVICE.test(id)) return
  throw new PersistenceError(
    'SESSION_ID_INVALID',
    `expected 1 to 120 of the characters A-Z a-z 0-9 _ - that do not begin with "-" and are no Windows device name, found ${shown(id)}; choose another id`,
  )
}

// --- internal ---

function shown(id: unknown): string {
  const text = typeof id === 'string' ? JSON.stringify(id) : typeof id
  return text.length > 60 ? `${text.slice(0, 60)}… (${text.length} characters)` : text
}
