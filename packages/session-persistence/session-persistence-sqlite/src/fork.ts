import type { SessionHeader } from '@palimpsest/session'
import { PersistenceError } from '@palimpsest/session-persistence'
import { assertOwned, emptyState } from './append.js'
import { type Chain, mismatch, notFound, type Part } from './chain.js'
import type { Handle } from './handle.js'
import { countLandmarks } from './landmarks.js'
import type { SqliteLease } from './lease.js'
import { findLog, SMALL_LOG } from './read.js'
import { crcOfEvent, crcText } from './record.js'
import { reportLost, scanLog } from './scan.js'
import { findSession, insertSession } from './session-row.js'

/** Makes the session of `lease` refer to the first `length` events of `header.parent.id`. Within a transaction. */
export function forkLog(db: Handle, lease: SqliteLease, header: SessionHeader, length: number): void {
  assertOwned(db, lease)
  if (findSession(db, lease.id) !== undefined) {
    throw new PersistenceError('SESSION_EXISTS', `session "${lease.id}" is already stored; fork into another id`)
  }
  const parentId = header.parent?.id ?? ''
  const parent = findLog(db, parentId)
  if (parent === undefined) throw notFound(parentId)
  const { chain } = parent
  const available = soundLength(db, chain, parent.length, length)
  if (length > available) {
    throw new RangeError(
      `length: expected at most ${available}, the sound stored events of "${parentId}", found ${length}`,
    )
  }
  if (length === 0) {
    insertSession(db, { ...header, parent: { id: parentId, length } }, { parent: null, base: 0 }, emptyState(header))
    return
  }
  const last = scanLog(db, chain.parts, length - 1, length).events[0]!
  const crc = crcText(crcOfEvent(last))
  if (header.parent?.crc !== undefined && header.parent.crc !== crc)
    throw mismatch(header, `crc ${crc} on event ${length - 1}`)
  const { titleSeq, title } = titleBelow(chain, length)
  insertSession(
    db,
    { ...header, parent: { id: parentId, length, crc } },
    { parent: ownerOf(chain.parts, length - 1), base: length },
    {
      ...emptyState(header),
      length,
      landmarks: countLandmarks(db, chain.parts, length),
      packed: length,
      titleSeq,
      title,
    },
  )
}

// --- internal ---

/** Of a small log every event is looked at; of a large one the last shared one. */
function soundLength(db: Handle, { parts }: Chain, length: number, wanted: number): number {
  if (wanted === 0 || wanted > length) return length
  const from = length <= SMALL_LOG ? 0 : wanted - 1
  const scan = scanLog(db, parts, from, wanted)
  reportLost(scan, wanted)
  return scan.lostFrom === undefined ? length : scan.lostFrom
}

/** The key under which an event lies: its session's own, or that of one further down. */
function ownerOf(parts: readonly Part[], seq: number): number {
  return parts.find(({ from, to }) => seq >= from && seq < to)!.key
}

function titleBelow({ row }: Chain, length: number) {
  const { titleSeq, title } = row.state
  return titleSeq !== null && titleSeq < length ? { titleSeq, title } : { titleSeq: null, title: null }
}
