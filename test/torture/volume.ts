import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const IMAGE_MB = 64
const JOURNAL_MB = 4
/** Longer than any cut takes: what is not synced is written by nobody. */
const COMMIT_SECONDS = 300
const RELEASE_TRIES = 600
const RELEASE_PAUSE_S = 0.05

/** An ext4 file system in a file, whose power can be cut: what it was asked to write and not to sync is gone. */
export class Volume {
  readonly path: string
  readonly #folder: string
  readonly #image: string
  readonly #onExit = () => this.dispose()
  #isMounted = false

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'palimpsest-volume-'))
    this.#image = join(this.#folder, 'image')
    this.path = join(this.#folder, 'mounted')
    mkdirSync(this.path)
    process.on('exit', this.#onExit)
    run('truncate', '-s', `${IMAGE_MB}M`, this.#image)
    run(
      'mkfs.ext4',
      '-q',
      '-m',
      '0',
      '-J',
      `size=${JOURNAL_MB}`,
      '-E',
      'lazy_itable_init=0,lazy_journal_init=0',
      this.#image,
    )
    this.mount()
  }

  /** Why there can be none here; `undefined` where there can. */
  static missing(): string | undefined {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux can mount an image'
    if (cutter() === undefined) return 'neither xfs_io nor python3 is there to cut the power'
    try {
      const volume = new Volume()
      volume.cut()
      volume.dispose()
      return undefined
    } catch (error) {
      return `an image could not be mounted and cut: ${(error as Error).message.trim()}`
    }
  }

  /** Replays the journal, as a machine does that starts again. */
  mount(): void {
    run('mount', '-o', `loop,commit=${COMMIT_SECONDS}`, this.#image, this.path)
    this.#isMounted = true
  }

  /** Cuts the power: from now on every write fails. Unmount it once nobody uses it. */
  cut(): void {
    const [command, ...args] = cutter()!
    run(command!, ...args, this.path)
  }

  /** Waits for whoever made a mount namespace meanwhile: its copy of the mount keeps the dead file system alive. */
  unmount(): void {
    run('umount', this.path)
    this.#isMounted = false
    for (let left = RELEASE_TRIES; isInUse(this.#image); left--) {
      if (left === 0) throw new Error(`expected ${this.#image} to be free once unmounted, found a loop device on it`)
      run('sleep', `${RELEASE_PAUSE_S}`)
    }
  }

  dispose(): void {
    process.off('exit', this.#onExit)
    // Lazily: whoever still has a file open there must not keep the rest from being taken away.
    if (this.#isMounted) spawnSync('umount', ['--lazy', this.path])
    this.#isMounted = false
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

// --- internal ---

/** EXT4_IOC_SHUTDOWN without a flush of the journal, for where there is no xfs_io. */
const IOCTL = `
import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack('I', 2))
`

function cutter(): string[] | undefined {
  if (spawnSync('xfs_io', ['-V']).status === 0) return ['xfs_io', '-x', '-c', 'shutdown']
  if (spawnSync('python3', ['-V']).status === 0) return ['python3', '-c', IOCTL]
  return undefined
}

function isInUse(image: string): boolean {
  return execFileSync('losetup', ['--associated', image], { encoding: 'utf8' }).trim() !== ''
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
