import type { SessionHeader } from '@palimpsest/session'
import { PersistenceError, type SessionSummary } from '@palimpsest/session-persistence'
import { headerOf } from './chain.js'
import type { SessionRow } from './session-row.js'

/** A session as a listing shows it, from its row alone; of a row that cannot be read there is the id. Never throws. */
export function summaryOf(row: SessionRow | string): SessionSummary {
  if (typeof row === 'string') {
    const message = `session "${row}": its row lies on a bad page of the database; keep a copy of the file`
    return { id: row, damage: [damage('HEADER_DAMAGED')], error: { code: 'HEADER_DAMAGED', message } }
  }
  const id = nameOf(row)
  const { length, bytes, updatedAt, title } = row.state
  const summary: SessionSummary = { id, ...(row.isStateSound && { bytes: bytes + String(row.header).length }) }
  try {
    const header = headerOf(row, id)
    if (!row.isStateSound) return { ...summary, header, damage: [damage('RECORD_DAMAGED')] }
    return { ...summary, header, length, updatedAt, ...(title !== null && { title }) }
  } catch (error) {
    const code = error instanceof PersistenceError ? error.code : 'HEADER_DAMAGED'
    const message = error instanceof Error ? error.message : String(error)
    if (code !== 'HEADER_DAMAGED')
      return { ...summary, header: JSON.parse(row.header) as SessionHeader, error: { code, message } }
    return { ...summary, damage: [damage('HEADER_DAMAGED')], error: { code, message } }
  }
}

// --- internal ---

/** As the header has it, which has a checksum; the column, or its index, has none. */
function nameOf({ id, header, isHeaderSound }: SessionRow): string {
  return isHeaderSound ? (JSON.parse(header) as SessionHeader).id : String(id)
}

function damage(code: 'RECORD_DAMAGED' | 'HEADER_DAMAGED') {
  return { code, where: {}, bytes: 0, kept: null }
}
