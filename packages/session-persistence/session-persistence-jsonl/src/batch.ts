import type { SessionEvent } from '@palimpsest/session'
import type { Directory } from './directory.js'
import type { ScannedRecord } from './scan.js'

/** Puts the lines of a batch into `directory.scratch`, the first one at `offset`. */
export function encodeBatch({ scratch }: Directory, offset: number, events: readonly SessionEvent[]): ScannedRecord[] {
  const shift = offset - scratch.length
  const records: ScannedRecord[] = []
  for (const event of events) {
    const start = scratch.length
    const crc = scratch.add(event)
    records.push({ event, offset: shift + start, bytes: scratch.length - start, crc })
  }
  return records
}
