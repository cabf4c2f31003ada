import { type Damage, PersistenceError, type SessionSummary, titleOf } from '@palimpsest/session-persistence'
import { mismatch } from './chain.js'
import type { Directory, Listing } from './directory.js'
import { O_RDONLY } from './disk.js'
import type { ReadAt } from './lines.js'
import { highestEpoch, isFree } from './lock.js'
import { readLock } from './lock-file.js'
import { headerIn, type LogHead, readEnd, readHead } from './log-end.js'
import { assertHeaderLine, firstSeqOf, isHeaderDamage, openListedLog, openLogFile, readHeaderLine } from './log-file.js'
import { Scan } from './scan.js'
import { writeFailed } from './write-failed.js'

/** A session as a listing shows it: its first line, its first user text, its end. Never throws. */
export function summarize(
  directory: Directory,
  id: string,
  listing: Listing,
  withTurns = false,
): SessionSummary | undefined {
  try {
    const { disk, paths } = directory
    const opened = openListedLog(disk, paths.log(id), paths.index(id))
    if (opened === undefined) return undefined
    try {
      const head = readHead(opened.file.read, opened.size)
      return describe(directory, id, listing, head, withTurns)
    } finally {
      opened.file.close()
    }
  } catch (error) {
    return { id, error: shown(error, id) }
  }
}

// --- internal ---

/** How far the first user text is looked for. */
const TITLE_WITHIN_BYTES = 1024 * 1024
const NO_TURN = { turn: 0, isOpen: false }

function describe(
  directory: Directory,
  id: string,
  listing: Listing,
  head: LogHead,
  withTurns: boolean,
): SessionSummary {
  const bytes = head.size
  const line = headerIn(head)
  if (isHeaderDamage(line)) return { id, bytes, damage: [line], error: shown(headerError(line, id), id) }
  const { header } = line
  const summary: SessionSummary = { id, header, bytes }
  try {
    assertHeaderLine(line, id)
  } catch (error) {
    return { ...summary, error: shown(error, id) }
  }
  const first = firstSeqOf(header)
  if (first > 0 && !listing.of(id).includes(`${id}.base`))
    return { ...summary, error: shown(mismatch(header, 'no .base file'), id) }
  const start = { offset: line.end, seq: first, line: 2 }
  const end = readEnd(head, start)
  summary.length = end.length
  summary.updatedAt = end.updatedAt ?? header.createdAt
  const own = end.isWhole ? end.title : titleIn(head.read, start)
  const title = titleInBases(directory, id, first) ?? own
  if (title !== undefined) summary.title = title
  const lastTurn = end.lastTurn ?? (end.isWhole && first === 0 ? NO_TURN : undefined)
  if (withTurns && lastTurn !== undefined) summary.lastTurn = lastTurn
  const damage = isBeingWritten(directory, id, listing, end.damage) ? end.damage.slice(0, -1) : end.damage
  if (damage.length > 0) summary.damage = damage
  return summary
}

/** Of the events below `limit`. */
function titleIn(
  read: ReadAt,
  { offset, seq, line }: { offset: number; seq: number; line: number },
  limit = Number.POSITIVE_INFINITY,
) {
  const scan = new Scan(read, { offset, seq, line, stopOffset: offset + TITLE_WITHIN_BYTES })
  for (const { event } of scan.records()) {
    if (event.seq >= limit) return undefined
    const title = titleOf(event)
    if (title !== undefined) return title
  }
  return undefined
}

/** A fork's conversation began in the lowest file that says something in front of where the next one goes on. */
function titleInBases(directory: Directory, id: string, first: number): string | undefined {
  let title: string | undefined
  let limit = first
  for (let depth = 1; limit > 0; depth++) {
    const path = directory.paths.base(id, depth)
    const file = openLogFile(directory.disk, path, `${path}.index`, O_RDONLY)
    if (file === undefined) return title
    try {
      const line = readHeaderLine(file.read)
      if (isHeaderDamage(line)) return title
      const seq = firstSeqOf(line.header)
      title = titleIn(file.read, { offset: line.end, seq, line: 2 }, limit) ?? title
      limit = Math.min(limit, seq)
    } finally {
      file.close()
    }
  }
  return title
}

function isBeingWritten({ disk, paths }: Directory, id: string, listing: Listing, damage: Damage[]): boolean {
  if (damage.at(-1)?.code !== 'RECORD_TORN') return false
  const epoch = highestEpoch(listing.of(id))
  const lock = epoch === 0 ? undefined : readLock(disk, paths.lock(id, epoch))
  return lock !== undefined && !isFree(lock)
}

function headerError(line: Damage, id: string): unknown {
  try {
    assertHeaderLine(line, id)
  } catch (error) {
    return error
  }
  return undefined
}

function shown(error: unknown, id: string): { code: string; message: string } {
  const { code, message } = error instanceof PersistenceError ? error : writeFailed(id, error)
  return { code, message }
}
