import type { Finding } from '../../finding.js'
import type { Path } from './lineage.js'
import type { RowIndex } from './row-index.js'
import { FLAG, KIND } from './row-kinds.js'

interface Branch {
  readonly rows: number[]
}

/** What lies beside the path: some of it belongs to the conversation, some was given up for an edited prompt. */
export class SideBranches {
  readonly #rows: RowIndex
  readonly #members: Uint8Array
  readonly #path: Path
  readonly #report: (finding: Finding) => void
  /** Rows of the conversation that hold a message. */
  readonly #messages: Int32Array

  constructor(rows: RowIndex, members: Uint8Array, path: Path, report: (finding: Finding) => void) {
    this.#rows = rows
    this.#members = members
    this.#path = path
    this.#report = report
    this.#messages = messagesOf(rows, members)
  }

  /** Takes in what belongs to the conversation. */
  join(): void {
    const windows = this.#windows()
    this.#joinMessages(windows)
    if (this.#joinReplies()) this.#joinMessages(windows)
    this.#joinResults(windows)
    this.#joinQueued(windows)
  }

  /**
   * Prompts that a person wrote anew: what hung under the older one, by the prompt that takes its place. Only where
   * nothing of the conversation lies between, so that one stretch of the surface can be replaced.
   */
  edits(): Map<number, number> {
    const { segments } = this.#path
    const heads = new Int32Array(this.#rows.length).fill(-1)
    const branches = new Map<number, Branch>()
    const byParent = new Map<number, number[]>()
    const found = new Map<number, number>()
    let lastLive = -1
    for (const row of this.#messages) {
      const parent = this.#messageAbove(row)
      if (segments[row]! < 0) {
        const head = parent < 0 || segments[parent]! >= 0 ? row : heads[parent]!
        if (head < 0) continue
        heads[row] = head
        if (head !== row) branches.get(head)?.rows.push(row)
        else if (this.#rows.is(row, FLAG.prompt)) {
          branches.set(row, { rows: [row] })
          byParent.set(parent, [...(byParent.get(parent) ?? []), row])
        }
        continue
      }
      if (this.#rows.is(row, FLAG.prompt) && !this.#rows.is(row, FLAG.summary)) {
        for (const head of byParent.get(parent) ?? []) {
          if (head > lastLive) for (const each of branches.get(head)!.rows) found.set(each, row)
        }
        byParent.delete(parent)
      }
      lastLive = row
    }
    return found
  }

  // --- internal ---

  /** By row: the segment in whose stretch of the file it lies. What lies before a compaction does not come back behind it. */
  #windows(): Int32Array {
    const { starts } = this.#path
    const windows = new Int32Array(this.#rows.length)
    let segment = 0
    for (let row = this.#rows.length - 1; row >= 0; row--) {
      windows[row] = segment
      while (segment < starts.length && row <= starts[segment]!) segment++
    }
    return windows
  }

  /** The other rows of messages that lie on the path. */
  #joinMessages(windows: Int32Array): void {
    const { segments } = this.#path
    const live = new Int32Array(this.#rows.messages.size).fill(-1)
    for (const row of this.#messages) {
      const message = this.#rows.messageOf[row]!
      if (message >= 0 && segments[row]! >= 0) live[message] = segments[row]!
    }
    for (const row of this.#messages) {
      const message = this.#rows.messageOf[row]!
      if (message >= 0 && segments[row]! < 0 && live[message] === windows[row]) segments[row] = windows[row]!
    }
  }

  /** Replies beside a row without a message that the path goes over. */
  #joinReplies(): boolean {
    const { segments } = this.#path
    const deciding = new Map<number, number>()
    for (let row = 0; row < this.#rows.length; row++) {
      if (segments[row]! < 0 || this.#rows.is(row, FLAG.message)) continue
      const parent = this.#path.parentOf(row)
      if (parent >= 0 && !deciding.has(parent)) deciding.set(parent, row)
    }
    if (deciding.size === 0) return false
    const next = new Map<number, number>()
    const replies: [reply: number, by: number][] = []
    for (const row of this.#messages) {
      if (segments[row]! >= 0) continue
      const parent = this.#path.parentOf(row)
      if (!next.has(parent)) next.set(parent, row)
      const by = deciding.get(parent)
      if (by !== undefined && this.#rows.kinds[row] === KIND.assistant) replies.push([row, by])
    }
    for (const [reply, by] of replies) this.#joinReply(reply, by, next)
    return replies.length > 0
  }

  /** The reply, and what followed it. */
  #joinReply(reply: number, by: number, next: ReadonlyMap<number, number>): void {
    const { segments } = this.#path
    if (segments[reply]! >= 0) return
    if (!this.#rows.is(reply, FLAG.failed)) {
      const { lines } = this.#rows
      this.#report({
        code: 'lineage.sibling-recovered',
        severity: 'error',
        where: `line ${lines[reply]}`,
        by: `line ${lines[by]}`,
      })
    }
    for (let row = reply; row !== undefined && segments[row]! < 0; row = next.get(row)!) segments[row] = segments[by]!
  }

  /** Results of calls that belong to the conversation, wherever they hang. */
  #joinResults(windows: Int32Array): void {
    const { segments } = this.#path
    const live = new Int32Array(this.#rows.calls.size).fill(-1)
    for (const row of this.#messages) {
      if (this.#rows.kinds[row] !== KIND.assistant || segments[row]! < 0) continue
      for (const call of this.#rows.callsOf(row)) live[call] = segments[row]!
    }
    for (const row of this.#messages) {
      if (segments[row]! >= 0 || this.#rows.kinds[row] !== KIND.user) continue
      if (this.#rows.callsOf(row).some(call => live[call] === windows[row])) segments[row] = windows[row]!
    }
  }

  /** Rows under a live one that may hold what a person typed while the agent worked. */
  #joinQueued(windows: Int32Array): void {
    const { segments } = this.#path
    for (let row = 0; row < this.#rows.length; row++) {
      if (this.#members[row] !== 1 || this.#rows.kinds[row] !== KIND.attachment || segments[row]! >= 0) continue
      const parent = this.#path.parentOf(row)
      if (parent >= 0 && segments[parent] === windows[row]) segments[row] = windows[row]!
    }
  }

  /** The nearest message above a row. */
  #messageAbove(row: number): number {
    let above = this.#path.parentOf(row)
    for (let steps = 0; above >= 0 && !this.#rows.is(above, FLAG.message) && steps < 10_000; steps++) {
      above = this.#path.parentOf(above)
    }
    return above
  }
}

// --- internal ---

function messagesOf(rows: RowIndex, members: Uint8Array): Int32Array {
  const messages = new Int32Array(rows.length)
  let count = 0
  for (let row = 0; row < rows.length; row++) {
    if (members[row] === 1 && rows.is(row, FLAG.message)) messages[count++] = row
  }
  return messages.subarray(0, count)
}
