import type { Damage, ScannedLog, SessionBackend } from '@palimpsest/session-persistence'
import { scanLog } from '../log-reader.js'
import { damageLine } from '../view/damage.js'
import { LogCheck } from './log-check.js'

/** One thing that is wrong with a stored session. */
export interface Finding {
  code: string
  message: string
  seq?: number
  damage?: Damage
}

/**
 * All that is wrong with a session, in the order in which it matters, and how many events can be counted.
 * `storeFlag` is what the command to mend it needs.
 */
export async function findProblems(
  backend: SessionBackend,
  id: string,
  storeFlag: string,
): Promise<{ length: number; findings: Finding[] }> {
  const check = new LogCheck()
  const log = await scanLog(backend, id, events => check.add(events))
  const damage = log.damage.map(each => ({
    code: each.code,
    message: damageMessage(each, log, `palimpsest doctor ${id} --fix${storeFlag}`),
    damage: each,
  }))
  return { length: log.length, findings: [...damage, ...check.finish(log.length)] }
}

// --- internal ---

function damageMessage(damage: Damage, { length, header }: ScannedLog, fix: string): string {
  const isMended =
    damage.code === 'LOG_HOLE' || (header === undefined && damage.code === 'HEADER_DAMAGED' && length > 0)
  const line = damageLine(damage)
  return isMended ? `${line}; ${fix} writes what can be read into a new session` : line
}
