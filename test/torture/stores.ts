import * as fs from 'node:fs'
import { join } from 'node:path'
import type { SessionBackend } from '@palimpsest/session-persistence'
import { createJsonlBackend, type Disk } from '@palimpsest/session-persistence-jsonl'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import Database from 'better-sqlite3'

export type StoreName = 'jsonl' | 'sqlite'

export const STORES: readonly StoreName[] = ['jsonl', 'sqlite']

export interface StoreFaults {
  /** Called before every call that the store makes of what is below it, and after those that end later. */
  beforeCall?: () => void
  /** Says that everything is on the disk, and puts nothing there: the control of the power cuts. */
  isUnsynced?: boolean
  /** How long the dense store waits for another's transaction. */
  busyMs?: number
}

/** A backend over the store in a directory of its own. */
export function openStore(name: StoreName, place: string, faults: StoreFaults = {}): SessionBackend {
  if (name === 'jsonl') return createJsonlBackend({ directory: join(place, 'sessions'), fs: faultyDisk(faults) })
  watchDatabase(faults)
  const { busyMs } = faults
  return createSqliteBackend({ file: join(place, 'sessions.sqlite'), ...(busyMs !== undefined && { busyMs }) })
}

// --- internal ---

type Call = (...args: unknown[]) => unknown

function faultyDisk({ beforeCall, isUnsynced }: StoreFaults): Disk {
  const disk: Record<string, Call> = { ...(fs as unknown as Record<string, Call>) }
  if (isUnsynced) {
    for (const name of ['fsync', 'fdatasync']) disk[name] = (_fd, done) => setImmediate(() => (done as Call)(null))
    for (const name of ['fsyncSync', 'fdatasyncSync']) disk[name] = () => {}
  }
  return (beforeCall === undefined ? disk : new Proxy(disk, { get: watched(beforeCall) })) as unknown as Disk
}

function watched(beforeCall: () => void) {
  return (disk: Record<string, Call>, name: string): Call =>
    (...args) => {
      beforeCall()
      const done = args.at(-1)
      if (typeof done !== 'function') return disk[name]!(...args)
      return disk[name]!(...args.slice(0, -1), (...results: unknown[]) => {
        beforeCall()
        done(...results)
      })
    }
}

/** For the whole process: the driver is one, and the store makes its own connections. */
function watchDatabase({ beforeCall, isUnsynced }: StoreFaults): void {
  if (beforeCall !== undefined) {
    const memory = new Database(':memory:')
    const statements = Object.getPrototypeOf(memory.prepare('SELECT 1'))
    memory.close()
    for (const name of ['run', 'get', 'all', 'iterate']) before(statements, name, beforeCall)
    for (const name of ['exec', 'pragma']) before(Database.prototype as never, name, beforeCall)
  }
  if (isUnsynced) unsyncDatabase()
}

function before(owner: Record<string, Call>, name: string, beforeCall: () => void): void {
  const call = owner[name]!
  owner[name] = function (this: unknown, ...args) {
    beforeCall()
    return call.apply(this, args)
  }
}

/** Turns the syncs of every connection off, and says that they are on. */
function unsyncDatabase(): void {
  const { pragma } = Database.prototype
  Database.prototype.pragma = function (source, options) {
    if (!/^\s*synchronous\b/i.test(source)) return pragma.call(this, source, options)
    pragma.call(this, 'synchronous = OFF')
    return options?.simple ? 2 : [{ synchronous: 2 }]
  }
}
