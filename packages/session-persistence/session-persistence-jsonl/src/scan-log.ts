import { SESSION_FORMAT_VERSION, type SessionEvent, type SessionHeader } from '@palimpsest/session'
import { type Damage, PersistenceError, type ScannedLog } from '@palimpsest/session-persistence'
import { Chain, openChain, openOwnFile, openOwnLog } from './chain.js'
import type { Directory } from './directory.js'
import { O_RDONLY } from './disk.js'
import {
  assertHeaderLine,
  firstSeqOf,
  type HeaderLine,
  isHeaderDamage,
  type LogFile,
  openLogFile,
  readHeaderLine,
} from './log-file.js'
import { settled } from './read.js'
import { crcText } from './record.js'
import { Scan, type ScannedRecord } from './scan.js'
import { Segment } from './segment.js'

type OnEvents = (events: SessionEvent[]) => void | Promise<void>

/** Looks at every byte of a log, beside whoever writes, and hands its trusted events on in pieces. */
export async function scanLog(directory: Directory, id: string, onEvents: OnEvents): Promise<ScannedLog | undefined> {
  const own = openOwnFile(directory.disk, directory.paths, id, O_RDONLY)
  if (own === undefined) return undefined
  const lost = isHeaderDamage(own.line) ? own.line : undefined
  const line = trustedLine(directory, id, own)
  const pieces = new Pieces(onEvents)
  const options = { isWhole: true, onRecord: (record: ScannedRecord) => pieces.add(record) }
  // Before any record is handed on: those of a wrong base are nobody's.
  const orphaned = lost === undefined ? await orphanDamage(directory, id, line) : []
  const isOrphan = orphaned.length > 0
  const chain = isOrphan
    ? await openAlone(own.file, line, options)
    : await openChain(directory.paths, { file: own.file, line }, options)
  chain.close()
  await pieces.handOn()
  const { header, length } = chain
  const damage = [...orphaned, ...(await settled(directory, id, chain.damage))]
  return lost === undefined ? { header, length, damage } : { length, damage: [lost, ...damage] }
}

// --- internal ---

/** What is wrong with the base of a fork that is missing or another one: all that was shared is lost. */
async function orphanDamage({ disk, paths }: Directory, id: string, { header }: HeaderLine): Promise<Damage[]> {
  if (firstSeqOf(header) === 0) return []
  const own = openOwnLog(disk, paths, id, O_RDONLY)
  if (own === undefined) return []
  try {
    const chain = await openChain(paths, own)
    chain.close()
    return []
  } catch (error) {
    if (!(error instanceof PersistenceError) || error.code !== 'PARENT_MISMATCH') throw error
    const lost = { where: { seq: 0 }, bytes: 0, kept: null }
    return [
      { code: 'PARENT_MISMATCH', ...lost },
      { code: 'LOG_HOLE', ...lost },
    ]
  }
}

/** The records of a fork's own file, without what lies below. */
async function openAlone(file: LogFile, line: HeaderLine, options: object): Promise<Chain> {
  try {
    return new Chain([await Segment.open(file, line, options)])
  } catch (error) {
    file.close()
    throw error
  }
}

type Own = NonNullable<ReturnType<typeof openOwnFile>>

const PIECE_EVENTS = 1024
const PIECE_BYTES = 1024 * 1024

class Pieces {
  #events: SessionEvent[] = []
  #bytes = 0

  constructor(private readonly onEvents: OnEvents) {}

  add({ event, bytes }: ScannedRecord): Promise<void> | undefined {
    this.#events.push(event)
    this.#bytes += bytes
    return this.#events.length < PIECE_EVENTS && this.#bytes < PIECE_BYTES ? undefined : this.handOn()
  }

  async handOn(): Promise<void> {
    const events = this.#events
    this.#events = []
    this.#bytes = 0
    if (events.length > 0) await this.onEvents(events)
  }
}

/** Closes the file if it throws. */
function trustedLine(directory: Directory, id: string, { file, line }: Own): HeaderLine {
  try {
    return isHeaderDamage(line) ? inferLine(directory, id, file, line) : assertHeaderLine(line, id)
  } catch (error) {
    file.close()
    throw error
  }
}

/**
 * A line in the place of one that is lost, for reading on behind it: what the records themselves say.
 * A fork's own log begins where its base is left, if its first record can be read; where that one is
 * lost too nobody knows how much of the base belonged to it, and none of it is claimed.
 */
function inferLine(directory: Directory, id: string, file: LogFile, lost: Damage): HeaderLine {
  const first = new Scan(file.read, { offset: 0, seq: 0, line: 1 }).records().next().value || undefined
  const isNext = first !== undefined && first.offset <= lost.bytes
  const parent = isNext && first.event.seq > 0 ? inferParent(directory, id, first.event.seq) : undefined
  const header: SessionHeader = {
    version: SESSION_FORMAT_VERSION,
    id,
    createdAt: first?.event.time ?? 0,
    ...(parent !== undefined && { parent }),
  }
  return { header, crc: 0, end: isNext ? first.offset : lost.bytes, isTerminated: true }
}

/** What a fork's header said of the log that it goes on from, as far as its base files tell. */
function inferParent({ disk, paths }: Directory, id: string, length: number): SessionHeader['parent'] {
  let parentId: string | undefined
  for (let depth = 1; ; depth++) {
    const path = paths.base(id, depth)
    const file = openLogFile(disk, path, `${path}.index`, O_RDONLY)
    if (file === undefined) return undefined
    try {
      const line = readHeaderLine(file.read)
      if (isHeaderDamage(line)) return undefined
      parentId ??= line.header.id
      const base = firstSeqOf(line.header)
      if (base >= length) continue
      const crc = crcBefore(file, line, length)
      return crc === undefined ? undefined : { id: parentId, length, crc }
    } finally {
      file.close()
    }
  }
}

function crcBefore(file: LogFile, { end, header }: HeaderLine, length: number): string | undefined {
  const scan = new Scan(file.read, { offset: end, seq: firstSeqOf(header), line: 2, stopSeq: length })
  let last: ScannedRecord | undefined
  for (const record of scan.records()) last = record
  return last?.event.seq === length - 1 ? crcText(last.crc) : undefined
}
