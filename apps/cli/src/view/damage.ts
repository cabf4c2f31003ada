import type { Damage } from '@palimpsest/session-persistence'
import { escapeLine } from '../escape.js'
import { counted } from './figures.js'

/** `LOG_HOLE at line 7, offset 812, seq 5: 120 bytes, left in place`. */
export function damageLine(damage: Damage): string {
  const where = Object.entries(damage.where).map(([name, value]) => `${name} ${value}`)
  const kept = damage.kept === null ? 'left in place' : `kept in ${escapeLine(damage.kept)}`
  const acknowledged = damage.mayHaveBeenAcknowledged ? '; it may have been acknowledged' : ''
  return `${damage.code} at ${where.join(', ') || 'an unknown place'}: ${counted(damage.bytes, 'byte')}, ${kept}${acknowledged}`
}
