import { type Owner, ownerIn } from '@palimpsest/session-persistence'
import { closeFile, type Disk, isErrno, O_RDONLY, openFile, readFully } from './disk.js'
import { NEWLINE } from './record.js'

export interface LockState {
  readonly isReleased: boolean
  /**
   * From this byte on the log may be on no disk although reads show it: a sync failed, or a rewrite
   * that was due has not been done.
   */
  readonly unsynced?: number
}

export interface Lock {
  /** `undefined` where the first line cannot be read: nobody can say who holds it. */
  readonly owner: Owner | undefined
  readonly state: LockState
}

/** A lock as it is made: the owner's line, then a state of fixed width, rewritten in place. */
export function encodeLock(owner: Owner, state: LockState): { bytes: Buffer; stateOffset: number } {
  if (ownerLine?.owner !== owner) ownerLine = { owner, line: Buffer.from(`${JSON.stringify(owner)}\n`) }
  const { line } = ownerLine
  return { bytes: Buffer.concat([line, encodeState(state)]), stateOffset: line.length }
}

/** `STATE_BYTES` bytes, whatever it says: it must be writable on a full disk. */
export function encodeState({ isReleased, unsynced }: LockState): Buffer {
  const words = [isReleased ? 'released' : 'held', ...(unsynced === undefined ? [] : ['unsynced', unsynced])]
  return Buffer.from(`${words.join(' ').padEnd(STATE_BYTES - 1)}\n`, 'latin1')
}

/** `undefined` where there is no such lock. A link, a folder or a pipe in its place says nothing about who holds it. */
export function readLock(disk: Disk, path: string): Lock | undefined {
  let fd: number | undefined
  try {
    fd = openFile(disk, path, O_RDONLY)
    if (fd === undefined) return undefined
    if (!disk.fstatSync(fd).isFile()) return UNREADABLE
    const bytes = Buffer.allocUnsafe(LARGEST_LOCK_BYTES)
    return decodeLock(bytes.subarray(0, readFully(disk, fd, bytes, 0)))
  } catch (error) {
    if (isErrno(error, 'ELOOP', 'EMLINK', 'ENXIO')) return UNREADABLE
    throw error
  } finally {
    if (fd !== undefined) closeFile(disk, fd)
  }
}

// --- internal ---

/** A process has one owner, and makes many locks. */
let ownerLine: { owner: Owner; line: Buffer } | undefined

/** Held by who knows whom, who may not have synced what he wrote. */
const UNREADABLE: Lock = { owner: undefined, state: { isReleased: false, unsynced: 0 } }

const STATE_BYTES = 48
const LARGEST_LOCK_BYTES = 4096
const STATE = /^(held|released)\b/
const UNSYNCED = /\bunsynced ([0-9]{1,15})\b/

/**
 * What cannot be read counts as held by somebody unknown: only a takeover may pass it. A lock of no
 * bytes, or of zeros, is what a loss of power leaves of one, as a lock is seen whole or not at all and
 * its content is not synced: whoever made it is gone, and what he wrote is to be written anew.
 */
function decodeLock(bytes: Buffer): Lock {
  if (bytes.every(byte => byte === 0)) return { owner: undefined, state: { isReleased: true, unsynced: 0 } }
  const end = bytes.indexOf(NEWLINE)
  const owner = ownerIn(bytes.toString('utf8', 0, Math.max(end, 0)))
  const state = bytes.toString('latin1', end + 1)
  const word = STATE.exec(state)?.[1]
  if (owner === undefined || word === undefined) return { ...UNREADABLE, owner }
  const isReleased = word === 'released'
  const unsynced = UNSYNCED.exec(state)?.[1]
  return { owner, state: unsynced === undefined ? { isReleased } : { isReleased, unsynced: Number(unsynced) } }
}
