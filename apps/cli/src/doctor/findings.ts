import { foldSurface, type SurfaceMarker } from '@palimpsest/session'
import type { Damage, ScannedLog, SessionBackend } from '@palimpsest/session-persistence'
import { scanLog } from '../log-reader.js'
import { damageLine } from '../view/damage.js'
import { LogCheck } from './log-check.js'
import type { KeptSurface } from './relation-check.js'

/** One thing that is wrong with a stored session. */
export interface Finding {
  code: string
  message: string
  seq?: number
  damage?: Damage
  /** Of a broken relation its name, and all events that break it together. */
  relation?: string
  seqs?: readonly number[]
}

export interface Problems {
  /** How many events can be counted. */
  length: number
  findings: Finding[]
  /** Worth knowing, and nothing wrong. */
  notes: Finding[]
}

/**
 * All that is wrong with a session, in the order in which it matters. `storeFlag` is what the command to mend it needs.
 */
export async function findProblems(backend: SessionBackend, id: string, storeFlag: string): Promise<Problems> {
  // What a look reads is gone before the scan begins; only the seqs are kept.
  const check = new LogCheck({ id, storeFlag }, await keptSurface(backend, id))
  const log = await scanLog(backend, id, events => check.add(events))
  const damage = log.damage.map(each => ({
    code: each.code,
    message: damageMessage(each, log, `palimpsest doctor ${id} --fix${storeFlag}`),
    damage: each,
  }))
  const findings = [...damage, ...check.finish(log.length)]
  return { length: log.length, findings, notes: check.notes() }
}

// --- internal ---

/**
 * The surface as the store's index tells it; `undefined` where the store has none, or cannot open the log for what
 * is among the findings already.
 */
async function keptSurface(backend: SessionBackend, id: string): Promise<KeptSurface | undefined> {
  const log = await backend.look?.(id).catch(() => undefined)
  return log && { length: log.length, seqs: foldOf(log.landmarks.markers) }
}

/** Of markers that do not fold none is visible, which the log will contradict. */
function foldOf(markers: readonly SurfaceMarker[]): readonly number[] {
  try {
    return foldSurface(markers)
  } catch {
    return []
  }
}

function damageMessage(damage: Damage, { length, header }: ScannedLog, fix: string): string {
  const isMended =
    damage.code === 'LOG_HOLE' || (header === undefined && damage.code === 'HEADER_DAMAGED' && length > 0)
  const line = damageLine(damage)
  return isMended ? `${line}; ${fix} writes what can be read into a new session` : line
}
