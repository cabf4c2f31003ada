import { dirname, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { closeFile, DIRECTORY_MODE, type Disk, O_RDONLY, syncData, syncDirectory } from './disk.js'
import { idOf, Paths } from './paths.js'
import { RecordBuffer } from './record.js'
import { Shared } from './shared.js'

/** The store's directory. Listing and syncing it cost the same for one session and for a thousand. */
export class Directory {
  readonly path: string
  readonly paths: Paths
  /** For one synchronous use at a time. */
  readonly scratch = new RecordBuffer()
  readonly #listing: Shared<Listing>
  readonly #sync: Shared<void>
  /** Syncs on the spot that were slow, in a row; nothing is known yet, so another thread has the first ones. */
  #slowSyncs = SLOW_SYNCS
  /** Syncs that another thread got since then. */
  #handedOver = 0

  constructor(
    readonly disk: Disk,
    directory: string,
  ) {
    const path = resolve(directory)
    this.path = path
    this.paths = new Paths(path)
    this.#listing = new Shared(() => listNames(disk, path).then(names => new Listing(names)))
    this.#sync = new Shared(() => syncDirectory(disk, path))
  }

  /** Made with its parents where it is missing; private whatever the umask. */
  make(): void {
    const first = this.disk.mkdirSync(this.path, { recursive: true, mode: DIRECTORY_MODE })
    if (first === undefined) return
    for (let made = this.path; made.length >= first.length; made = dirname(made)) {
      this.disk.chmodSync(made, DIRECTORY_MODE)
      this.#syncNow(dirname(made))
    }
  }

  /** The names in the directory as of some moment after the call. */
  list(): Promise<Listing> {
    return this.#listing.request()
  }

  /** Resolves when all that was linked, renamed or removed before the call is durable. */
  sync(): Promise<void> {
    return this.#sync.request()
  }

  /**
   * Makes a file's data durable: on the spot where that takes less than handing it to another thread,
   * which on a busy machine takes longer than most syncs. A single slow one says little. After several in
   * a row another thread waits for the device, and one sync in `PROBE_EVERY` holds the process to look again.
   */
  syncFile(fd: number): Promise<void> | undefined {
    const began = performance.now()
    const isFast = () => performance.now() - began < FAST_SYNC_MS
    if (this.#slowSyncs >= SLOW_SYNCS && this.#handedOver < PROBE_EVERY) {
      this.#handedOver += 1
      // Slow may be the way there and back, or the queue: that says nothing about the device.
      return syncData(this.disk, fd).then(() => {
        if (isFast()) this.#slowSyncs = 0
      })
    }
    this.disk.fdatasyncSync(fd)
    this.#slowSyncs = isFast() ? 0 : this.#slowSyncs + 1
    this.#handedOver = 0
    return undefined
  }

  // --- internal ---

  #syncNow(path: string): void {
    const fd = this.disk.openSync(path, O_RDONLY)
    try {
      this.disk.fsyncSync(fd)
    } finally {
      closeFile(this.disk, fd)
    }
  }
}

export class Listing {
  #byId: Map<string, string[]> | undefined
  #isAsked = false

  constructor(readonly names: readonly string[]) {}

  /** The names of one session's files. */
  of(id: string): readonly string[] {
    if (this.#byId === undefined && !this.#isAsked) {
      this.#isAsked = true
      return this.names.filter(name => name.startsWith(id) && name[id.length] === '.')
    }
    this.#byId ??= groupById(this.names)
    return this.#byId.get(id) ?? []
  }
}

// --- internal ---

const FAST_SYNC_MS = 0.5
const SLOW_SYNCS = 3
const PROBE_EVERY = 16

function groupById(names: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const name of names) {
    const id = idOf(name)
    const group = groups.get(id)
    if (group === undefined) groups.set(id, [name])
    else group.push(name)
  }
  return groups
}

function listNames(disk: Disk, path: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    disk.readdir(path, (error, names) => (error ? reject(error) : resolve(names)))
  })
}
