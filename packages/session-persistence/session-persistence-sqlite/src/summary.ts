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
  const { isStateSound, header: text } = row
  const { length, bytes, updatedAt, title } = row.state
  const summary: SessionSummary = { id: String(row.id) }
  if (isStateSound) summary.bytes = bytes + String(text).length
  try {
    summary.header = headerOf(row, summary.id)
  } catch (error) {
    return { ...summary, id: nameOf(row), ...whyUnreadable(row, error) }
  }
  if (!isStateSound) return { ...summary, damage: [damage('RECORD_DAMAGED')] }
  summary.length = length
  summary.updatedAt = updatedAt
  if (title !== null) summary.title = title
  return summary
}

// --- internal ---

function whyUnreadable({ header }: SessionRow, error: unknown): Partial<SessionSummary> {
  const code = error instanceof PersistenceError ? error.code : 'HEADER_DAMAGED'
  const message = error instanceof Error ? error.message : String(error)
  if (code === 'HEADER_DAMAGED') return { damage: [damage(code)], error: { code, message } }
  return { header: JSON.parse(header) as SessionHeader, error: { code, message } }
}

/** As the header has it, which has a checksum; the column, or its index, has none. */
function nameOf({ id, header, isHeaderSound }: SessionRow): string {
  return isHeaderSound ? (JSON.parse(header) as SessionHeader).id : String(id)
}

function damage(code: 'RECORD_DAMAGED' | 'HEADER_DAMAGED') {
  return { code, where: {}, bytes: 0, kept: null }
}
