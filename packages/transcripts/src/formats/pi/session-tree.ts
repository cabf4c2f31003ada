import type { Finding } from '../../finding.js'
import type { Json } from '../../json/shapes.js'
import type { LineRecord } from '../../records.js'
import { type Entry, entryOf, isHeader } from './session-entry.js'

/** The entries of a file and the way from its root to its leaf, which is the last entry. */
export interface SessionTree {
  readonly header: Json | undefined
  /** Of the header among the records, -1 where there is none: entries follow it. */
  readonly headerAt: number
  readonly entries: readonly Entry[]
  /** Indices of entries, from the root on; nearly always rising. */
  readonly path: readonly number[]
  /** The place of each entry on the path, -1 beside it. */
  readonly places: Int32Array
}

/** Reads a file once for its tree alone, in memory of some hundred bytes an entry. Reports what is wrong with its links. */
export function readTree(records: Iterable<LineRecord>, report: (finding: Finding) => void): SessionTree {
  const entries: Entry[] = []
  let header: Json | undefined
  let headerAt = -1
  for (const record of records) {
    if (header === undefined && isHeader(record.value) && entries.every(({ shows }) => shows === undefined)) {
      header = record.value
      headerAt = entries.length
      entries.length = 0
    } else entries.push(entryOf(record, `${String(header?.id ?? 'session')}/${entries.length}`))
  }
  const own = ownEntries(header, entries, report)
  const hasIds = own.some(i => entries[i]!.hasId)
  const path = hasIds ? new TreeWalk(header, entries, own, report).path() : own
  const places = new Int32Array(entries.length).fill(-1)
  for (const [at, index] of path.entries()) places[index] = at
  return { header, headerAt, entries: withoutRepeats(entries, path), path, places }
}

// --- internal ---

/** All but what stands behind the header of another session, and headers. */
function ownEntries(header: Json | undefined, entries: readonly Entry[], report: (finding: Finding) => void): number[] {
  const own: number[] = []
  let foreign: { sessionId: string; from: number; records: number } | undefined
  const tell = (to: number) => {
    if (foreign === undefined) return
    const { from, sessionId, records } = foreign
    const where = from === to ? `line ${from}` : `line ${from}-${to}`
    report({ code: 'lineage.foreign-session', severity: 'error', where, sessionId, records })
  }
  for (const [i, { type, id, line }] of entries.entries()) {
    if (type === HEADER && header !== undefined) {
      tell(entries[i - 1]?.line ?? line)
      foreign = id === header.id ? undefined : { sessionId: id, from: line, records: 1 }
      if (foreign === undefined) report({ code: 'file.second-header', severity: 'info', where: `line ${line}` })
    } else if (foreign === undefined) own.push(i)
    else foreign.records += 1
  }
  tell(entries.at(-1)?.line ?? 0)
  return own
}

const HEADER = 'session'

/** A command that the user ran by hand, and that gave the same output again further on, is shown where it was run last. */
function withoutRepeats(entries: Entry[], path: readonly number[]): Entry[] {
  const later = new Set<string>()
  for (let at = path.length - 1; at >= 0; at--) {
    const index = path[at]!
    const { command, shows } = entries[index]!
    if (command === undefined || shows === undefined) continue
    if (later.has(command)) entries[index] = { ...entries[index]!, shows: undefined }
    later.add(command)
  }
  return entries
}

class TreeWalk {
  readonly #byId = new Map<string, number>()
  /** Entries whose id was read before: the first one counts. */
  readonly #copies = new Set<number>()

  constructor(
    private readonly header: Json | undefined,
    private readonly entries: readonly Entry[],
    /** The entries of this session, by their indices. */
    private readonly own: readonly number[],
    private readonly report: (finding: Finding) => void,
  ) {}

  path(): number[] {
    const { entries } = this
    for (const i of this.own) this.#index(entries[i]!, i)
    const path: number[] = []
    const seen = new Set<number>()
    for (let at = this.#leaf(); at !== undefined; ) {
      seen.add(at)
      path.push(at)
      const parent = this.#parentOf(at, seen)
      // What has no id can be nobody's parent: it stands on the way where it lies on it.
      for (let i = at - 1; i > (parent ?? -1) && !entries[i]!.hasId; i--) path.push(i)
      at = parent
    }
    return path.reverse()
  }

  #index(entry: Entry, i: number): void {
    const where = `line ${entry.line}`
    const first = this.#byId.get(entry.id)
    if (first !== undefined) {
      this.#copies.add(i)
      const of = `line ${this.entries[first]!.line}`
      this.report({ code: 'lineage.replayed-copy', severity: 'error', where, of })
      return
    }
    this.#byId.set(entry.id, i)
    if (entry.hasId || entry.shows === undefined) return
    const derivedFrom = [String(this.header?.id ?? 'session'), i]
    this.report({ code: 'event.missing-id', severity: 'error', where, derivedFrom })
  }

  #leaf(): number | undefined {
    return this.own.findLast(i => !this.#copies.has(i))
  }

  #parentOf(i: number, seen: ReadonlySet<number>): number | undefined {
    const { parentId, line, id, hasId } = this.entries[i]!
    if (parentId === null) return undefined
    if (parentId === undefined) return hasId ? undefined : this.#before(i, seen)
    const parent = this.#byId.get(parentId)
    const where = `line ${line}`
    const isCycle = parent !== undefined && seen.has(parent)
    if (parent === undefined || isCycle) {
      const before = this.#before(i, seen)
      const bridge = before === undefined ? {} : { bridgedTo: this.entries[before]!.id }
      if (isCycle && before === undefined) this.report({ code: 'lineage.cycle', severity: 'info', where })
      else this.report({ code: 'lineage.dangling-parent', severity: 'error', where, missing: parentId, ...bridge })
      return before
    }
    if (parent > i) this.report({ code: 'order.clock-disagrees', severity: 'error', where, id, parent: parentId })
    return parent
  }

  /** Of what is not on the way already. */
  #before(i: number, seen: ReadonlySet<number>): number | undefined {
    for (let at = i - 1; at >= 0; at--) {
      const isOwn = this.#byId.get(this.entries[at]!.id) === at
      if (isOwn && this.entries[at]!.hasId && !seen.has(at)) return at
    }
    return undefined
  }
}
