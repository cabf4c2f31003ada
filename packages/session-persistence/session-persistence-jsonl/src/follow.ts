import { type FSWatcher, watch } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { SessionEvent } from '@palimpsest/session'
import { eventUnreadable, type Follower, sessionRemoved } from '@palimpsest/session-persistence'
import { Cursor, type Page } from './cursor.js'
import type { Directory } from './directory.js'
import { NO_THROW } from './disk.js'
import { type Look, lookAgain } from './look.js'
import type { Crc } from './record.js'
import type { ScannedRecord } from './scan.js'

/** Goes along with a log from seq `from` on. `undefined` where there is no such session. */
export async function followLog(directory: Directory, id: string, from: number): Promise<Follower | undefined> {
  const cursor = await Cursor.open(directory, id, from, false)
  return cursor && new LogFollower(directory, id, from, cursor)
}

// --- internal ---

/** How long nothing may happen before it is looked nevertheless: other hosts' writes raise no alarm, nor does an owner's death. */
const LOOK_EVERY_MS = 500

/** How long a log may be away from its name and come back. */
const MOVED_MS = 20

/**
 * What is read may not be in the log for good: an owner that was stopped may wake up and write into a
 * file that a takeover has copied already. So a page counts only if the highest lock was the same before
 * and after reading it, and the name stood for the file that was read in between:
 *
 * - Who takes over copies (or goes on in) what the file holds after his lock is there. Read before that,
 *   a record is in his copy.
 * - Until his copy is in place his lock says `unsynced`, and nothing behind that byte is given. From then
 *   on the name stands for the copy, which no sleeper has open.
 * - Where the owner is dead or has let go, nobody copies before there is another lock.
 * - A write that fails half-way is cut off again, its whole records too: those in front of a torn end wait
 *   with it while somebody may be writing. Who is cut short later than that is found out by the crc of the
 *   last record given, which must still stand in its place, in the same file and in any later one.
 * - A torn end that its next owner cuts under our eyes can look like a hole. Under one lock that happens
 *   once, so a hole counts when it is seen twice under the same lock, the second time without the index.
 * - A name that is gone, or stands for a log with another header, means that the session was removed.
 */
class LogFollower implements Follower {
  readonly #directory: Directory
  readonly #id: string
  readonly #headerCrc: Crc
  readonly #watcher: FSWatcher | undefined
  #cursor: Cursor
  /** The next to give. */
  #seq: number
  /** Of the record given last. */
  #lastCrc: Crc | undefined
  #look: Look | undefined
  /** A hole that was seen once: where, and under which lock. */
  #suspicion: string | undefined
  #isDirty = true
  #wake: (() => void) | undefined

  constructor(directory: Directory, id: string, from: number, cursor: Cursor) {
    this.#directory = directory
    this.#id = id
    this.#seq = from
    this.#cursor = cursor
    this.#headerCrc = cursor.headerCrc
    this.#watcher = watchNames(directory.path, name => {
      if (name === null || name.startsWith(`${id}.`)) this.#notify()
    })
  }

  async next(): Promise<SessionEvent[]> {
    this.#isDirty = false
    for (;;) {
      const events = await this.#tryNext()
      if (events !== LOOK_ON) return events
    }
  }

  changed(signal: AbortSignal): Promise<void> {
    if (this.#isDirty || signal.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        this.#wake = undefined
        resolve()
      }
      const timer = setTimeout(done, LOOK_EVERY_MS)
      signal.addEventListener('abort', done)
      this.#wake = done
    })
  }

  close(): void {
    this.#watcher?.close()
    this.#cursor.close()
    this.#notify()
  }

  // --- internal ---

  async #tryNext(): Promise<SessionEvent[] | typeof LOOK_ON> {
    await this.#assertThere()
    const before = await this.#lookAgain()
    const hasMoved = this.#inode() !== this.#cursor.inode || !this.#cursor.isAnchored()
    if (hasMoved && !(await this.#reopen(false))) return this.#lookLater()
    const page = this.#cursor.read(before.limit, this.#lastCrc === undefined ? this.#seq : 0)
    const after = await this.#lookAgain()
    if (after.epoch !== before.epoch || this.#inode() !== this.#cursor.inode) return this.#lookLater()
    if (page.isTorn && !after.isFree) return NOTHING
    if (page.records.length > 0) return this.#take(page)
    if (page.isHoled) return this.#meetHole(page.next.seq, after.epoch)
    if (this.#isShort && before.limit === Number.POSITIVE_INFINITY) throw this.#takenBack()
    return NOTHING
  }

  async #lookAgain(): Promise<Look> {
    this.#look = await lookAgain(this.#directory, this.#id, this.#look)
    return this.#look
  }

  /** A remover that was overtaken, and finds that it has moved the new owner's log, puts it back at once. */
  async #assertThere(): Promise<void> {
    if (this.#inode() === undefined) await pause(MOVED_MS)
    if (this.#inode() === undefined) throw sessionRemoved(this.#id)
  }

  #inode(): number | undefined {
    const { disk, paths } = this.#directory
    return disk.statSync(paths.log(this.#id), NO_THROW)?.ino
  }

  /** The record given last is not in the file, as far as it was read. */
  get #isShort(): boolean {
    return this.#lastCrc !== undefined && this.#cursor.seq < this.#seq
  }

  /** At the block of the record given last, so that this is looked at once more. `false` while the log is away. */
  async #reopen(isWhole: boolean): Promise<boolean> {
    const cursor = await this.#openAgain(isWhole)
    if (cursor === undefined) return false
    this.#cursor.close()
    this.#cursor = cursor
    if (cursor.headerCrc !== this.#headerCrc) throw sessionRemoved(this.#id)
    return true
  }

  async #openAgain(isWhole: boolean): Promise<Cursor | undefined> {
    try {
      return await Cursor.open(this.#directory, this.#id, this.#seq, isWhole)
    } catch (error) {
      // A removal takes the log away first, and then the files that it needs.
      await this.#assertThere()
      throw error
    }
  }

  #take(page: Page): SessionEvent[] | typeof LOOK_ON {
    const isOther = ({ event, crc }: ScannedRecord) => event.seq === this.#seq - 1 && crc !== (this.#lastCrc ?? crc)
    if (page.records.some(isOther)) throw this.#takenBack()
    this.#cursor.pass(page)
    const fresh = page.records.filter(({ event }) => event.seq >= this.#seq)
    const last = fresh.at(-1)
    if (last === undefined) return LOOK_ON
    this.#suspicion = undefined
    this.#seq = last.event.seq + 1
    this.#lastCrc = last.crc
    return fresh.map(({ event }) => event)
  }

  async #meetHole(seq: number, epoch: number): Promise<typeof LOOK_ON> {
    const suspicion = [seq, epoch, this.#cursor.inode].join()
    if (this.#suspicion === suspicion) {
      throw eventUnreadable(this.#id, seq, 'other bytes stand in its place, and the log goes on behind them')
    }
    this.#suspicion = suspicion
    await this.#reopen(true)
    return LOOK_ON
  }

  #takenBack(): Error {
    return eventUnreadable(this.#id, this.#seq - 1, 'it was given, and is not in the log any more')
  }

  #lookLater(): SessionEvent[] {
    this.#notify()
    return NOTHING
  }

  #notify(): void {
    this.#isDirty = true
    this.#wake?.()
  }
}

/** There may be more to give at once. */
const LOOK_ON = Symbol('look on')
const NOTHING: SessionEvent[] = []

/** `undefined` where the system has no way to tell, or no more of it. */
function watchNames(path: string, onName: (name: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, { persistent: false }, (_, name) => onName(name))
    return watcher.on('error', () => watcher.close())
  } catch {
    return undefined
  }
}
