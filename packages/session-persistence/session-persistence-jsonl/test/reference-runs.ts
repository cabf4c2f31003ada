import type { SessionEvent } from '@palimpsest/session'
import type { Disk } from '../src/disk.js'
import { generateLog, type SampleLog } from './logs.js'
import { STORE } from './promises.js'
import type { SimulatedDisk } from './simulated-disk.js'
import type { Witness } from './witness.js'

/** What a store is put through. Each run is the same every time. */
export interface ReferenceRun {
  readonly name: string
  /** Faults of the disk that belong to the run. */
  readonly faults?: (disk: SimulatedDisk) => Disk
  readonly run: (witness: Witness) => Promise<void>
  /** Its share of all states; less where a disk holds several sessions and costs more to check. Default: 1. */
  readonly weight?: number
}

const LOG = generateLog('s', 16, { text: 'unicode' })
const path = (id: string) => `${STORE}/${id}.jsonl`

export const REFERENCE_RUNS: readonly ReferenceRun[] = [
  {
    name: 'create, append, release, append',
    async run(witness) {
      const first = await witness.acquire('s')
      for (const to of [3, 4, 8]) await witness.append(first, LOG, to)
      await first.release()
      const second = await witness.acquire('s')
      for (const to of [9, 16]) await witness.append(second, LOG, to)
      await second.release()
    },
  },
  {
    name: 'recovery of an open turn, twice',
    async run(witness) {
      await witness.append(await witness.acquire('s'), LOG, 6)
      witness.die()
      await witness.open('s', async append => {
        await append(1)
        await append(2)
      })
      await witness.open('s', append => append(1))
    },
  },
  {
    name: 'a torn tail, cut and kept aside',
    async run(witness) {
      await witness.append(await witness.acquire('s'), LOG, 5)
      witness.die()
      const tail = '{"seq":5,"time":1700000000005,"type":"assistant/chu'
      witness.leave(path('s'), tail)
      witness.keep('s', tail)
      await (await witness.acquire('s')).release()
      const more = '{"seq":5,"what":"no record"}\n{"seq":5,"time":17'
      witness.leave(path('s'), more)
      witness.keep('s', more)
      const lease = await witness.acquire('s')
      for (const to of [8, 10, 13]) await witness.append(lease, LOG, to)
      await lease.release()
    },
  },
  {
    name: 'a header that never became one, put aside',
    async run(witness) {
      const torn = '{"version":0,"id":"s","createdA'
      witness.leave(path('s'), torn)
      witness.keep('s', torn)
      const lease = await witness.acquire('s')
      await witness.append(lease, LOG, 4)
      await witness.append(lease, LOG, 8)
      await lease.release()
    },
  },
  {
    name: 'takeovers of owners that live, and one that wakes up',
    async run(witness) {
      const first = await witness.acquire('s')
      await witness.append(first, LOG, 4)
      const second = await witness.acquire('s', { takeover: true })
      await witness.append(second, LOG, 7)
      await witness.backend.append(first, LOG.header, LOG.events.slice(4, 6)).catch(() => {})
      const third = await witness.acquire('s', { takeover: true })
      await witness.append(third, LOG, 9)
      await third.release()
    },
  },
  {
    name: 'owners that die, and die again before they have written',
    async run(witness) {
      await witness.append(await witness.acquire('s'), LOG, 3)
      witness.die()
      await witness.acquire('s')
      witness.die()
      await witness.append(await witness.acquire('s'), LOG, 8)
      witness.die()
      await (await witness.acquire('s')).release()
    },
  },
  {
    name: 'a sync that fails, and the next owner',
    faults: failingSync(3),
    async run(witness) {
      const first = await witness.acquire('s')
      await witness.append(first, LOG, 4)
      await witness.append(first, LOG, 6)
      await witness.append(first, LOG, 9).catch(() => {})
      await first.release()
      const second = await witness.acquire('s')
      await witness.append(second, LOG, 12)
      await second.release()
    },
  },
  {
    name: 'syncs that fail again in the hands of the next owner',
    faults: failingSync(2, 3),
    async run(witness) {
      const first = await witness.acquire('s')
      await witness.append(first, LOG, 4)
      await witness.append(first, LOG, 9).catch(() => {})
      witness.die()
      await witness.acquire('s').catch(() => {})
      witness.die()
      const third = await witness.acquire('s')
      await witness.append(third, LOG, 12)
      await third.release()
    },
  },
  {
    name: 'forks of a session that is open, in mid-turn and closed',
    weight: 0.4,
    async run(witness) {
      const parent = await witness.acquire('s')
      await witness.append(parent, LOG, 6)
      const child = await forked(witness, 'child', LOG, 4)
      await witness.append(parent, LOG, 8)
      await witness.append(child.lease, child.log, 7)
      await child.lease.release()
      const grandchild = await forked(witness, 'grandchild', child.log, 6)
      await witness.append(grandchild.lease, grandchild.log, 9)
      await grandchild.lease.release()
      await parent.release()
    },
  },
  {
    name: 'removing the parents of a fork, and using their ids again',
    weight: 0.4,
    async run(witness) {
      const parent = await witness.acquire('s')
      await witness.append(parent, LOG, 6)
      await parent.release()
      const child = await forked(witness, 'child', LOG, 5)
      await child.lease.release()
      await witness.remove('s')
      const lease = await witness.acquire('child')
      await witness.append(lease, child.log, 8)
      await lease.release()
      const other = generateLog('s', 8, { text: 'separators' })
      const again = await witness.acquire('s')
      await witness.append(again, other, 3)
      await witness.append(again, other, 5)
      await again.release()
      await witness.remove('child')
    },
  },
  {
    name: 'a fork of a log whose sync failed',
    weight: 0.4,
    faults: failingSync(2),
    async run(witness) {
      const parent = await witness.acquire('s')
      await witness.append(parent, LOG, 4)
      await witness.append(parent, LOG, 8).catch(() => {})
      const child = await forked(witness, 'child', LOG, 7)
      await witness.append(child.lease, child.log, 9)
      await child.lease.release()
    },
  },
  {
    name: 'an owner that is killed between its write and its sync',
    weight: 0.4,
    async run(witness) {
      await witness.append(await witness.acquire('s'), LOG, 4)
      witness.leaveUnsynced(LOG, 4, 7)
      witness.die()
      const child = await forked(witness, 'child', LOG, 6)
      await witness.append(child.lease, child.log, 8)
      await child.lease.release()
      await witness.acquire('s')
      witness.die()
      await (await witness.acquire('s')).release()
    },
  },
  {
    name: 'a record without its newline',
    async run(witness) {
      const lease = await witness.acquire('s')
      await witness.append(lease, LOG, 4)
      await lease.release()
      const fd = witness.disk.openSync(path('s'), 2)
      witness.disk.ftruncateSync(fd, witness.disk.contentOf(path('s'))!.length - 1)
      witness.disk.fdatasyncSync(fd)
      witness.disk.closeSync(fd)
      const next = await witness.acquire('s')
      await witness.append(next, LOG, 5)
      await witness.append(next, LOG, 8)
      await next.release()
    },
  },
  {
    name: 'two sessions at the same time',
    async run(witness) {
      const other = generateLog('t', 16, { text: 'crlf' })
      const [one, two] = await both(witness.acquire('s'), witness.acquire('t'))
      for (const to of [2, 5, 8]) await both(witness.append(one, LOG, to), witness.append(two, other, to))
      await both(one.release(), two.release())
    },
  },
]

/** Grows over the size from which on a log has an index; its disks cost more to check. */
export const LARGE_RUN: ReferenceRun = {
  name: 'a log that grows into an index, is taken over, and forked',
  async run(witness) {
    const log = large()
    const first = await witness.acquire('s')
    for (const to of [4, 6, 8]) await witness.append(first, log, to)
    await first.release()
    const second = await witness.acquire('s')
    await witness.append(second, log, 10)
    const third = await witness.acquire('s', { takeover: true })
    await witness.append(third, log, 12)
    const child = await forked(witness, 'child', log, 9)
    await witness.append(child.lease, child.log, 11)
    await child.lease.release()
    await third.release()
  },
}

/** Fails the data syncs with these numbers, counted from 1. */
function failingSync(...numbers: number[]): (disk: SimulatedDisk) => Disk {
  return disk => {
    let count = 0
    const isFailing = (fd: number) => {
      count += 1
      if (!numbers.includes(count)) return undefined
      disk.failSync(fd)
      return Object.assign(new Error('EIO: made to fail'), { code: 'EIO' })
    }
    return wrapped(disk, {
      fdatasyncSync(fd: number) {
        const error = isFailing(fd)
        if (error !== undefined) throw error
        disk.fdatasyncSync(fd)
      },
      fdatasync(fd: number, done: (error: Error | null) => void) {
        const error = isFailing(fd)
        if (error !== undefined) done(error)
        else disk.fdatasync(fd, done)
      },
    })
  }
}

/** A disk with some of its calls replaced. */
export function wrapped(disk: SimulatedDisk, calls: object): Disk {
  return new Proxy(disk, {
    get(target, name) {
      if (name in calls) return calls[name as keyof typeof calls]
      const value = target[name as keyof SimulatedDisk] as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  }) as unknown as Disk
}

// --- internal ---

/** Waits for both, also where one fails. */
async function both<T>(...work: [Promise<T>, Promise<T>]): Promise<[T, T]> {
  await Promise.allSettled(work)
  return Promise.all(work)
}

async function forked(witness: Witness, id: string, parent: SampleLog, length: number) {
  const lease = await witness.acquire(id)
  const header = { ...parent.header, id, parent: { id: parent.header.id, length } }
  const log: SampleLog = { header, events: [...parent.events.slice(0, length), ...later(parent.events, length)] }
  await witness.fork(lease, log, length)
  return { lease, log }
}

/** What a fork does in place of what its parent did. */
function later(events: readonly SessionEvent[], from: number): SessionEvent[] {
  return events.slice(from).map(event => ({ ...event, time: event.time + 1000 }))
}

function large(): SampleLog {
  const { header, events } = generateLog('s', 14, { text: 'plain' })
  const filler = 'x'.repeat(40_000)
  return {
    header,
    events: events.map(event =>
      event.type === 'assistant/chunk'
        ? { ...event, data: { ...event.data, chunk: { type: 'text-delta', id: 't', text: filler } } }
        : event,
    ) as SessionEvent[],
  }
}
