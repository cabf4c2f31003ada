import { closeSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import type { SessionBackend } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { CommandError, usageError } from './failure.js'
import { shellWord } from './view/shell-word.js'

type StoreKind = 'jsonl' | 'sqlite'

/** Where the sessions are: a folder of JSONL files, or an SQLite database. */
export interface StorePlace {
  readonly kind: StoreKind
  /** Absolute. */
  readonly path: string
}

/** What a store is where nothing says so. */
const DEFAULT_KIND: StoreKind = 'jsonl'

/**
 * The place that `--store` names: `sqlite:FILE`, `jsonl:FOLDER`, or a folder. Without it the store is under the
 * XDG state directory (a relative one is ignored, as its rules say).
 */
export function storePlace(given: string | undefined): StorePlace {
  if (given === undefined) return { kind: DEFAULT_KIND, path: join(stateDirectory(), NAMES[DEFAULT_KIND]) }
  if (given === '') throw usageError('--store: expected sqlite:FILE, jsonl:FOLDER or a folder, found nothing')
  const [, kind, name] = /^(sqlite|jsonl):(.*)$/s.exec(given) ?? []
  if (name === '') throw usageError(`--store: expected ${kind}:${kind === 'sqlite' ? 'FILE' : 'FOLDER'}, found no name`)
  if (kind !== undefined) return { kind: kind as StoreKind, path: resolve(name!) }
  const path = resolve(given)
  const isThere = look(path) !== undefined
  if (!isThere && /^[a-z][a-z0-9+.-]+:/.test(given)) {
    throw usageError(`--store: expected sqlite:FILE, jsonl:FOLDER or a folder, found "${given}"; a folder: ./${given}`)
  }
  return { kind: 'jsonl', path }
}

/** Makes the folder or the file when it is missing. */
export async function openStore(place: StorePlace): Promise<SessionBackend> {
  isStoreThere(place)
  if (place.kind === 'jsonl') return createJsonlBackend({ directory: place.path })
  // The database driver is native code, and most commands need none of it.
  const { createSqliteBackend } = await import('@palimpsest/session-persistence-sqlite')
  return createSqliteBackend({ file: place.path })
}

/** Whether there is something at the place. Refuses what cannot be a store of that kind; a database says itself whose it is. */
export function isStoreThere({ kind, path }: StorePlace): boolean {
  const stats = look(path)
  if (stats === undefined) return false
  if (kind === 'sqlite') {
    // An empty file holds no database yet, and a look makes none.
    if (!stats.isDirectory()) return stats.size > 0
    throw storeInvalid(
      `expected a file, found a folder at ${path}; a folder of sessions: --store ${shellWord(`jsonl:${path}`)}`,
    )
  }
  if (stats.isDirectory()) return true
  if (stats.isFile() && isDatabase(path)) {
    throw storeInvalid(`expected a folder, found a database at ${path}; write --store ${shellWord(`sqlite:${path}`)}`)
  }
  throw storeInvalid(`expected a folder, found another kind of file at ${path}; name a folder`)
}

// --- internal ---

const NAMES: Record<StoreKind, string> = { jsonl: 'sessions', sqlite: 'sessions.db' }

function stateDirectory(): string {
  const { XDG_STATE_HOME: state } = process.env
  const base = state !== undefined && isAbsolute(state) ? state : join(homedir(), '.local', 'state')
  return join(base, 'palimpsest')
}

/** `undefined` where there is nothing yet. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw storeInvalid(`expected a path that leads to a store, found none: ${(error as Error).message}; name another`)
  }
}

function storeInvalid(message: string): CommandError {
  return new CommandError('STORE_INVALID', `--store: ${message}`)
}

/** By its first bytes. */
function isDatabase(path: string): boolean {
  const magic = Buffer.alloc(16)
  const fd = openSync(path, 'r')
  try {
    readSync(fd, magic, 0, magic.length, 0)
  } finally {
    closeSync(fd)
  }
  return magic.toString('latin1') === 'SQLite format 3\0'
}
