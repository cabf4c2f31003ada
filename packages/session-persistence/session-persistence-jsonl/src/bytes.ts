import type { BytePart } from '@palimpsest/session-persistence'
import type { Directory } from './directory.js'
import { NO_THROW, O_RDONLY } from './disk.js'
import { isHeaderDamage, type LogFile, openLogFile, readHeaderLine } from './log-file.js'
import { idOf, lockEpoch, temporaryEpoch } from './paths.js'
import { Scan } from './scan.js'

/**
 * Where the bytes of a session are: its own records by their type, and its other files. A file that has
 * another name too is a fork's base there, or here, and stays when this name goes.
 */
export async function bytesOf(directory: Directory, id: string): Promise<BytePart[] | undefined> {
  const { disk, paths } = directory
  const path = paths.log(id)
  const file = openLogFile(disk, path, paths.index(id), O_RDONLY)
  if (file === undefined) return undefined
  const sums = new Sums()
  try {
    const { size, nlink } = disk.fstatSync(file.fd)
    addRecords(sums, file, size, nlink > 1)
  } finally {
    file.close()
  }
  for (const name of (await directory.list()).of(id)) {
    const stats = name === `${id}.jsonl` ? undefined : disk.lstatSync(paths.at(name), NO_THROW)
    if (stats !== undefined) sums.add(kindOf(name), stats.size, stats.nlink > 1)
  }
  return sums.parts
}

// --- internal ---

class Sums {
  readonly #parts = new Map<string, { -readonly [K in keyof BytePart]: BytePart[K] }>()

  get parts(): BytePart[] {
    return [...this.#parts.values()]
  }

  add(what: string, bytes: number, isShared: boolean, events = 0): void {
    const key = `${what} ${isShared}`
    const part = this.#parts.get(key) ?? { what, bytes: 0, ...(isShared && { isShared }) }
    part.bytes += bytes
    if (events > 0) part.events = (part.events ?? 0) + events
    this.#parts.set(key, part)
  }
}

/** What is neither header nor record is damage, or the tail that somebody writes at this moment. */
function addRecords(sums: Sums, file: LogFile, size: number, isShared: boolean): void {
  const line = readHeaderLine(file.read)
  const start = isHeaderDamage(line) ? 0 : line.end
  if (start > 0) sums.add('header', start, isShared)
  let rest = size - start
  for (const { event, bytes } of new Scan(file.read, { offset: start, seq: 0, line: 2, stopOffset: size }).records()) {
    sums.add(event.type, bytes, isShared, 1)
    rest -= bytes
  }
  if (rest > 0) sums.add('damaged', rest, isShared)
}

function kindOf(name: string): string {
  const suffix = name.slice(idOf(name).length)
  if (lockEpoch(name) !== undefined) return 'lock'
  if (temporaryEpoch(name) !== undefined) return 'temporary'
  if (suffix.endsWith('.index')) return 'index'
  if (suffix.startsWith('.torn-')) return 'torn'
  return suffix.startsWith('.base') ? 'base' : 'other'
}
