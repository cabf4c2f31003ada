import { constants } from 'node:fs'
import type { Disk } from '@palimpsest/session-persistence-jsonl'
import type { Random } from './random.js'
import { OBSERVER, type Owner, type Scheduler } from './scheduler.js'

export const DIRECTORY = '/simulated'

/**
 * One disk with one directory, in memory. It keeps apart what reads show and what a loss of power
 * leaves: a write, a link, a rename or a removal is safe once a sync that began after it has succeeded.
 */
export class SimulatedDisk {
  /** What the store calls. */
  readonly calls: Disk
  /** Writes find no room. */
  isFull = false
  /** The next sync fails, and what it should have made safe never will be. */
  failsSync = false
  /** In this many calls one fails. */
  failsIn: number | undefined
  /** In this many of its calls the owner is killed. */
  killsIn: { owner: Owner; count: number } | undefined
  /** How many calls were made to fail. */
  failures = 0
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #onKill: (owner: Owner) => void
  readonly #open = new Map<number, Handle>()
  #names = new Map<string, Inode>()
  #safeNames = new Map<string, Inode>()
  #unsafeNames: NameChange[] = []
  #lastFd = 2
  #lastInode = 0

  constructor(
    scheduler: Scheduler,
    random: Random,
    onKill: (owner: Owner) => void,
    /** Lies on purpose: what was overtaken looks current, what was synced is not. */
    readonly lies: { isUnfenced?: true; isUnsynced?: true } = {},
  ) {
    this.#scheduler = scheduler
    this.#random = random
    this.#onKill = onKill
    this.calls = this.#calls()
  }

  get openFiles(): number {
    return this.#open.size
  }

  /** From now on nothing more goes wrong. */
  mend(): void {
    this.isFull = false
    this.failsSync = false
    this.failsIn = undefined
    this.killsIn = undefined
  }

  /** The process ends: its files are closed, and its locks name somebody who is no more. */
  kill(owner: Owner): void {
    for (const [fd, handle] of this.#open) if (handle.owner === owner) this.#open.delete(fd)
    for (const inode of this.#locks()) if (inode.maker === owner) disguise(inode, 'start')
  }

  /** All that was not synced is lost in part or whole, of names in any order; another boot begins. */
  losePower(): void {
    this.#open.clear()
    for (const change of chosen(this.#unsafeNames, this.#random)) change(this.#safeNames)
    this.#names = new Map(this.#safeNames)
    this.#unsafeNames = []
    for (const inode of new Set(this.#names.values())) inode.losePower(this.#random)
    for (const inode of this.#locks()) disguise(inode, 'boot')
  }

  /** Flips a bit in the last line of a file that has one name. Gives that line as it was. */
  rot(name: string): string | undefined {
    const inode = this.#names.get(name)
    if (inode === undefined || inode.cache.length !== inode.safe.length) return undefined
    if ([...this.#names.values()].filter(other => other === inode).length > 1) return undefined
    const text = inode.cache.bytes().toString('latin1')
    const start = text.lastIndexOf('\n', text.length - 2) + 1
    if (start === 0) return undefined
    const at = start + this.#random.below(text.length - start)
    const bit = 1 << this.#random.below(8)
    for (const bytes of [inode.cache, inode.safe]) bytes.bytes()[at]! ^= bit
    return text.slice(start)
  }

  // --- internal ---

  #locks(): Inode[] {
    return [...this.#names].flatMap(([name, inode]) => (name.includes('.lock.') ? [inode] : []))
  }

  /** Every call goes through here: a dead process calls nothing, and a fault may be due. */
  #enter(call: string): void {
    const owner = this.#scheduler.current
    if (owner === OBSERVER) return
    if (this.killsIn?.owner === owner && this.killsIn.count-- <= 0) {
      this.killsIn = undefined
      this.#scheduler.note(`killed at ${call}`)
      this.#onKill(owner)
    }
    if (owner.state === 'dead') throw new Error(`${owner.name} is dead and calls nothing`)
    if (this.failsIn === undefined || this.failsIn-- > 0) return
    this.failsIn = undefined
    throw this.#failure(this.#random.pick(['EIO', 'EMFILE', 'ENOSPC']), call)
  }

  #failure(code: string, call: string): Error {
    this.failures += 1
    this.#scheduler.note(`${call} fails: ${code}`)
    return errno(code, call)
  }

  #needRoom(call: string): void {
    if (this.isFull) throw this.#failure('ENOSPC', call)
  }

  #handle(fd: number): Handle {
    const handle = this.#open.get(fd)
    if (handle === undefined) throw errno('EBADF', `descriptor ${fd}`)
    return handle
  }

  #find(path: string): Inode {
    const inode = path === DIRECTORY ? ROOT : this.#names.get(nameOf(path))
    if (inode === undefined) throw errno('ENOENT', path)
    return inode
  }

  #changeNames(change: NameChange): void {
    change(this.#names)
    this.#unsafeNames.push(change)
  }

  /**
   * What a sync that starts now makes safe, once it ends. A failed one leaves a file's changes to reads and
   * forgets them, as Linux does; the names in a directory stay in the journal for the next.
   */
  #sync({ inode }: Handle): () => Error | null {
    if (this.lies.isUnsynced) return () => null
    const count = inode === ROOT ? this.#unsafeNames.length : inode.unsafe.length
    return () => {
      const fails = this.failsSync
      this.failsSync = false
      if (inode !== ROOT) {
        const changes = inode.unsafe.splice(0, count)
        for (const change of fails ? chosen(changes, this.#random) : changes) inode.safe.apply(change)
      } else if (!fails) for (const change of this.#unsafeNames.splice(0, count)) change(this.#safeNames)
      return fails ? this.#failure('EIO', 'sync') : null
    }
  }

  #syncNow(call: string, fd: number): void {
    this.#enter(call)
    const error = this.#sync(this.#handle(fd))()
    this.#scheduler.now += this.#random.below(2)
    if (error !== null) throw error
  }

  #syncLater(call: string, fd: number, done: (error: Error | null) => void): void {
    let end: () => Error | null
    try {
      this.#enter(call)
      end = this.#sync(this.#handle(fd))
    } catch (error) {
      end = () => error as Error
    }
    this.#scheduler.later(call, () => done(end()), this.#random.below(3))
  }

  #stat(inode: Inode) {
    return {
      ino: inode.number,
      size: inode.cache.length,
      isFile: () => inode !== ROOT,
      isDirectory: () => inode === ROOT,
    }
  }

  #calls(): Disk {
    const locks = new Map<string, Inode>()
    const statPath = (path: string, options?: { throwIfNoEntry?: boolean }, isFenceLook = false) => {
      this.#enter('stat')
      if (this.lies.isUnfenced && path.includes('.lock.') && options?.throwIfNoEntry === false) {
        const known = locks.get(path) ?? this.#names.get(nameOf(path))
        if (known !== undefined) locks.set(path, known)
        // Everybody sees his own lock for ever, and nobody a later one.
        const isLater = known !== undefined && known.maker !== this.#scheduler.current
        if (known !== undefined && !isLater) return this.#stat(known)
        if (isLater && isFenceLook) return undefined
      }
      const isMissing = path !== DIRECTORY && !this.#names.has(nameOf(path))
      if (isMissing && options?.throwIfNoEntry === false) return undefined
      return this.#stat(this.#find(path))
    }
    const calls = {
      chmodSync: () => this.#enter('chmod'),
      fchmodSync: () => this.#enter('fchmod'),
      mkdirSync: () => this.#enter('mkdir'),
      lstatSync: (path: string, options?: { throwIfNoEntry?: boolean }) => statPath(path, options),
      statSync: (path: string, options?: { throwIfNoEntry?: boolean }) => statPath(path, options, true),
      fstatSync: (fd: number) => {
        this.#enter('fstat')
        return this.#stat(this.#handle(fd).inode)
      },
      openSync: (path: string, flags: number) => {
        this.#enter('open')
        const isNew = path !== DIRECTORY && !this.#names.has(nameOf(path))
        if (isNew && flags & constants.O_CREAT) this.#create(nameOf(path))
        else if (flags & constants.O_EXCL) throw errno('EEXIST', path)
        const inode = this.#find(path)
        this.#lastFd += 1
        const isAppending = (flags & constants.O_APPEND) !== 0
        this.#open.set(this.#lastFd, { inode, isAppending, owner: this.#scheduler.current })
        return this.#lastFd
      },
      closeSync: (fd: number) => {
        this.#open.delete(fd)
        this.#enter('close')
      },
      readSync: (fd: number, target: Buffer, offset: number, length: number, position: number) => {
        this.#enter('read')
        return this.#handle(fd)
          .inode.cache.bytes()
          .copy(target, offset, position, position + length)
      },
      writeSync: (fd: number, bytes: Buffer, offset: number, length: number, position: number | null) => {
        this.#enter('write')
        const { inode, isAppending } = this.#handle(fd)
        const at = isAppending || position === null ? inode.cache.length : position
        const isGrowing = at + length > inode.cache.length
        const isShort = (this.isFull && isGrowing) || (length > 64 && this.#random.onceIn(40))
        const part = isShort ? this.#random.below(length) : length
        if (isGrowing && part === 0) this.#needRoom('write')
        const written = Buffer.from(bytes.subarray(offset, offset + Math.max(part, 1)))
        inode.change({ at, bytes: written })
        return written.length
      },
      ftruncateSync: (fd: number, length: number) => {
        this.#enter('truncate')
        this.#handle(fd).inode.change({ at: length })
      },
      linkSync: (from: string, to: string) => {
        this.#enter('link')
        const inode = this.#find(from)
        if (this.#names.has(nameOf(to))) throw errno('EEXIST', to)
        this.#needRoom('link')
        this.#changeNames(names => names.set(nameOf(to), inode))
      },
      renameSync: (from: string, to: string) => {
        this.#enter('rename')
        const inode = this.#find(from)
        this.#changeNames(names => {
          names.delete(nameOf(from))
          names.set(nameOf(to), inode)
        })
      },
      unlinkSync: (path: string) => {
        this.#enter('unlink')
        this.#find(path)
        this.#changeNames(names => names.delete(nameOf(path)))
      },
      readdir: (_path: string, done: (error: Error | null, names?: string[]) => void) => {
        try {
          this.#enter('readdir')
        } catch (error) {
          this.#scheduler.later('readdir', () => done(error as Error))
          return
        }
        const early = this.#random.onceIn(2) ? [...this.#names.keys()] : undefined
        this.#scheduler.later('readdir', () => done(null, early ?? [...this.#names.keys()]))
      },
      fdatasyncSync: (fd: number) => this.#syncNow('fdatasyncSync', fd),
      fsyncSync: (fd: number) => this.#syncNow('fsyncSync', fd),
      fdatasync: (fd: number, done: (error: Error | null) => void) => this.#syncLater('fdatasync', fd, done),
      fsync: (fd: number, done: (error: Error | null) => void) => this.#syncLater('fsync', fd, done),
    } satisfies Record<keyof Disk, unknown>
    return calls as unknown as Disk
  }

  #create(name: string): void {
    this.#needRoom('create')
    this.#lastInode += 1
    const inode = new Inode(this.#lastInode, this.#scheduler.current)
    this.#changeNames(names => names.set(name, inode))
  }
}

// --- internal ---

type NameChange = (names: Map<string, Inode>) => void

interface Handle {
  readonly inode: Inode
  readonly isAppending: boolean
  readonly owner: Owner
}

/** A write, or without bytes the setting of a length. */
interface FileChange {
  readonly at: number
  readonly bytes?: Uint8Array
}

class Inode {
  /** What reads show. */
  cache = new Bytes()
  /** What a loss of power leaves at least. */
  safe = new Bytes()
  readonly unsafe: FileChange[] = []

  constructor(
    readonly number: number,
    readonly maker: Owner,
  ) {}

  change(change: FileChange): void {
    this.cache.apply(change)
    this.unsafe.push(change)
  }

  /** What was written first stays first: other orders are enumerated by the tests of the store itself. */
  losePower(random: Random): void {
    const kept = this.unsafe.splice(0, random.below(this.unsafe.length + 1))
    const last = random.onceIn(2) ? kept.pop() : undefined
    for (const change of kept) this.safe.apply(change)
    if (last !== undefined) this.safe.apply(torn(last, random))
    this.unsafe.length = 0
    this.cache = this.safe.copy()
  }
}

class Bytes {
  length = 0
  #buffer = Buffer.alloc(256)

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.length)
  }

  apply({ at, bytes }: FileChange): void {
    const end = at + (bytes?.length ?? 0)
    if (bytes === undefined || end > this.length) this.#resize(end)
    if (bytes !== undefined) this.#buffer.set(bytes, at)
  }

  copy(): Bytes {
    const copy = new Bytes()
    copy.apply({ at: 0, bytes: this.bytes() })
    return copy
  }

  /** Longer than it was, it ends in zeros. */
  #resize(length: number): void {
    if (length > this.#buffer.length) this.#buffer = Buffer.concat([this.#buffer], length * 2)
    if (length < this.length) this.#buffer.fill(0, length, this.length)
    this.length = length
  }
}

const ROOT = new Inode(0, { name: 'root', state: 'running' })

function nameOf(path: string): string {
  return path.slice(DIRECTORY.length + 1)
}

function errno(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code })
}

/** What of the unsynced changes reaches the disk all the same: a first part, or any. */
function chosen<T>(changes: readonly T[], random: Random): readonly T[] {
  const count = random.below(changes.length + 1)
  return random.onceIn(2) ? changes.slice(0, count) : changes.filter(() => random.onceIn(2))
}

/** Of a write only the beginning, or only the length. */
function torn({ at, bytes }: FileChange, random: Random): FileChange {
  if (bytes === undefined) return { at }
  const part = bytes.slice()
  const cut = random.below(part.length + 1)
  return random.onceIn(2) ? { at, bytes: part.subarray(0, cut) } : { at, bytes: part.fill(0, cut) }
}

/** Makes a lock name a process start, or a boot, that is over. */
function disguise(inode: Inode, member: 'start' | 'boot'): void {
  for (const target of [inode.cache, inode.safe]) {
    const bytes = target.bytes()
    const mark = `"${member}":"`
    const found = bytes.indexOf(mark)
    if (found < 0) continue
    for (let at = found + mark.length; at < bytes.length && bytes[at] !== QUOTE; at++) {
      if (bytes[at]! <= NINE) bytes[at] = ZERO
    }
  }
}

const QUOTE = 0x22
const ZERO = 0x30
const NINE = 0x39
