import type { Session } from '@palimpsest/session'
import type { Damage, OpenSession } from '@palimpsest/session-persistence'
import type { Context } from './context.js'
import { escapeLine } from './escape.js'
import { EXIT } from './exit-codes.js'
import { CommandError } from './failure.js'
import { damageLine } from './view/damage.js'
import { eventLine } from './view/event.js'
import { counted } from './view/figures.js'
import { interruptionText } from './view/interruption.js'

/** Says what opening a session for work found and mended; refuses one that cannot go on, with the ways that there are. */
export async function reportOpening({ session, report }: OpenSession, { out, storeFlag }: Context): Promise<void> {
  for (const damage of report.damage) out.note(`${session.id}: ${damageLine(damage)}`)
  if (report.readOnly) throw readOnly(session, report.damage, storeFlag)
  if (report.repaired.length > 0) {
    const events = counted(report.repaired.length, 'event')
    out.line(out.colors.yellow(`The last turn was interrupted; it was closed with ${events}:`))
    for (const event of report.repaired) {
      if (event.type === 'tool/result') out.line(`  ${eventLine(event, out.colors)}`)
    }
  }
  const { findInterruptedCompaction } = await import('@palimpsest/history')
  const compaction = findInterruptedCompaction(session)
  if (compaction !== undefined)
    out.note(`${session.id}: ${interruptionText(compaction, { id: session.id, storeFlag })}`)
}

// --- internal ---

function readOnly({ id, length }: Session, damage: readonly Damage[], storeFlag: string): CommandError {
  const name = escapeLine(id)
  const isMended = damage.some(({ code, where }) => code === 'LOG_HOLE' || where.seq === length)
  const first = isMended
    ? `doctor ${name} --fix${storeFlag} writes what can be read into a new session`
    : `doctor ${name}${storeFlag} says why`
  return new CommandError(
    'SESSION_READ_ONLY',
    `expected a session that can go on, found one that can be read only up to event ${length}; ` +
      `palimpsest ${first}, palimpsest fork ${name} --at ${length}${storeFlag} goes on from there`,
    EXIT.failure,
  )
}
