import { expect, test } from 'vitest'
import type { Disk } from '../src/disk.js'
import { FoundOut, losePower } from './power-loss.js'
import { REFERENCE_RUNS, wrapped } from './reference-runs.js'
import type { SimulatedDisk } from './simulated-disk.js'

const STATES = 300

type Done = (error: Error | null) => void

/** Makes the disk of a run one under which the store leaves out, or puts off, what it owes. Each must be found out. */
const MUTANTS: Record<string, (disk: SimulatedDisk) => Disk> = {
  'acknowledges without a sync': disk => syncing(disk, () => 'never'),
  'does not sync the directory': disk => wrapped(disk, { fsync: (_: number, done: Done) => done(null) }),
  'acknowledges before the sync': disk => syncing(disk, () => 'later'),
  'puts a new file in place before its sync': disk =>
    syncing(disk, ({ path, syncs }) => (path.includes('.tmp-') && syncs === 1 ? 'later' : 'now')),
  'cuts a tail before its side file is synced': disk =>
    syncing(disk, ({ path }) => (path.includes('.torn-') ? 'never' : 'now')),
  'does not sync what a dead owner has left': disk =>
    syncing(disk, ({ path, writes }) => (path.endsWith('.jsonl') && writes === 0 ? 'never' : 'now')),
  'takes a failed sync for a good one': disk =>
    wrapped(disk, {
      fdatasync: (fd: number, done: Done) => disk.fdatasync(fd, () => done(null)),
      fdatasyncSync(fd: number) {
        try {
          disk.fdatasyncSync(fd)
        } catch {}
      },
    }),
  'forgets a failed sync': disk =>
    wrapped(disk, {
      writeSync(...[fd, bytes, offset, length, position]: Parameters<SimulatedDisk['writeSync']>) {
        const text = Buffer.from(bytes).toString('latin1')
        const silent = position === null ? text : text.replace(/unsynced [0-9]+/, note => ' '.repeat(note.length))
        return disk.writeSync(fd, position === null ? bytes : Buffer.from(silent, 'latin1'), offset, length, position)
      },
    }),
}

test.each(Object.keys(MUTANTS))('a store that %s is found out', async name => {
  const found: string[] = []
  for (const run of REFERENCE_RUNS) {
    // The mutant stands between the store and the faults that belong to the run.
    const faults = (disk: SimulatedDisk) => MUTANTS[name]!((run.faults?.(disk) ?? disk) as SimulatedDisk)
    const error = await losePower({ ...run, faults }, STATES, 1).catch(error => error)
    if (error instanceof FoundOut) found.push(error.message)
    if (found.length > 0) break
  }
  console.log(`a store that ${name}: ${found}`)
  expect(found).not.toEqual([])
})

// --- internal ---

interface OpenFile {
  readonly path: string
  syncs: number
  writes: number
}

/** Makes data syncs at once, never, or only behind the next change of the disk. */
function syncing(disk: SimulatedDisk, when: (file: OpenFile) => 'now' | 'never' | 'later'): Disk {
  const files = new Map<number, OpenFile>()
  const late = new Set<number>()
  const catchUp = () => {
    for (const fd of late) disk.fdatasyncSync(fd)
    late.clear()
  }
  const sync = (fd: number) => {
    const file = files.get(fd)!
    file.syncs += 1
    const choice = when(file)
    if (choice === 'now') disk.fdatasyncSync(fd)
    if (choice === 'later') late.add(fd)
  }
  return wrapped(disk, {
    openSync(path: string, flags: number) {
      const fd = disk.openSync(path, flags)
      files.set(fd, { path, syncs: 0, writes: 0 })
      return fd
    },
    fdatasyncSync: sync,
    fdatasync(fd: number, done: Done) {
      sync(fd)
      done(null)
    },
    linkSync(from: string, to: string) {
      disk.linkSync(from, to)
      catchUp()
    },
    renameSync(from: string, to: string) {
      disk.renameSync(from, to)
      catchUp()
    },
    writeSync(...args: Parameters<SimulatedDisk['writeSync']>) {
      const written = disk.writeSync(...args)
      files.get(args[0])!.writes += 1
      catchUp()
      return written
    },
    closeSync(fd: number) {
      catchUp()
      disk.closeSync(fd)
    },
  })
}
