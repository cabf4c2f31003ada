import { closeInterruptedTurn, type SessionEvent } from '@palimpsest/session'
import type { Damage, StoredLog } from '@palimpsest/session-persistence'
import { describeFailure } from '../failure.js'
import { foldStored, unknownTypes } from '../stored-session.js'
import { damageLine } from '../view/damage.js'
import { findUnpaired } from './pairs.js'

/** One thing that is wrong with a stored session. */
export interface Finding {
  code: string
  message: string
  seq?: number
  damage?: Damage
}

/** All that is wrong with what was read, in the order in which it matters. Pure. */
export function findProblems(id: string, log: StoredLog): Finding[] {
  const damage = log.damage.map(each => ({ code: each.code, message: damageMessage(id, each), damage: each }))
  const { prefix, faults } = foldPrefix(id, log)
  const unknown = findUnknown(prefix)
  // What resume cannot open it cannot close, and the end of the turn may be in the hole or behind it.
  const openTurn = prefix.length < log.length || unknown.length > 0 ? [] : findOpenTurn(prefix)
  return [...damage, ...faults, ...unknown, ...findUnpaired(prefix), ...openTurn]
}

// --- internal ---

function damageMessage(id: string, damage: Damage): string {
  const line = damageLine(damage)
  return damage.code === 'LOG_HOLE'
    ? `${line}; palimpsest doctor ${id} --fix writes what can be read into a new session`
    : line
}

/** The kernel's own checks: seqs, surface operations, provenance. Behind a hole nothing can be said. */
function foldPrefix(id: string, log: StoredLog): { prefix: readonly SessionEvent[]; faults: Finding[] } {
  try {
    return { prefix: foldStored(id, log).session.events, faults: [] }
  } catch (error) {
    const { code, message } = describeFailure(error)
    return { prefix: [], faults: [{ code, message }] }
  }
}

function findUnknown(events: readonly SessionEvent[]): Finding[] {
  return unknownTypes(events).map(type => ({
    code: 'UNKNOWN_EVENT_TYPE',
    message: `events of type ${JSON.stringify(type)} are unknown to this build and not ignorable: it opens read-only before the first`,
    seq: events.find(event => event.type === type && event.ignorable !== true)!.seq,
  }))
}

function findOpenTurn(events: readonly SessionEvent[]): Finding[] {
  if (closeInterruptedTurn(events).length === 0) return []
  const start = events.findLast(event => event.type === 'turn/start')!
  const { turn } = start.data as { turn: number }
  const message = `turn ${turn} is open: it runs now, or was interrupted; palimpsest resume closes it with the truth`
  return [{ code: 'TURN_OPEN', message, seq: start.seq }]
}
