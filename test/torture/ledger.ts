import type { SessionEvent } from '@palimpsest/session'
import { openSession, type SessionBackend, type StoredLog } from '@palimpsest/session-persistence'
import type { Acknowledged, Said } from './said.js'
import { digestOf, STAMP } from './turns.js'

interface Entry {
  /** `making` and `removing`: whole or absent. */
  state: 'making' | 'stored' | 'removing' | 'absent'
  acknowledged: Acknowledged[]
  forked?: { parent: string; length: number }
}

/** What the workers of one store have said, and whether the store agrees. */
export class Ledger {
  readonly #entries = new Map<string, Entry>()
  readonly #touched = new Set<string>()
  /** What damage may be found at the end of a log. */
  readonly #tolerated: readonly string[]
  /** What mending the damaged session gives, if any is mended. */
  mended: { length: number; digest: number } | undefined
  acknowledgedEvents = 0

  constructor(tolerated: readonly string[]) {
    this.#tolerated = tolerated
  }

  hear(said: Said): void {
    const { making, acknowledged, forked, removing, removed } = said
    // Whoever makes a session has found none: what there was before was removed.
    if (making !== undefined) Object.assign(this.#entry(making), { state: 'making', acknowledged: [] })
    if (removing !== undefined) this.#entry(removing).state = 'removing'
    if (removed !== undefined) Object.assign(this.#entry(removed), { state: 'absent', acknowledged: [] })
    if (forked !== undefined) this.#entry(forked.id).forked = forked
    if (acknowledged === undefined) return
    const entry = this.#entry(acknowledged.id)
    entry.state = 'stored'
    entry.acknowledged.push(acknowledged)
    this.acknowledgedEvents += acknowledged.to - acknowledged.from
  }

  /** The session that the next worker goes on with. */
  get main(): string {
    return this.#stored().findLast(id => id.startsWith('m')) ?? 'm0'
  }

  /** What is wrong with the sessions that were worked on since the last look; none where all is well. */
  async check(backend: SessionBackend): Promise<string[]> {
    const problems: string[] = []
    for (const id of this.#touched) problems.push(...(await this.#checkSession(backend, id)))
    this.#touched.clear()
    return problems
  }

  /** Looks at everything once more, and opens each session for work. */
  async checkAll(backend: SessionBackend): Promise<string[]> {
    for (const id of this.#entries.keys()) this.#touched.add(id)
    const problems = await this.check(backend)
    for (const id of this.#stored()) problems.push(...(await openForWork(backend, id)))
    return problems
  }

  // --- internal ---

  #stored(): string[] {
    return [...this.#entries].filter(([, { state }]) => state === 'stored').map(([id]) => id)
  }

  #entry(id: string): Entry {
    this.#touched.add(id)
    let entry = this.#entries.get(id)
    if (entry === undefined) {
      entry = { state: 'absent', acknowledged: [] }
      this.#entries.set(id, entry)
    }
    return entry
  }

  async #checkSession(backend: SessionBackend, id: string): Promise<string[]> {
    const entry = this.#entry(id)
    let log: StoredLog | undefined
    try {
      log = await backend.read(id)
    } catch (error) {
      return [`${id} cannot be read: ${error}`]
    }
    if (log === undefined) return this.#absent(id, entry)
    if (entry.state === 'absent') return [`${id} was removed, and is there`]
    const problems = [
      ...this.#damageIn(log),
      ...forgottenIn(log, entry.acknowledged),
      ...foreignIn(log),
      ...(await unsharedIn(backend, log)),
      ...(log.header.importedFrom === undefined ? [] : this.#partlyMended(log)),
    ]
    // What was seen once stays.
    entry.state = 'stored'
    entry.acknowledged = [{ id, from: 0, to: log.length, digest: digestOf(log.events), epoch: 0 }]
    return problems.map(problem => `${id}: ${problem}`)
  }

  #absent(id: string, entry: Entry): string[] {
    const isLost = entry.state === 'stored' || (entry.state === 'making' && entry.acknowledged.length > 0)
    Object.assign(entry, { state: 'absent', acknowledged: [] })
    return isLost ? [`${id} was acknowledged, and is not there`] : []
  }

  #damageIn({ damage }: StoredLog): string[] {
    const bad = damage.filter(({ code }) => !this.#tolerated.includes(code))
    return bad.map(each => `expected no damage, found ${JSON.stringify(each)}`)
  }

  #partlyMended({ events, length }: StoredLog): string[] {
    const { mended } = this
    if (mended === undefined || (mended.length === length && mended.digest === digestOf(events))) return []
    return [`expected the mended session whole, ${mended.length} events, found ${length} or other ones`]
  }
}

/** Acknowledged events that are not there, or are others. */
export function forgottenIn({ events, length }: StoredLog, acknowledged: readonly Acknowledged[]): string[] {
  return acknowledged.flatMap(({ from, to, digest, epoch }) => {
    if (to > length) return [`events ${from} to ${to} were acknowledged to epoch ${epoch}, and the log has ${length}`]
    if (digestOf(events.slice(from, to)) === digest) return []
    return [`events ${from} to ${to}, acknowledged to epoch ${epoch}, have other bytes now`]
  })
}

/** Events that are not where their stamps say: gaps, doubles, strangers, and writers that alternate. */
export function foreignIn({ header, events }: StoredLog): string[] {
  const problems: string[] = []
  if (events.some(({ seq }, index) => seq !== index)) problems.push('its seqs are not 0, 1, 2 …')
  if (header.importedFrom !== undefined) return problems
  let epoch = 0
  for (let i = header.parent?.length ?? 0; i < events.length; i++) {
    const { time } = events[i]!
    if (isClosing(events[i]!, events[i - 1])) continue
    const writer = Math.floor(time / STAMP)
    if (time % STAMP !== i) problems.push(`event ${i} was written by epoch ${writer} as its event ${time % STAMP}`)
    if (writer < epoch) problems.push(`event ${i} of epoch ${writer} stands behind one of epoch ${epoch}`)
    epoch = Math.max(epoch, writer)
  }
  return problems
}

// --- internal ---

const CLOSING: readonly string[] = ['tool/result', 'step/end', 'turn/end']

/** Recovery has no clock: what it writes has the time of the event before. */
function isClosing({ type, time }: SessionEvent, before: SessionEvent | undefined): boolean {
  return before?.time === time && CLOSING.includes(type)
}

/** Where the parent is still there, a fork's shared part is the parent's. */
async function unsharedIn(backend: SessionBackend, { header, events }: StoredLog): Promise<string[]> {
  if (header.parent === undefined) return []
  const { id, length } = header.parent
  const parent = await backend.read(id, { from: 0, to: length })
  if (parent === undefined) return []
  if (events.length < length) return [`expected the ${length} events that it shares with ${id}, found ${events.length}`]
  return digestOf(parent.events) === digestOf(events.slice(0, length)) ? [] : [`what it shares with ${id} differs`]
}

async function openForWork(backend: SessionBackend, id: string): Promise<string[]> {
  try {
    const { session, flush, close } = await openSession(backend, id)
    session.append('turn/start', { turn: 1_000_000 })
    session.append('turn/end', { turn: 1_000_000, reason: { kind: 'completed' } })
    await flush()
    await close()
    const { length } = (await backend.read(id))!
    return length === session.length ? [] : [`${id}: expected ${session.length} events after work, found ${length}`]
  } catch (error) {
    return [`${id} does not open for work: ${error}`]
  }
}
