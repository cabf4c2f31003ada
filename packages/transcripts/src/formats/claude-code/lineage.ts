import type { Finding } from '../../finding.js'
import { isVoidSummary } from '../void-summary.js'
import { widenStretch } from './kept-stretch.js'
import type { RowIndex } from './row-index.js'
import { FLAG, KIND } from './row-kinds.js'
import type { RowReader } from './row-reader.js'
import { SideBranches } from './side-branches.js'

/** Which rows make the conversation, decided before any of them becomes an event. */
export interface Lineage {
  /** By row: how many compactions lie behind it (0: what the model sees next), or -1 for a row that is not part of it. */
  readonly segments: Int32Array
  /** By row: the parent, over the gaps that were bridged, or -1. */
  parentOf(row: number): number
  /** Summary rows that take the place of everything before them, with the rows that stay behind them. */
  readonly summaries: ReadonlyMap<number, { readonly preserved: readonly number[] }>
  /** Rows of an abandoned stretch, by the edited prompt that takes its place. */
  readonly replacedBy: ReadonlyMap<number, number>
}

/**
 * From the newest message back by parents to the root, on over each compaction to what it shadows; then what belongs
 * beside that path: the other rows of a message, results of parallel calls, replies on branches that only a row
 * without a message has cut off.
 */
export function planLineage(
  rows: RowIndex,
  members: Uint8Array,
  reader: RowReader,
  report: (finding: Finding) => void,
): Lineage {
  const path = new Path(rows, members, reader, report)
  path.follow()
  const branches = new SideBranches(rows, members, path, report)
  branches.join()
  return {
    segments: path.segments,
    parentOf: row => path.parentOf(row),
    summaries: path.summaries,
    replacedBy: branches.edits(),
  }
}

/** The way back from the newest message. */
export class Path {
  readonly segments: Int32Array
  readonly summaries = new Map<number, { preserved: number[] }>()
  /** The first row of each segment, newest first: a boundary, or a summary without one. */
  readonly starts: number[] = []
  readonly #rows: RowIndex
  readonly #members: Uint8Array
  readonly #reader: RowReader
  readonly #report: (finding: Finding) => void
  #before: Int32Array | undefined
  #summaryOf: Map<number, number> | undefined
  readonly #bridges = new Map<number, number>()

  constructor(rows: RowIndex, members: Uint8Array, reader: RowReader, report: (finding: Finding) => void) {
    this.#rows = rows
    this.#members = members
    this.#reader = reader
    this.#report = report
    this.segments = new Int32Array(rows.length).fill(-1)
  }

  follow(): void {
    let segment = 0
    for (let from = this.#leaf(); from >= 0; segment++) from = this.#segment(from, segment)
  }

  parentOf(row: number): number {
    const bridge = this.#bridges.get(row)
    if (bridge !== undefined) return bridge
    let parent = this.#rows.rowOf(this.#rows.parents[row]!)
    // Through rows of a subagent, which are no part of the conversation.
    for (let steps = 0; parent >= 0 && this.#members[parent] !== 1 && steps < 1000; steps++) {
      parent = this.#rows.rowOf(this.#rows.parents[parent]!)
    }
    return parent >= 0 && this.#members[parent] === 1 ? parent : -1
  }

  // --- internal ---

  /** The newest message. */
  #leaf(): number {
    for (let row = this.#rows.length - 1; row >= 0; row--) {
      if (this.#members[row] === 1 && this.#rows.is(row, FLAG.message)) return row
    }
    return -1
  }

  /** Marks one segment and gives the row where the older one ends. */
  #segment(from: number, segment: number): number {
    let below = -1
    for (let row = from; row >= 0; ) {
      if (this.segments[row]! >= 0) {
        if (this.segments[row] === segment) this.#tell('lineage.cycle', 'info', row, {})
        return -1
      }
      this.segments[row] = segment
      const isBoundary = this.#rows.is(row, FLAG.boundary)
      const older = isBoundary ? this.#logicalParent(row) : this.#parentFor(row)
      if (isBoundary && this.#compacts(row, below, segment)) return older
      if (this.#isSummaryAlone(row, older)) {
        this.#start(row, segment, [])
        return older >= 0 ? older : this.#rowBefore(row)
      }
      below = row
      row = older
    }
    return -1
  }

  /** A summary that hangs under no boundary of its own: it stands for what lies before it all the same. */
  #isSummaryAlone(row: number, parent: number): boolean {
    if (!this.#rows.is(row, FLAG.summary) || this.#isVoid(row)) return false
    return parent < 0 || !this.#rows.is(parent, FLAG.boundary)
  }

  /** The parent of a row of the path. One that was never written, or hangs under the row, is the row before it in the file. */
  #parentFor(row: number): number {
    const parent = this.parentOf(row)
    const isCycle = parent >= 0 && this.segments[parent]! >= 0
    if (!isCycle && (parent >= 0 || this.#rows.parents[row]! < 0)) return parent
    const before = this.#rowBeyond(row)
    this.#bridges.set(row, before)
    if (isCycle && before < 0) this.#tell('lineage.cycle', 'info', row, {})
    else {
      this.#tell('lineage.dangling-parent', 'error', row, {
        missing: String(this.#reader.record(row)?.parentUuid),
        ...(before >= 0 && { bridgedTo: this.#reader.uuid(before) }),
      })
    }
    return before
  }

  /** Whether the compaction that begins at this boundary took place: not without a summary. */
  #compacts(boundary: number, below: number, segment: number): boolean {
    const isBelow = below >= 0 && this.#rows.is(below, FLAG.summary)
    const summary = isBelow ? below : this.#summaryAfter(boundary)
    if (summary < 0 || this.#isVoid(summary)) {
      const where = summary < 0 ? boundary : summary
      this.#tell('compaction.void-summary', 'error', where, {})
      return false
    }
    this.segments[summary] = segment
    this.#start(summary, segment, this.#widened(boundary, summary, segment))
    return true
  }

  #start(summary: number, segment: number, preserved: number[]): void {
    this.summaries.set(summary, { preserved })
    this.starts[segment] = summary
  }

  /** The row that a boundary follows, for whoever looks at the whole history. */
  #logicalParent(boundary: number): number {
    const name = this.#rows.logicalParents.get(boundary)
    const parent = name === undefined ? -1 : this.#rows.rowOf(name)
    if (parent >= 0 && this.#members[parent] === 1 && parent !== boundary) return parent
    const before = this.#rowBeyond(boundary)
    if (name !== undefined) {
      this.#tell('lineage.dangling-boundary', 'error', boundary, {
        missing: String(this.#reader.record(boundary)?.logicalParentUuid),
        ...(before >= 0 && { bridgedTo: this.#reader.uuid(before) }),
      })
    }
    return before
  }

  #summaryAfter(boundary: number): number {
    if (this.#summaryOf === undefined) {
      this.#summaryOf = new Map()
      for (let row = this.#rows.length - 1; row >= 0; row--) {
        if (this.#members[row] !== 1 || !this.#rows.is(row, FLAG.summary)) continue
        this.#summaryOf.set(this.#rows.rowOf(this.#rows.parents[row]!), row)
      }
    }
    return this.#summaryOf.get(boundary) ?? -1
  }

  #isVoid(summary: number): boolean {
    return this.#rows.is(summary, FLAG.failed) || isVoidSummary(this.#reader.text(summary))
  }

  /** The rows that a compaction kept, from the call on where it cut between a call and its result. */
  #widened(boundary: number, summary: number, segment: number): number[] {
    const preserved = this.#preserved(boundary)
    const widening = widenStretch(
      this.#rows,
      this.#members,
      preserved.length > 0 ? preserved : this.#behind(summary, segment),
    )
    if (widening === undefined) return preserved
    const { cut, movedTo, rows } = widening
    const names = { cut: this.#reader.uuid(cut), movedTo: this.#reader.uuid(movedTo) }
    this.#tell('compaction.cut-inside-pair', 'error', boundary, names)
    return [...rows.filter(row => row < boundary), ...preserved]
  }

  /** The rows of the path behind a summary. */
  #behind(summary: number, segment: number): number[] {
    const rows: number[] = []
    for (let row = summary + 1; row < this.#rows.length; row++) if (this.segments[row] === segment) rows.push(row)
    return rows
  }

  /** Rows before a boundary that stay live, in their order. */
  #preserved(boundary: number): number[] {
    const { ids, head, tail } = this.#reader.preserved(boundary)
    if (ids.length > 0) {
      const gone = ids.find(id => this.#rows.rowNamed(id) < 0)
      if (gone !== undefined) this.#tellGone(boundary, gone)
      return ids.map(id => this.#rows.rowNamed(id)).filter(row => row >= 0)
    }
    const first = this.#rows.rowNamed(head)
    if (head !== undefined && first < 0) this.#tellGone(boundary, head)
    const chain: number[] = []
    const seen = new Set<number>()
    for (let row = this.#rows.rowNamed(tail); row >= 0 && !seen.has(row); row = this.parentOf(row)) {
      seen.add(row)
      chain.push(row)
      if (row === first) return chain.reverse()
    }
    return []
  }

  /** Of the rows that a compaction says it kept, one was never written. */
  #tellGone(boundary: number, missing: unknown): void {
    this.#tell('lineage.dangling-boundary', 'error', boundary, { missing: String(missing) })
  }

  /** The nearest row before it that does not lie on the path. */
  #rowBeyond(row: number): number {
    let before = this.#rowBefore(row)
    while (before >= 0 && this.segments[before]! >= 0) before = this.#rowBefore(before)
    return before
  }

  /** The row of the tree before it in the file, of the same session. */
  #rowBefore(row: number): number {
    if (this.#before === undefined) {
      const last = new Int32Array(this.#rows.sessions.size + 1).fill(-1)
      this.#before = new Int32Array(this.#rows.length)
      for (let each = 0; each < this.#rows.length; each++) {
        const session = this.#rows.sessionOf[each]! + 1
        this.#before[each] = last[session]!
        if (this.#members[each] === 1 && this.#rows.kinds[each] !== KIND.other) last[session] = each
      }
    }
    return this.#before[row]!
  }

  #tell(code: string, severity: Finding['severity'], row: number, more: Record<string, string>): void {
    this.#report({ code, severity, where: `line ${this.#rows.lines[row]}`, ...more })
  }
}
