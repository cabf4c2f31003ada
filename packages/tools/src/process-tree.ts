import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * How the processes that came from one child are known again: its process group and session (`leader`), its
 * descendants, whoever carries `marker` in its environment, and whoever holds the pipe that it writes to. The last two
 * find those that moved to a session of their own. A process that left the session, cleared its environment, closed the
 * pipe and lost its parent is not found; nothing short of a container finds it. Elsewhere than on Linux only the group is known.
 */
export interface ProcessTree {
  readonly leader: number | undefined // undefined: nobody leads a group of this tree
  readonly marker: string // NAME=value, as it stands in the environment
  readonly pipe?: string | undefined // as a link in /proc/<pid>/fd names it
}

/** Ends the whole tree: SIGTERM, then SIGKILL after `graceMs`. Resolves with the pids that would not die (none, normally). */
export async function endTree(tree: ProcessTree, graceMs: number): Promise<number[]> {
  if (!isAlive(tree)) return []
  const graceEnds = Date.now() + graceMs
  signalTree(tree, 'SIGTERM')
  while (Date.now() < graceEnds) {
    if (!isAlive(tree)) return []
    await pause()
  }
  const killEnds = Date.now() + KILL_MS
  while (isAlive(tree) && Date.now() < killEnds) {
    signalTree(tree, 'SIGKILL')
    await pause()
  }
  return isAlive(tree) ? membersOf(tree) : []
}

/** Until the returned function is called, the exit of our own process kills the tree (a SIGKILL of ours cannot). */
export function endWithUs(tree: ProcessTree): () => void {
  if (live.size === 0) process.once('exit', killLive)
  live.add(tree)
  return () => {
    live.delete(tree)
    if (live.size === 0) process.removeListener('exit', killLive)
  }
}

/** The living members of the tree, zombies not counted. */
export function membersOf(tree: ProcessTree): number[] {
  const all = processes()
  const found = new Set(all.filter(each => isMember(each, tree)).map(each => each.pid))
  for (let before = -1; before !== found.size; ) {
    before = found.size
    for (const each of all) if (found.has(each.parent)) found.add(each.pid)
  }
  found.delete(process.pid)
  return [...found]
}

// --- internal ---

const KILL_MS = 5_000
const POLL_MS = 10

const live = new Set<ProcessTree>()

function killLive(): void {
  for (const tree of live) signalTree(tree, 'SIGKILL')
}

interface Running {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
}

function pause(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, POLL_MS))
}

function isAlive(tree: ProcessTree): boolean {
  return process.platform === 'linux' ? membersOf(tree).length > 0 : sendGroup(tree, 0)
}

/** The group at once, so that nobody in it can fork away in between; then who stands outside it. */
function signalTree(tree: ProcessTree, signal: NodeJS.Signals): void {
  const members = membersOf(tree)
  if (process.platform !== 'linux' || members.length > 0) sendGroup(tree, signal)
  for (const pid of members) send(pid, signal)
}

function sendGroup({ leader }: ProcessTree, signal: NodeJS.Signals | 0): boolean {
  return leader !== undefined && send(-leader, signal)
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false // gone already, or not ours
  }
}

function isMember(each: Running, tree: ProcessTree): boolean {
  if (each.pid === tree.leader || each.group === tree.leader || each.session === tree.leader) return true
  return (
    each.pid !== process.pid &&
    (carries(each.pid, tree.marker) || (tree.pipe !== undefined && holds(each.pid, tree.pipe)))
  )
}

function carries(pid: number, marker: string): boolean {
  return attempt(() => `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${marker}\0`), false)
}

function holds(pid: number, pipe: string): boolean {
  const descriptors = attempt(() => readdirSync(`/proc/${pid}/fd`), [])
  return descriptors.some(fd => attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`) === pipe, false))
}

function processes(): Running[] {
  const pids = attempt(() => readdirSync('/proc').filter(name => /^\d+$/.test(name)), [])
  return pids
    .map(pid => attempt(() => parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1')), undefined))
    .filter(each => each !== undefined)
}

/** `pid (name) state ppid pgrp session …`, where the name may itself hold parentheses and spaces. */
function parseStat(stat: string): Running | undefined {
  const [state, parent, group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return undefined
  return { pid: Number.parseInt(stat, 10), parent: Number(parent), group: Number(group), session: Number(session) }
}

/** A process may end between two looks at it; then it is simply not there. */
function attempt<T>(look: () => T, otherwise: T): T {
  try {
    return look()
  } catch {
    return otherwise
  }
}
