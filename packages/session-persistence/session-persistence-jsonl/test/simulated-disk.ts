import { constants } from 'node:fs'
import { dirname } from 'node:path'
import type { Disk } from '../src/disk.js'

/** What a disk was told, in order. A rename is one change of two names. */
export type Change =
  | { readonly kind: 'names'; readonly to: readonly { readonly path: string; readonly ino: number | undefined }[] }
  | { readonly kind: 'write'; readonly ino: number; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly ino: number; readonly size: number }
  /** All that was told of this file before is on the disk, but for what an earlier sync failed to bring there. */
  | { readonly kind: 'sync' | 'sync-failed'; readonly ino: number }
  /** The same for the names in a directory. */
  | { readonly kind: 'sync-names' | 'sync-names-failed'; readonly path: string }

/** A file or a directory as it is on the disk. */
export interface Stored {
  readonly ino: number
  readonly isDirectory: boolean
  readonly data: Buffer
  /** Changes with `data`, and is like no other's. */
  readonly version: number
}

/** All that is on a disk: path to file. */
export type Image = ReadonlyMap<string, Stored>

export const EMPTY_IMAGE: Image = new Map()

/** A version that nothing had before. */
export function nextVersion(): number {
  versions += 1
  return versions
}

/**
 * A file system in memory that keeps account of what it was told since `image` was all that there was:
 * reads see everything, but what a loss of power leaves is for `crash-states.ts` to say. Calls back at once.
 */
export class SimulatedDisk {
  readonly changes: Change[] = []
  /** Every file that there ever was, by number, also those without a name. */
  readonly directories = new Set<number>()
  readonly #nodes = new Map<number, Node>()
  readonly #names = new Map<string, number>()
  readonly #open = new Map<number, Descriptor>()
  #lastIno = 0
  #lastFd = 2

  constructor(readonly image: Image) {
    for (const [path, { ino, isDirectory, data, version }] of image) {
      this.#nodes.set(ino, { ino, isDirectory, data, version })
      this.#names.set(path, ino)
      this.#lastIno = Math.max(this.#lastIno, ino)
      if (isDirectory) this.directories.add(ino)
    }
  }

  /** A disk that was told the same. */
  static replay(image: Image, changes: readonly Change[], directories: ReadonlySet<number>): SimulatedDisk {
    const disk = new SimulatedDisk(image)
    for (const ino of directories) disk.directories.add(ino)
    for (const change of changes) disk.#apply(change)
    return disk
  }

  /** Itself, as the store takes it. */
  get calls(): Disk {
    return this as unknown as Disk
  }

  get openFiles(): number {
    return this.#open.size
  }

  /** The bytes behind a name, as reads see them. */
  contentOf(path: string): Buffer | undefined {
    const ino = this.#names.get(path)
    return ino === undefined ? undefined : this.#nodes.get(ino)!.data
  }

  namesIn(directory: string): string[] {
    const prefix = directory === '/' ? directory : `${directory}/`
    return [...this.#names.keys()].filter(path => path.startsWith(prefix)).map(path => path.slice(prefix.length))
  }

  /** Changes bytes as if they had always been so, on the disk and in memory. Lengths stay. */
  rewrite(edit: (bytes: Buffer) => void): void {
    for (const node of this.#nodes.values()) {
      edit(node.data)
      node.version = nextVersion()
    }
    for (const change of this.changes) if (change.kind === 'write') edit(change.bytes)
  }

  /** As the end of a process does. */
  closeAll(): void {
    this.#open.clear()
  }

  /** A sync of this descriptor fails: what is in memory looks clean and is not on the disk. */
  failSync(fd: number): void {
    const { node, path } = this.#descriptor(fd)
    this.changes.push(node.isDirectory ? { kind: 'sync-names-failed', path } : { kind: 'sync-failed', ino: node.ino })
  }

  // --- the calls that the store makes ---

  mkdirSync(path: string): string | undefined {
    if (path === '/' || this.#names.has(path)) return undefined
    const first = this.mkdirSync(dirname(path))
    this.#create(path, true)
    return first ?? path
  }

  chmodSync(): void {}

  fchmodSync(fd: number): void {
    this.#descriptor(fd)
  }

  openSync(path: string, flags: number): number {
    const ino = path === '/' ? 0 : this.#names.get(path)
    if (ino !== undefined && flags & constants.O_EXCL) throw failure('EEXIST', path)
    if (ino === undefined && !(flags & constants.O_CREAT)) throw failure('ENOENT', path)
    const node = path === '/' ? ROOT : ino === undefined ? this.#create(path, false) : this.#nodes.get(ino)!
    this.#lastFd += 1
    this.#open.set(this.#lastFd, { node, path, isAppend: (flags & constants.O_APPEND) !== 0, position: 0 })
    return this.#lastFd
  }

  closeSync(fd: number): void {
    this.#descriptor(fd)
    this.#open.delete(fd)
  }

  statSync(path: string, options?: { throwIfNoEntry?: boolean }): unknown {
    const ino = this.#names.get(path)
    if (ino !== undefined) return statsOf(this.#nodes.get(ino)!)
    if (options?.throwIfNoEntry === false) return undefined
    throw failure('ENOENT', path)
  }

  lstatSync(path: string, options?: { throwIfNoEntry?: boolean }): unknown {
    return this.statSync(path, options)
  }

  fstatSync(fd: number): unknown {
    return statsOf(this.#descriptor(fd).node)
  }

  readSync(fd: number, into: Uint8Array, offset: number, length: number, position: number): number {
    return this.#descriptor(fd).node.data.copy(into, offset, position, position + length)
  }

  writeSync(fd: number, from: Uint8Array, offset: number, length: number, position: number | null): number {
    const open = this.#descriptor(fd)
    const at = open.isAppend ? open.node.data.length : (position ?? open.position)
    if (position === null) open.position = at + length
    this.#tell({
      kind: 'write',
      ino: open.node.ino,
      offset: at,
      bytes: Buffer.from(from.subarray(offset, offset + length)),
    })
    return length
  }

  ftruncateSync(fd: number, size: number): void {
    this.#tell({ kind: 'truncate', ino: this.#descriptor(fd).node.ino, size })
  }

  linkSync(from: string, to: string): void {
    const ino = this.#inoOf(from)
    if (this.#names.has(to)) throw failure('EEXIST', to)
    this.#tell({ kind: 'names', to: [{ path: to, ino }] })
  }

  renameSync(from: string, to: string): void {
    const ino = this.#inoOf(from)
    this.#tell({
      kind: 'names',
      to: [
        { path: to, ino },
        { path: from, ino: undefined },
      ],
    })
  }

  unlinkSync(path: string): void {
    this.#inoOf(path)
    this.#tell({ kind: 'names', to: [{ path, ino: undefined }] })
  }

  readdir(path: string, done: (error: Error | null, names?: string[]) => void): void {
    if (!this.#names.has(path)) done(failure('ENOENT', path))
    else done(null, this.namesIn(path))
  }

  fdatasyncSync(fd: number): void {
    const { node, path } = this.#descriptor(fd)
    this.changes.push(node.isDirectory ? { kind: 'sync-names', path } : { kind: 'sync', ino: node.ino })
  }

  fsyncSync(fd: number): void {
    this.fdatasyncSync(fd)
  }

  fdatasync(fd: number, done: (error: Error | null) => void): void {
    this.fdatasyncSync(fd)
    done(null)
  }

  fsync(fd: number, done: (error: Error | null) => void): void {
    this.fdatasync(fd, done)
  }

  // --- internal ---

  #tell(change: Change): void {
    this.#apply(change)
  }

  #apply(change: Change): void {
    this.changes.push(change)
    if (change.kind === 'names') {
      for (const { path, ino } of change.to) {
        if (ino === undefined) this.#names.delete(path)
        else {
          this.#names.set(path, ino)
          this.#nodeOf(ino)
        }
      }
    } else if (change.kind === 'write' || change.kind === 'truncate') {
      const node = this.#nodeOf(change.ino)
      node.data = changed(node.data, change)
      node.version = nextVersion()
    }
  }

  #create(path: string, isDirectory: boolean): Node {
    const ino = this.#lastIno + 1
    if (isDirectory) this.directories.add(ino)
    const node = this.#nodeOf(ino)
    this.#tell({ kind: 'names', to: [{ path, ino }] })
    return node
  }

  #nodeOf(ino: number): Node {
    let node = this.#nodes.get(ino)
    if (node === undefined) {
      node = { ino, isDirectory: this.directories.has(ino), data: NO_BYTES, version: nextVersion() }
      this.#nodes.set(ino, node)
      this.#lastIno = Math.max(this.#lastIno, ino)
    }
    return node
  }

  #inoOf(path: string): number {
    const ino = this.#names.get(path)
    if (ino === undefined) throw failure('ENOENT', path)
    return ino
  }

  #descriptor(fd: number): Descriptor {
    const open = this.#open.get(fd)
    if (open === undefined) throw failure('EBADF', `descriptor ${fd}`)
    return open
  }
}

/** The content of a file behind a write or a cut. What a write leaves out before it is zeros. */
export function changed(data: Buffer, change: Extract<Change, { kind: 'write' | 'truncate' }>): Buffer {
  if (change.kind === 'truncate') {
    return change.size <= data.length
      ? data.subarray(0, change.size)
      : Buffer.concat([data, Buffer.alloc(change.size - data.length)])
  }
  const { offset, bytes } = change
  if (offset === data.length) return Buffer.concat([data, bytes])
  const result = Buffer.alloc(Math.max(data.length, offset + bytes.length))
  data.copy(result)
  bytes.copy(result, offset)
  return result
}

// --- internal ---

let versions = 0

interface Node {
  readonly ino: number
  readonly isDirectory: boolean
  data: Buffer
  version: number
}

interface Descriptor {
  readonly node: Node
  readonly path: string
  readonly isAppend: boolean
  position: number
}

const NO_BYTES = Buffer.alloc(0)
const ROOT: Node = { ino: 0, isDirectory: true, data: NO_BYTES, version: 0 }

function statsOf({ ino, isDirectory, data, version }: Node) {
  return { ino, size: data.length, mtimeMs: version, isFile: () => !isDirectory, isDirectory: () => isDirectory }
}

function failure(code: string, about: string): Error {
  return Object.assign(new Error(`${code}: ${about}`), { code })
}
