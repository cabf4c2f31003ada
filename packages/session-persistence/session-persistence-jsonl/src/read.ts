import type { SessionEvent } from '@palimpsest/session'
import type { Damage, StoredLog } from '@palimpsest/session-persistence'
import { type Chain, openChain, openOwnLog } from './chain.js'
import type { Directory } from './directory.js'
import { O_RDONLY } from './disk.js'
import { highestLock, isFree } from './lock.js'

/** Reads without a lease, beside whoever writes. A part of a large log is found through the index. */
export async function readLog(
  directory: Directory,
  id: string,
  range: { from?: number; to?: number },
): Promise<StoredLog | undefined> {
  const from = Math.max(0, range.from ?? 0)
  const to = Math.max(0, range.to ?? Number.POSITIVE_INFINITY)
  const isWhole = from === 0 && to === Number.POSITIVE_INFINITY
  let log = await readOnce(directory, id, from, to, isWhole)
  if (log === MISLED) log = await readOnce(directory, id, from, to, true)
  if (log === undefined || log === MISLED) return undefined
  return { ...log, damage: await settled(directory, id, log.damage) }
}

/** An unterminated tail under a live lock is not written yet, no damage. */
export async function settled(directory: Directory, id: string, damage: Damage[]): Promise<Damage[]> {
  if (damage.at(-1)?.code !== 'RECORD_TORN') return damage
  const lock = await highestLock(directory, id)
  return lock === undefined || isFree(lock) ? damage : damage.slice(0, -1)
}

// --- internal ---

/** The index leads nowhere: everything is to be looked at. */
const MISLED = Symbol('misled by the index')

async function readOnce(
  directory: Directory,
  id: string,
  from: number,
  to: number,
  isWhole: boolean,
): Promise<StoredLog | typeof MISLED | undefined> {
  const own = openOwnLog(directory.disk, directory.paths, id, O_RDONLY)
  if (own === undefined) return undefined
  const scanned: SessionEvent[] = []
  const chain = await openChain(directory.paths, own, {
    isWhole,
    onRecord: ({ event }) => {
      if (event.seq >= from && event.seq < to) scanned.push(event)
    },
  })
  try {
    const events = isWhole ? scanned : joinIndexed(chain, from, to, scanned)
    return events === undefined ? MISLED : { header: chain.header, events, length: chain.length, damage: chain.damage }
  } finally {
    chain.close()
  }
}

/** Puts the events that have checkpoints, and so were not scanned, between those that were. */
function joinIndexed(chain: Chain, from: number, to: number, scanned: SessionEvent[]): SessionEvent[] | undefined {
  const end = Math.min(to, chain.soundLength)
  try {
    const parts = chain.segments.map(segment => {
      // What has no checkpoint was scanned.
      return chain.readEvents(Math.max(from, segment.base), Math.min(end, segment.current.from))
    })
    return [...parts.flat(), ...scanned].sort((a, b) => a.seq - b.seq)
  } catch {
    return undefined
  }
}
