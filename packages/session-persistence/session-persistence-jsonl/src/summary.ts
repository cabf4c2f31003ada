import type { SessionEvent } from '@palimpsest/session'
import { type Damage, PersistenceError, type SessionSummary, titleOf } from '@palimpsest/session-persistence'
import { mismatch } from './chain.js'
import type { Directory } from './directory.js'
import { O_RDONLY } from './disk.js'
import { type ReadAt, readLines } from './lines.js'
import { highestEpoch, isFree } from './lock.js'
import { readLock } from './lock-file.js'
import { assertHeaderLine, firstSeqOf, isHeaderDamage, type LogFile, openLogFile, readHeaderLine } from './log-file.js'
import { decodeRecord } from './record.js'
import { Scan, type ScanStart } from './scan.js'

/** A session as a listing shows it: its first line, its first user text, its end. Never throws. */
export function summarize(
  directory: Directory,
  id: string,
  names: readonly string[],
  withTurns = false,
): SessionSummary | undefined {
  try {
    const { disk, paths } = directory
    const file = openLogFile(disk, paths.log(id), paths.index(id), O_RDONLY)
    if (file === undefined) return undefined
    try {
      const { lastTurn, ...summary } = describe(directory, id, names, file)
      return withTurns && lastTurn !== undefined ? { ...summary, lastTurn } : summary
    } finally {
      file.close()
    }
  } catch (error) {
    return { id, error: shown(error) }
  }
}

// --- internal ---

/** A log up to this size is looked at whole; of a larger one, this much of its end. */
const TAIL_BYTES = 16 * 1024
/** How far the first user text is looked for. */
const TITLE_WITHIN_BYTES = 1024 * 1024
const NO_TURN = { turn: 0, isOpen: false }

function describe(directory: Directory, id: string, names: readonly string[], file: LogFile): SessionSummary {
  const bytes = directory.disk.fstatSync(file.fd).size
  const read = readAhead(file, bytes)
  const line = readHeaderLine(read)
  if (isHeaderDamage(line)) return { id, bytes, damage: [line], error: shown(headerError(line, id)) }
  const { header } = line
  const summary: SessionSummary = { id, header, bytes }
  try {
    assertHeaderLine(line, id)
  } catch (error) {
    return { ...summary, error: shown(error) }
  }
  const first = firstSeqOf(header)
  if (first > 0 && !names.includes(`${id}.base`)) return { ...summary, error: shown(mismatch(header, 'no .base file')) }
  const start = { offset: line.end, seq: first, line: 2 }
  const end = readEnd(read, bytes, start)
  const own = end.isWhole ? end.title : titleIn(read, start)
  const damage = isBeingWritten(directory, id, names, end.damage) ? end.damage.slice(0, -1) : end.damage
  const title = titleInBases(directory, id, first) ?? own
  return {
    ...summary,
    length: end.length,
    updatedAt: end.last?.time ?? header.createdAt,
    ...(title !== undefined && { title }),
    ...((end.lastTurn ?? (end.isWhole && first === 0)) && { lastTurn: end.lastTurn ?? NO_TURN }),
    ...(damage.length > 0 && { damage }),
  }
}

/** The file up to `size`, its beginning from one read: most logs are no longer. For one summary at a time. */
function readAhead(file: LogFile, size: number): ReadAt {
  const filled = file.read(ahead.subarray(0, Math.min(size, ahead.length)), 0)
  return (bytes, position) => {
    if (position >= size) return 0
    const isAhead = filled >= size || position + bytes.length <= filled
    return isAhead && position <= filled ? ahead.copy(bytes, 0, position, filled) : file.read(bytes, position)
  }
}

const ahead = Buffer.allocUnsafe(TAIL_BYTES)

interface LogEnd {
  length: number
  last: SessionEvent | undefined
  damage: Damage[]
  /** Whether the whole file was looked at; then `title` is the session's own. */
  isWhole: boolean
  title: string | undefined
  lastTurn: SessionSummary['lastTurn']
}

/** From the last few records; further back where no good one is found there. */
function readEnd(read: ReadAt, size: number, start: { offset: number; seq: number; line: number }): LogEnd {
  for (let bytes = TAIL_BYTES; start.offset + bytes < size; bytes *= 8) {
    const from = firstRecordFrom(read, size - bytes)
    if (from !== undefined) return scanEnd(read, { ...from, stopOffset: size, parse: parseBriefly }, false)
  }
  return scanEnd(read, { ...start, stopOffset: size, parse: parseBriefly }, true)
}

/** A chunk as the writer writes it, whose checksum was right: a listing needs no more of it, and most records are chunks. */
const CHUNK = /^\{"seq":(0|[1-9]\d{0,15}),"time":(0|[1-9]\d{0,15}),"type":"assistant\/chunk","data":\{/

function parseBriefly(text: string): unknown {
  const [, seq, time] = CHUNK.exec(text) ?? []
  if (seq === undefined) return JSON.parse(text)
  return { seq: Number(seq), time: Number(time), type: 'assistant/chunk', data: {} }
}

function scanEnd(read: ReadAt, start: ScanStart, isWhole: boolean): LogEnd {
  const scan = new Scan(read, start)
  let last: SessionEvent | undefined
  let title: string | undefined
  let lastTurn: LogEnd['lastTurn']
  for (const { event } of scan.records()) {
    last = event
    title ??= titleOf(event)
    if (event.type === 'turn/start' || event.type === 'turn/end') lastTurn = turnAt(event)
  }
  return { length: scan.seq, last, damage: scan.damage, isWhole, title, lastTurn }
}

function turnAt({ type, data }: SessionEvent<'turn/start' | 'turn/end'>): { turn: number; isOpen: boolean } {
  const { turn } = (data ?? {}) as { turn?: unknown }
  return { turn: typeof turn === 'number' ? turn : 0, isOpen: type === 'turn/start' }
}

/** The first good record that begins behind `offset`. */
function firstRecordFrom(read: ReadAt, offset: number) {
  let isFirst = true
  for (const { buffer, start, end, offset: at } of readLines(read, offset)) {
    const event = isFirst ? undefined : (decodeRecord(buffer, start, end)?.value as SessionEvent | undefined)
    isFirst = false
    if (Number.isSafeInteger(event?.seq)) return { offset: at, seq: event!.seq, line: event!.seq + 2 }
  }
  return undefined
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

function isBeingWritten({ disk, paths }: Directory, id: string, names: readonly string[], damage: Damage[]): boolean {
  if (damage.at(-1)?.code !== 'RECORD_TORN') return false
  const epoch = highestEpoch(names)
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

function shown(error: unknown): { code: string; message: string } {
  const message = error instanceof Error ? error.message : String(error)
  return { code: error instanceof PersistenceError ? error.code : 'HEADER_DAMAGED', message }
}
