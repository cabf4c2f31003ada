import { isSurfaceType } from './event-types.js'
import type { SessionEvent } from './events.js'

/**
 * The explicit upgrade of an unmarked log from elsewhere: every surface event without a `surfaceOp`
 * gets `'append'`. Events that carry one already stay as they are. The result goes in as a seed.
 */
export function markSurface(events: readonly SessionEvent[]): SessionEvent[] {
  return events.map(event =>
    isSurfaceType(event.type) && event.surfaceOp === undefined
      ? ({ ...event, surfaceOp: 'append' } as SessionEvent)
      : event,
  )
}
