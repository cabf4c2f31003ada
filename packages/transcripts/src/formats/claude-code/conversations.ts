import type { Finding } from '../../finding.js'
import type { RowIndex } from './row-index.js'
import { FLAG, KIND } from './row-kinds.js'

/** The conversations of one file. */
export interface Conversations {
  readonly count: number
  /** 1 for each row of the tree that belongs to the conversation. */
  members(conversation: number): Uint8Array
}

/**
 * Takes a file apart: first the session that it is of, then each subagent in it, then each other session whose rows
 * do not hang together with its own. Copies of rows belong to none.
 */
export function conversationsOf(rows: RowIndex, report: (finding: Finding) => void): Conversations {
  const trees = new Trees(rows)
  const sides = sidesOf(rows, trees)
  if (sides.includes(SIDE.foreign)) reportForeign(rows, row => sides[row] === SIDE.foreign, report)
  const groups = [
    ...groupsOf(
      rows,
      row => sides[row] === SIDE.subagent,
      row => trees.of(row),
    ),
    ...groupsOf(
      rows,
      row => sides[row] === SIDE.foreign,
      row => rows.sessionOf[row]!,
    ),
  ]
  return {
    count: 1 + groups.length,
    members(n) {
      const holds = n === 0 ? (row: number) => sides[row] === SIDE.own : (groups[n - 1] ?? (() => false))
      const members = new Uint8Array(rows.length)
      for (let row = 0; row < rows.length; row++) if (holds(row)) members[row] = 1
      return members
    },
  }
}

/** A record whose id was read before. */
export function reportCopies(rows: RowIndex, report: (finding: Finding) => void): void {
  for (const [copy, first] of rows.firstOf) {
    const [where, of] = [`line ${rows.lines[copy]}`, `line ${rows.lines[first]}`]
    report({ code: 'lineage.replayed-copy', severity: 'error', where, of })
  }
}

// --- internal ---

/** Which part of the file a row belongs to; `none`: to no conversation. */
const SIDE = { none: 0, own: 1, subagent: 2, foreign: 3 } as const

function sidesOf(rows: RowIndex, trees: Trees): Uint8Array {
  const hasMain = firstRow(rows, row => !rows.is(row, FLAG.sidechain) && rows.is(row, FLAG.message)) >= 0
  const isSide = (row: number) => hasMain && rows.is(row, FLAG.sidechain)
  const first = firstRow(rows, row => rows.is(row, FLAG.message) && !isSide(row))
  const session = first < 0 ? undefined : rows.sessionOf[first]
  const isOwnTree = new Uint8Array(rows.length)
  for (let row = 0; row < rows.length; row++) {
    if (isMember(rows, row) && (session === undefined || rows.sessionOf[row] === session)) isOwnTree[trees.of(row)] = 1
  }
  const sides = new Uint8Array(rows.length)
  for (let row = 0; row < rows.length; row++) {
    if (!isMember(rows, row)) continue
    sides[row] = isOwnTree[trees.of(row)] === 0 ? SIDE.foreign : isSide(row) ? SIDE.subagent : SIDE.own
  }
  return sides
}

/** Rows that hang together by parents, and over compactions. */
class Trees {
  readonly #above: Int32Array

  constructor(rows: RowIndex) {
    this.#above = new Int32Array(rows.length)
    for (let row = 0; row < rows.length; row++) this.#above[row] = row
    for (let row = 0; row < rows.length; row++) {
      if (!isMember(rows, row)) continue
      const parent = rows.rowOf(rows.parents[row]!)
      const older = rows.rowOf(rows.logicalParents.get(row) ?? -1)
      if (parent >= 0) this.#above[this.of(row)] = this.of(parent)
      if (older >= 0) this.#above[this.of(row)] = this.of(older)
    }
  }

  /** One row that stands for the tree. */
  of(row: number): number {
    let top = row
    while (this.#above[top] !== top) {
      this.#above[top] = this.#above[this.#above[top]!]!
      top = this.#above[top]!
    }
    return top
  }
}

function isMember(rows: RowIndex, row: number): boolean {
  return rows.kinds[row] !== KIND.other && !rows.is(row, FLAG.copy)
}

function firstRow(rows: RowIndex, holds: (row: number) => boolean): number {
  for (let row = 0; row < rows.length; row++) if (isMember(rows, row) && holds(row)) return row
  return -1
}

/** A group of rows for each key that a message has, in the order of their first messages. */
function groupsOf(
  rows: RowIndex,
  holds: (row: number) => boolean,
  keyOf: (row: number) => number,
): ((row: number) => boolean)[] {
  const keys = new Set<number>()
  for (let row = 0; row < rows.length; row++) {
    if (holds(row) && rows.is(row, FLAG.message)) keys.add(keyOf(row))
  }
  return Array.from(keys, key => row => holds(row) && keyOf(row) === key)
}

/** One finding for each run of records, side rows of such a session among them. */
function reportForeign(rows: RowIndex, isForeign: (row: number) => boolean, report: (finding: Finding) => void): void {
  const sessions = new Set<number>()
  for (let row = 0; row < rows.length; row++) if (isForeign(row)) sessions.add(rows.sessionOf[row]!)
  sessions.delete(-1)
  const isOfRun = (row: number) =>
    isForeign(row) || (rows.kinds[row] === KIND.other && sessions.has(rows.sessionOf[row]!))
  for (let row = 0; row < rows.length && sessions.size > 0; row++) {
    if (!isOfRun(row)) continue
    const first = row
    const session = rows.sessionOf[first]!
    while (row + 1 < rows.length && isOfRun(row + 1) && rows.sessionOf[row + 1] === session) row++
    const [from, to] = [rows.lines[first], rows.lines[row]]
    const where = from === to ? `line ${from}` : `line ${from}-${to}`
    const sessionId = rows.sessions.name(session) ?? ''
    report({ code: 'lineage.foreign-session', severity: 'error', where, sessionId, records: row + 1 - first })
  }
}
