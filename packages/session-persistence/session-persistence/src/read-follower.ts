import type { SessionEvent } from '@palimpsest/session'
import type { Follower, SessionBackend, StoredLog } from './port.js'
import { eventUnreadable, sessionRemoved } from './watch-errors.js'

/** Follows a store through `read` alone: a page at a time, and nothing tells it that something is new. */
export function followThroughRead(backend: SessionBackend, id: string, { header }: StoredLog, from: number): Follower {
  const born = JSON.stringify(header)
  let seq = from
  return {
    async next() {
      const log = await backend.read(id, { from: seq, to: seq + PAGE_EVENTS })
      if (log === undefined || JSON.stringify(log.header) !== born) throw sessionRemoved(id)
      if (log.length < seq && seq > from) throw eventUnreadable(id, log.length, 'it was there before and is no longer')
      const events = soundPage(log.events, seq)
      if (events.length === 0 && log.length > seq)
        throw eventUnreadable(id, seq, `the log goes on to ${log.length} behind it`)
      seq += events.length
      return events
    },
    changed: signal => aborted(signal),
    close() {},
  }
}

// --- internal ---

/** What one read brings into memory. */
const PAGE_EVENTS = 500

/** The events from `seq` on without a gap. */
function soundPage(events: SessionEvent[], seq: number): SessionEvent[] {
  const jump = events.findIndex((event, index) => event.seq !== seq + index)
  return jump === -1 ? events : events.slice(0, jump)
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
