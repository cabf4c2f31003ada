import type { LazyLog } from '@palimpsest/session-persistence'
import { reopenLog } from './acquire.js'
import { type Chain, openChain, openOwnLog } from './chain.js'
import type { Directory } from './directory.js'
import { O_RDONLY } from './disk.js'
import type { JsonlLease } from './lease.js'
import { assertHeaderLine } from './log-file.js'
import { settled } from './read.js'

/** The log of a lease, as its landmarks. */
export async function openLazily(lease: JsonlLease): Promise<LazyLog | undefined> {
  const { chain, headerDamage, id } = lease
  if (headerDamage !== undefined) assertHeaderLine(headerDamage, id)
  if (chain === undefined) return undefined
  try {
    return describeChain(chain)
  } catch {
    // The index has led astray, or the log is damaged where it was not looked at.
    return describeChain(await reopenLog(lease, { isWhole: true }))
  }
}

/** The same beside whoever holds the lease. Its files are open only while something is read. */
export async function lookLazily(directory: Directory, id: string): Promise<LazyLog | undefined> {
  const log = (await lookOnce(directory, id, false)) ?? (await lookOnce(directory, id, true))
  return log && { ...log, damage: await settled(directory, id, log.damage) }
}

// --- internal ---

/** `undefined` where there is no such log, or where its index leads astray. */
async function lookOnce(directory: Directory, id: string, isWhole: boolean): Promise<LazyLog | undefined> {
  const own = openOwnLog(directory.disk, directory.paths, id, O_RDONLY)
  if (own === undefined) return undefined
  const chain = await openChain(directory.paths, own, { isWhole })
  try {
    return describeChain(chain)
  } catch (error) {
    if (isWhole) throw error
    return undefined
  } finally {
    chain.close()
  }
}

function describeChain(chain: Chain): LazyLog {
  const { header, soundLength: length, damage } = chain
  const load = (from: number, to: number) => chain.withFiles(() => chain.readEvents(from, to))
  return { header, length, load, damage, ...chain.readLandmarks() }
}
