import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Who holds a lease. What could not be found out is `''`. */
export interface Owner {
  readonly host: string
  readonly machine: string
  readonly boot: string
  readonly pidns: string
  readonly pid: number
  /** The process's start, in ticks since the boot; a pid that was given away again has another one. */
  readonly start: string
}

/** This process, asked once. */
export function thisOwner(): Owner {
  self ??= {
    host: hostname(),
    machine: readText('/etc/machine-id') || readText('/var/lib/dbus/machine-id'),
    boot: readText('/proc/sys/kernel/random/boot_id'),
    pidns: readLink('/proc/self/ns/pid'),
    pid: process.pid,
    start: processOf('self')?.start ?? '',
  }
  return self
}

/**
 * Whether the owner is certainly dead: another boot of this host, or no such pid and start time in this
 * pid namespace. A stopped process lives; of another host, or another namespace, nothing is certain.
 */
export function isDead(owner: Owner, me: Owner = thisOwner()): boolean {
  if (owner.host !== me.host || owner.machine !== me.machine) return false
  if (owner.boot !== me.boot) return owner.boot !== '' && me.boot !== ''
  if (owner.pidns !== me.pidns) return false
  return !isRunning(owner, me)
}

/** The owner that a store has written down as JSON; `undefined` where nobody can say whose it is. */
export function ownerIn(text: string): Owner | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isOwner(value) ? value : undefined
  } catch {
    return undefined
  }
}

// --- internal ---

let self: Owner | undefined

function isOwner(value: unknown): value is Owner {
  if (typeof value !== 'object' || value === null) return false
  const { host, machine, boot, pidns, pid, start } = value as Partial<Owner>
  return Number.isSafeInteger(pid) && [host, machine, boot, pidns, start].every(text => typeof text === 'string')
}

function isRunning({ pid, start }: Owner, me: Owner): boolean {
  // A /proc of another namespace would speak of somebody else's pids.
  if (me.start !== '' && readLink('/proc/self') === String(me.pid)) {
    const process = processOf(String(pid))
    return process !== undefined && !process.isDefunct && process.start === start
  }
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function processOf(pid: string): { start: string; isDefunct: boolean } | undefined {
  const stat = readText(`/proc/${pid}/stat`)
  // The command's name may hold blanks and brackets; the fields begin behind its last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, start] = [fields[0], fields[19]]
  if (state === undefined || start === undefined) return undefined
  return { start, isDefunct: state === 'Z' || state === 'X' || state === 'x' }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1').trim()
  } catch {
    return ''
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
