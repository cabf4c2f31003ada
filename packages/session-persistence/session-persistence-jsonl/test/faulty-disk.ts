import { type Disk, nodeDisk } from '../src/disk.js'

export interface Fault {
  /** Which call fails, counted from 1 over all that `calls` names. */
  readonly at: number
  readonly code: 'EIO' | 'ENOSPC' | 'EMFILE' | 'EROFS' | 'SHORT'
  /** Only these calls count and fail; default: all. */
  readonly calls?: readonly (keyof Disk)[]
  /** Every later call of these fails too, as on a disk that is gone. */
  readonly isLasting?: boolean
  /** The disk below; default: the real one. One that is told of a failed sync forgets what it covers. */
  readonly on?: Disk & { failSync?(fd: number): void }
}

export interface FaultyDisk {
  readonly disk: Disk
  /** Whether the fault has happened. */
  readonly hasFailed: boolean
}

/** A disk of which one call fails; a short write writes a part and fails on the next. */
export function faultyDisk({ at, code, calls, isLasting = false, on = nodeDisk }: Fault): FaultyDisk {
  const state = { count: 0, hasFailed: false, isFull: false }
  const disk = Object.fromEntries(
    (Object.keys(DISK_CALLS) as (keyof Disk)[]).map(name => [name, (...args: never[]) => call(name, args)]),
  )

  function call(name: keyof Disk, args: never[]): unknown {
    const real = (on[name] as (...args: never[]) => unknown).bind(on)
    if (calls !== undefined && !calls.includes(name)) return real(...args)
    state.count += 1
    const isFaulty = state.count === at || (state.count > at && isLasting)
    if (name === 'writeSync' && state.isFull) throw failure('ENOSPC')
    if (!isFaulty) return real(...args)
    state.hasFailed = true
    if (code === 'SHORT') {
      if (name !== 'writeSync') return real(...args)
      state.isFull = true
      return writePart(on, args)
    }
    // A close that fails has closed nevertheless.
    if (name === 'closeSync') real(...args)
    if (SYNCS.includes(name)) on.failSync?.(args[0]!)
    const callback = args.at(-1) as unknown
    if (typeof callback !== 'function') throw failure(code)
    if (on === nodeDisk) setImmediate(() => callback(failure(code)))
    else callback(failure(code))
    return undefined
  }

  return {
    disk: disk as unknown as Disk,
    get hasFailed() {
      return state.hasFailed
    },
  }
}

const DISK_CALLS: Record<keyof Disk, true> = {
  chmodSync: true,
  closeSync: true,
  fchmodSync: true,
  fdatasync: true,
  fdatasyncSync: true,
  fstatSync: true,
  fsync: true,
  fsyncSync: true,
  ftruncateSync: true,
  linkSync: true,
  lstatSync: true,
  mkdirSync: true,
  openSync: true,
  readSync: true,
  readdir: true,
  renameSync: true,
  statSync: true,
  unlinkSync: true,
  writeSync: true,
}

const SYNCS: readonly (keyof Disk)[] = ['fdatasync', 'fdatasyncSync', 'fsync', 'fsyncSync']

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: made to fail`), { code })
}

function writePart(disk: Disk, [fd, bytes, offset, length, position]: unknown[]): number {
  const part = Math.floor((length as number) / 2)
  return disk.writeSync(fd as number, bytes as Uint8Array, offset as number, part, position as number | null)
}
