import type { SessionHeader } from '@palimpsest/session'
import { assertFormatVersion, assertHeaderId, type Damage, PersistenceError } from '@palimpsest/session-persistence'
import { closeFile, type Disk, isErrno, O_RDONLY, openFile, openSeen, readFully } from './disk.js'
import { type Line, type ReadAt, readLines } from './lines.js'
import { type Crc, decodeRecord } from './record.js'

/** A header line that can be trusted. `end` is the offset of the first record. */
export interface HeaderLine {
  readonly header: SessionHeader
  readonly crc: Crc
  readonly end: number
  readonly isTerminated: boolean
}

/** One open log file: a session's own, or the base of a fork. */
export class LogFile {
  readonly read: ReadAt = (bytes, position) => readFully(this.disk, this.fd, bytes, position)
  #fd: number | undefined

  constructor(
    readonly disk: Disk,
    readonly path: string,
    readonly indexPath: string,
    fd: number,
  ) {
    this.#fd = fd
  }

  get fd(): number {
    if (this.#fd === undefined)
      throw new Error(`${this.path}: expected an open file, found it closed; open the session again`)
    return this.#fd
  }

  get isOpen(): boolean {
    return this.#fd !== undefined
  }

  /** Puts another file in its place, as a rewrite does. */
  replace(fd: number): void {
    this.close()
    this.#fd = fd
  }

  /** Opens a closed file for a while; the records read through it are checked one by one. */
  reopen(): void {
    this.#fd ??= openFile(this.disk, this.path, O_RDONLY)
  }

  close(): void {
    if (this.#fd !== undefined) closeFile(this.disk, this.#fd)
    this.#fd = undefined
  }
}

/** The seq of a log's first own record: what lies before is in the base, whose last crc the store put into the header. */
export function firstSeqOf({ parent }: SessionHeader): number {
  return parent?.crc === undefined ? 0 : parent.length
}

/** `undefined` where there is no such file; a link, a directory or a pipe in its place is refused. */
export function openLogFile(disk: Disk, path: string, indexPath: string, flags: number): LogFile | undefined {
  return checkOpened(disk, path, indexPath, () => openFile(disk, path, flags))?.file
}

/** The same of a log whose name was listed a moment ago, for a look at what it holds by now. */
export function openListedLog(disk: Disk, path: string, indexPath: string): OpenedLog | undefined {
  return checkOpened(disk, path, indexPath, () => openSeen(disk, path, O_RDONLY))
}

/** The header of a log, or what is wrong with its first line. */
export function readHeaderLine(read: ReadAt): HeaderLine | Damage {
  const { value: line } = readLines(read, 0).next()
  return line ? headerOf(line) : headerDamage('HEADER_TORN', 0)
}

/** The same of the first line of a log. */
export function headerOf(line: Line): HeaderLine | Damage {
  const record = decodeRecord(line.buffer, line.start, line.end)
  if (record !== undefined && isHeader(record.value)) {
    return { header: record.value, crc: record.crc, end: line.bytes, isTerminated: line.terminated }
  }
  const foreign = record === undefined ? foreignHeader(line.buffer.toString('utf8', line.start, line.end)) : undefined
  if (foreign !== undefined) return { header: foreign, crc: 0, end: line.bytes, isTerminated: line.terminated }
  return headerDamage(line.terminated ? 'HEADER_DAMAGED' : 'HEADER_TORN', line.bytes)
}

export function isHeaderDamage(result: HeaderLine | Damage): result is Damage {
  return 'code' in result
}

/** The header, or `HEADER_DAMAGED`, or `FORMAT_VERSION_UNSUPPORTED`. */
export function assertHeaderLine(line: HeaderLine | Damage, id: string): HeaderLine {
  if (isHeaderDamage(line)) {
    throw new PersistenceError(
      'HEADER_DAMAGED',
      `session "${id}": expected a header in the first line, found ${line.code === 'HEADER_TORN' ? `only ${line.bytes} bytes of one` : 'one whose checksum or form is wrong'}; restore the file, or create the session again, which puts these bytes aside`,
    )
  }
  assertFormatVersion(line.header)
  assertHeaderId(line.header, id)
  return line
}

// --- internal ---

interface OpenedLog {
  readonly file: LogFile
  readonly size: number
}

type Open = () => number | undefined

function checkOpened(disk: Disk, path: string, indexPath: string, open: Open): OpenedLog | undefined {
  const fd = openRegular(path, open)
  if (fd === undefined) return undefined
  try {
    const stats = disk.fstatSync(fd)
    if (stats.isFile()) return { file: new LogFile(disk, path, indexPath, fd), size: stats.size }
    throw notAFile(path)
  } catch (error) {
    closeFile(disk, fd)
    throw error
  }
}

function openRegular(path: string, open: Open): number | undefined {
  try {
    return open()
  } catch (error) {
    if (isErrno(error, 'ELOOP', 'EMLINK', 'EISDIR', 'ENXIO')) throw notAFile(path, error)
    throw error
  }
}

function notAFile(path: string, cause?: unknown): PersistenceError {
  return new PersistenceError(
    'HEADER_DAMAGED',
    `${path}: expected a plain file, found a link, a directory or a device, which is never followed; put the file itself there`,
    { cause },
  )
}

function headerDamage(code: 'HEADER_TORN' | 'HEADER_DAMAGED', bytes: number): Damage {
  return { code, where: { line: 1, offset: 0 }, bytes, kept: null }
}

function isHeader(value: object): value is SessionHeader {
  const { id, version, createdAt } = value as Partial<SessionHeader>
  return typeof id === 'string' && typeof version === 'number' && typeof createdAt === 'number'
}

/** Another format need not know our tail; a bad checksum under one is damage, whatever the version says. */
function foreignHeader(text: string): SessionHeader | undefined {
  if (/,"crc":"[^"]*"\}$/.test(text)) return undefined
  try {
    const value: object = JSON.parse(text)
    return isHeader(value) && value.version !== 0 ? value : undefined
  } catch {
    return undefined
  }
}
