import type { RowIndex } from './row-index.js'
import { FLAG, KIND } from './row-kinds.js'

/** Where a compaction cut, and what has to stay with what it kept. */
export interface Widening {
  /** The row that the kept stretch began with, and the call that it begins with now. */
  readonly cut: number
  readonly movedTo: number
  /** The rows between, in the order of the file. */
  readonly rows: number[]
}

/** A stretch that begins with results whose calls were cut off begins with the first of those calls; else `undefined`. */
export function widenStretch(rows: RowIndex, members: Uint8Array, kept: readonly number[]): Widening | undefined {
  const said = kept.filter(row => rows.is(row, FLAG.message))
  const isKept = new Set(kept)
  let movedTo = -1
  for (const row of said) {
    if (!isResult(rows, row)) break
    for (const call of rows.callsOf(row)) {
      const owner = ownerOf(rows, members, call, row)
      if (owner >= 0 && !isKept.has(owner) && (movedTo < 0 || owner < movedTo)) movedTo = owner
    }
  }
  const [cut] = said
  if (movedTo < 0 || cut === undefined) return undefined
  const between: number[] = []
  for (let row = beginningOf(rows, members, movedTo); row < cut; row++) {
    if (members[row] === 1 && rows.is(row, FLAG.message) && !rows.is(row, FLAG.summary)) between.push(row)
  }
  return { cut, movedTo, rows: between }
}

// --- internal ---

function isResult(rows: RowIndex, row: number): boolean {
  return rows.kinds[row] === KIND.user && rows.callsOf(row).length > 0
}

/** The row before it that makes the call. */
function ownerOf(rows: RowIndex, members: Uint8Array, call: number, before: number): number {
  for (let row = before - 1; row >= 0; row--) {
    if (members[row] === 1 && rows.kinds[row] === KIND.assistant && rows.callsOf(row).includes(call)) return row
  }
  return -1
}

/** The first row of the API message that the row is of. */
function beginningOf(rows: RowIndex, members: Uint8Array, row: number): number {
  const message = rows.messageOf[row]!
  for (let first = 0; message >= 0 && first < row; first++) {
    if (members[first] === 1 && rows.messageOf[first] === message) return first
  }
  return row
}
