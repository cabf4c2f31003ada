import type { SessionEvent, SessionHeader } from '@palimpsest/session'
import { assertFormatVersion, assertHeaderId, PersistenceError } from '@palimpsest/session-persistence'
import { encodeBatch } from './batch.js'
import type { Chain } from './chain.js'
import { isCheckpointDue, writeCheckpoint } from './checkpoint.js'
import { createLog } from './create.js'
import { writeAll } from './disk.js'
import type { JsonlLease } from './lease.js'
import { writeFailed } from './write-failed.js'

/** Writes a batch behind the log, or the log itself with its first batch. Durable when resolved. */
export async function appendEvents(
  lease: JsonlLease,
  header: SessionHeader,
  events: readonly SessionEvent[],
): Promise<void> {
  assertFormatVersion(header)
  assertHeaderId(header, lease.id)
  const { chain } = lease
  if (chain?.isHoled) throw readOnly(lease.id, chain.soundLength)
  assertNext(lease.id, chain?.own.current.to ?? 0, events)
  if (chain === undefined) return createLog(lease, withoutCrc(header), events)
  if (events.length > 0) await appendBatch(lease, chain, events)
}

// --- internal ---

async function appendBatch(lease: JsonlLease, { own }: Chain, events: readonly SessionEvent[]): Promise<void> {
  const { directory } = lease.lock
  const { disk, fd } = own.file
  const { end } = own.current
  directory.scratch.reset()
  if (!own.isTerminated) directory.scratch.newline()
  const records = encodeBatch(directory, end + directory.scratch.length, events)
  try {
    writeAll(disk, fd, directory.scratch.bytes)
  } catch (cause) {
    cutBack(lease, fd, end)
    throw lease.fail(writeFailed(lease.id, cause))
  }
  try {
    await directory.syncFile(fd)
  } catch (cause) {
    lease.noteUnsynced(end)
    throw lease.fail(writeFailed(lease.id, cause))
  }
  lease.assertCurrent()
  own.isTerminated = true
  for (const record of records) own.current.add(record)
  if (isCheckpointDue(own)) writeCheckpoint(directory, own)
}

function assertNext(id: string, length: number, events: readonly SessionEvent[]): void {
  for (let i = 0; i < events.length; i++) {
    if (events[i]!.seq === length + i) continue
    throw new PersistenceError(
      'APPEND_CONFLICT',
      `session "${id}" has ${length} stored events: expected seq ${length + i} at this place of the batch, found ${events[i]!.seq}; open the session again`,
    )
  }
}

/** Takes half a batch off again, so that the log ends with what was acknowledged. */
function cutBack(lease: JsonlLease, fd: number, end: number): void {
  try {
    lease.lock.directory.disk.ftruncateSync(fd, end)
  } catch {
    lease.noteUnsynced(end)
  }
}

/** A crc in `parent` says that the prefix lies in a base; only a fork may say so. */
function withoutCrc(header: SessionHeader): SessionHeader {
  if (header.parent?.crc === undefined) return header
  const { id, length } = header.parent
  return { ...header, parent: { id, length } }
}

function readOnly(id: string, seq: number): PersistenceError {
  return new PersistenceError(
    'SESSION_READ_ONLY',
    `the log of "${id}" has a hole at seq ${seq}; mend it into a new session, or fork the part before it`,
  )
}
