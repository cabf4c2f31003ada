import type { Session } from '@palimpsest/session'
import { CommandError } from './failure.js'

export function unknownSeq(session: Session, seq: number): CommandError {
  const found = session.length === 0 ? 'an empty log' : `seqs 0 to ${session.length - 1}`
  return new CommandError(
    'EVENT_UNKNOWN',
    `expected the seq of an event that can be read, found ${seq} in a log with ${found}`,
  )
}
