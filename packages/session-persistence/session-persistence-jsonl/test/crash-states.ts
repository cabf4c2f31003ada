import { createHash } from 'node:crypto'
import { type Change, changed, type Image, nextVersion, type Stored } from './simulated-disk.js'

/** What a disk was told, from an image on. `directories` are the numbers that are no files. */
export interface Recording {
  readonly image: Image
  readonly changes: readonly Change[]
  readonly directories: ReadonlySet<number>
}

/** One disk that a loss of power may leave. Equal keys are equal disks. */
export interface CrashState {
  readonly key: string
  image(): Image
}

/**
 * What a loss of power may leave of a recording's first `upTo` changes.
 *
 * Bytes: a write whose file was not synced since is lost, whole, or torn at a byte (the front there and behind it
 * nothing, zeros or stale bytes, or the end there and zeros before it), each write for itself, so in any order; a
 * cut is done or not. What a failed sync covered stays so for ever, whatever is synced later.
 * Names, two models: as in a journal, the changes since the last sync are there up to some point; and harsher than
 * any file system we know, each name for itself is as it was at the last sync, or as after any change since.
 */
export class CrashPoint {
  readonly #names: NameFates
  readonly #files = new Map<number, FileFate>()
  readonly #recording: Recording
  readonly #upTo: number

  constructor(recording: Recording, upTo: number) {
    this.#recording = recording
    this.#upTo = upTo
    this.#names = new NameFates(recording, upTo)
  }

  /** Every state if there are at most `most`, else `undefined`. */
  all(most: number): CrashState[] | undefined {
    if (this.#names.count > most) return undefined
    const states: CrashState[] = []
    for (let i = 0; i < this.#names.count; i++) {
      const disk = this.#diskOf(this.#names.at(i))
      const count = disk.fates.reduce((product, { count }) => product * count, 1)
      if (states.length + count > most) return undefined
      for (let j = 0; j < count; j++) states.push(stateOf(disk, digitsOf(j, disk.fates)))
    }
    return states
  }

  /** One of them; nothing and all of a file's pending work come more often than their share. */
  draw(random: () => number): CrashState {
    const disk = this.#diskOf(this.#names.at(Math.floor(random() * this.#names.count)))
    const choice = disk.fates.map(fate => {
      const luck = random()
      if (luck < 0.15) return 0
      return luck < 0.45 ? fate.whole : Math.floor(random() * fate.count)
    })
    return stateOf(disk, choice)
  }

  /** All that was not synced is gone. */
  worst(): CrashState {
    const disk = this.#diskOf(this.#names.at(0))
    return stateOf(
      disk,
      disk.fates.map(() => 0),
    )
  }

  // --- internal ---

  #diskOf(names: Names): DiskFates {
    return { names, fates: [...new Set(names.values())].map(ino => this.#fateOf(ino)) }
  }

  #fateOf(ino: number): FileFate {
    let fate = this.#files.get(ino)
    if (fate === undefined) {
      fate = new FileFate(this.#recording, this.#upTo, ino)
      this.#files.set(ino, fate)
    }
    return fate
  }
}

// --- internal ---

type Names = ReadonlyMap<string, number>

/** Which names there may be. The first choices are those of the journal, the others those of the harsh model. */
class NameFates {
  readonly #steps: { readonly to: Extract<Change, { kind: 'names' }>['to']; readonly isCovered: boolean }[] = []
  readonly #base: Names
  readonly #pending: number
  /** Per name, what it may lead to. */
  readonly #choices: [string, (number | undefined)[]][]
  readonly count: number

  constructor({ image, changes }: Recording, upTo: number) {
    this.#base = new Map([...image].map(([path, { ino }]) => [path, ino]))
    const covered = coveredNames(changes, upTo)
    for (let i = 0; i < upTo; i++) {
      const change = changes[i]!
      if (change.kind === 'names') this.#steps.push({ to: change.to, isCovered: covered.has(i) })
    }
    this.#pending = this.#steps.filter(({ isCovered }) => !isCovered).length
    this.#choices = [...this.#choicesOf()].filter(([, values]) => values.length > 1)
    this.count =
      this.#pending + 1 + (this.#pending > 1 ? this.#choices.reduce((all, [, { length }]) => all * length, 1) : 0)
  }

  at(index: number): Names {
    return reachable(index <= this.#pending ? this.#journal(index) : this.#each(index - this.#pending - 1))
  }

  #journal(done: number): Map<string, number> {
    const names = new Map(this.#base)
    let left = done
    for (const { to, isCovered } of this.#steps) {
      if (!isCovered && left === 0) continue
      if (!isCovered) left -= 1
      for (const { path, ino } of to) set(names, path, ino)
    }
    return names
  }

  #each(index: number): Map<string, number> {
    const names = this.#journal(0)
    let rest = index
    for (const [path, values] of this.#choices) {
      set(names, path, values[rest % values.length])
      rest = Math.floor(rest / values.length)
    }
    return names
  }

  #choicesOf(): Map<string, (number | undefined)[]> {
    const choices = new Map<string, (number | undefined)[]>()
    for (const { to, isCovered } of this.#steps) {
      for (const { path, ino } of to) {
        const values = choices.get(path) ?? [this.#base.get(path)]
        if (isCovered) values.length = 0
        if (!values.includes(ino)) values.push(ino)
        choices.set(path, values)
      }
    }
    return choices
  }
}

function set(names: Map<string, number>, path: string, ino: number | undefined): void {
  if (ino === undefined) names.delete(path)
  else names.set(path, ino)
}

/** A directory that is not there takes what is in it along. */
function reachable(names: Map<string, number>): Names {
  for (const path of names.keys()) {
    const parent = path.slice(0, path.lastIndexOf('/'))
    if (parent !== '' && !names.has(parent)) names.delete(path)
  }
  return names
}

/** The name changes that a sync of their directory has brought to the disk. */
function coveredNames(changes: readonly Change[], upTo: number): Set<number> {
  const covered = new Set<number>()
  let pending: number[] = []
  for (let i = 0; i < upTo; i++) {
    const change = changes[i]!
    if (change.kind === 'names') pending.push(i)
    if (change.kind !== 'sync-names' && change.kind !== 'sync-names-failed') continue
    const isIn = (at: number) =>
      (changes[at] as Extract<Change, { kind: 'names' }>).to.every(({ path }) => parentOf(path) === change.path)
    if (change.kind === 'sync-names') for (const at of pending.filter(isIn)) covered.add(at)
    pending = pending.filter(at => !isIn(at))
  }
  return covered
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** What may be in one file. Choice 0: nothing of what was not synced; `whole`: all of it. */
class FileFate {
  readonly count: number
  readonly whole: number
  readonly ino: number
  readonly #isDirectory: boolean
  readonly #base: Buffer
  readonly #steps: Step[] = []
  readonly #ids = new Map<number, number>()

  constructor({ image, changes, directories }: Recording, upTo: number, ino: number) {
    this.ino = ino
    this.#isDirectory = directories.has(ino)
    this.#base = [...image.values()].find(stored => stored.ino === ino)?.data ?? Buffer.alloc(0)
    let pending: Step[] = []
    let size = this.#base.length
    for (let i = 0; i < upTo; i++) {
      const change = changes[i]!
      if (!('ino' in change) || change.ino !== ino) continue
      if (change.kind === 'write' || change.kind === 'truncate') {
        const step: Step = { change, size, isCovered: false, fates: NO_FATES }
        size = change.kind === 'write' ? Math.max(size, change.offset + change.bytes.length) : change.size
        this.#steps.push(step)
        pending.push(step)
      } else {
        if (change.kind === 'sync') for (const step of pending) step.isCovered = true
        pending = []
      }
    }
    const open = this.#steps.filter(({ isCovered }) => !isCovered)
    if (open.length > 0) {
      const role = roleOf(changes, ino)
      for (const step of open) step.fates = fatesOf(step.change, step.size, role)
    }
    this.count = open.reduce((product, { fates }) => product * fates.length, 1)
    this.whole = open.reduceRight((index, { fates }) => index * fates.length + 1, 0)
  }

  stored(choice: number): Stored {
    return { ino: this.ino, isDirectory: this.#isDirectory, data: this.#make(choice), version: nextVersion() }
  }

  /** Equal for equal contents. */
  contentId(choice: number): number {
    const known = this.#ids.get(choice)
    if (known !== undefined) return known
    const id = contentId(this.#make(choice))
    this.#ids.set(choice, id)
    return id
  }

  #make(choice: number): Buffer {
    let data = this.#base
    let rest = choice
    for (const { change, isCovered, fates } of this.#steps) {
      if (isCovered) {
        data = changed(data, change)
        continue
      }
      data = fates[rest % fates.length]!(data)
      rest = Math.floor(rest / fates.length)
    }
    return data
  }
}

interface Step {
  readonly change: Extract<Change, { kind: 'write' | 'truncate' }>
  /** Of the file before it. */
  readonly size: number
  isCovered: boolean
  fates: readonly Fate[]
}

const NO_FATES: readonly Fate[] = []

type Fate = (before: Buffer) => Buffer

/** `log`: torn at every byte; the others, whose bytes nobody was promised, at a few. */
type Role = 'log' | 'lock' | 'other'

function roleOf(changes: readonly Change[], ino: number): Role {
  const names = changes.flatMap(change => (change.kind === 'names' ? change.to : [])).filter(to => to.ino === ino)
  if (names.some(({ path }) => path.endsWith('.jsonl'))) return 'log'
  return names.some(({ path }) => path.includes('.lock.')) ? 'lock' : 'other'
}

const SECTOR_BYTES = 512
/** More places than this are thinned out evenly. */
const MOST_TEARS = { log: 800, lock: 1, other: 6 }

function fatesOf(change: Step['change'], size: number, role: Role): Fate[] {
  const lost: Fate = before => before
  const whole: Fate = before => changed(before, change)
  if (change.kind === 'truncate') return [lost, whole]
  const { ino, offset, bytes } = change
  const part = (from: number, to: number, fill: (bytes: number) => Buffer = Buffer.alloc): Fate => {
    const torn = () => Buffer.concat([fill(from), bytes.subarray(from, to), fill(bytes.length - to)])
    return before => changed(before, { kind: 'write', ino, offset, bytes: torn() })
  }
  const front =
    (to: number): Fate =>
    before =>
      changed(before, { kind: 'write', ino, offset, bytes: bytes.subarray(0, to) })
  const back =
    (from: number): Fate =>
    before =>
      changed(before, { kind: 'write', ino, offset: offset + from, bytes: bytes.subarray(from) })
  // Where there were bytes before there are these or those; new ones may be zeros, or what was once in their place.
  const isGrowth = offset >= size
  const fates = isGrowth ? [lost, whole, part(0, 0), part(0, 0, stale)] : [lost, whole]
  for (const at of tearsOf(offset, bytes.length, role)) {
    fates.push(front(at))
    if (role === 'lock') continue
    fates.push(back(at))
    if (isGrowth) fates.push(part(0, at), part(0, at, stale))
  }
  return fates
}

function tearsOf(offset: number, length: number, role: Role): number[] {
  const every = Math.max(1, Math.ceil(length / (MOST_TEARS[role] + 1)))
  const tears = new Set<number>()
  for (let at = every; at < length; at += every) tears.add(at)
  for (let at = SECTOR_BYTES - (offset % SECTOR_BYTES); at < length; at += SECTOR_BYTES) tears.add(at)
  return [...tears].sort((a, b) => a - b)
}

/** What another file once had there. */
function stale(bytes: number): Buffer {
  return Buffer.alloc(bytes, '{"seq":3,"time":1,"type":"was here before","crc":"00000000"}\n')
}

function digitsOf(index: number, fates: readonly FileFate[]): number[] {
  let rest = index
  return fates.map(({ count }) => {
    const digit = rest % count
    rest = Math.floor(rest / count)
    return digit
  })
}

interface DiskFates {
  readonly names: Names
  /** Of each file once, however many names it has. */
  readonly fates: readonly FileFate[]
}

function stateOf({ names, fates }: DiskFates, choice: readonly number[]): CrashState {
  return {
    get key() {
      const ids = new Map(fates.map((fate, i) => [fate.ino, fate.contentId(choice[i]!)]))
      const parts = [...names].map(([path, ino]) => `${path}=${ids.get(ino)}`)
      return parts.sort().join()
    },
    image() {
      const stored = new Map(fates.map((fate, i) => [fate.ino, fate.stored(choice[i]!)]))
      return new Map([...names].map(([path, ino]) => [path, stored.get(ino)!]))
    },
  }
}

const contentIds = new Map<string, number>()

function contentId(data: Buffer): number {
  const digest = createHash('md5').update(data).digest('base64')
  let id = contentIds.get(digest)
  if (id === undefined) {
    id = contentIds.size
    contentIds.set(digest, id)
  }
  return id
}
