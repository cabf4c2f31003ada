import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '@palimpsest/session'
import { expect } from 'vitest'
import { writeCheckpoint } from '../src/checkpoint.js'
import { Directory } from '../src/directory.js'
import { type Disk, nodeDisk, O_RDONLY } from '../src/disk.js'
import { type HeaderLine, type LogFile, openLogFile, readHeaderLine } from '../src/log-file.js'
import type { ScannedRecord } from '../src/scan.js'
import { Segment, type SegmentOptions } from '../src/segment.js'
import { lineOf, mixedEvent } from './format-samples.js'
import { newDirectory } from './stores.js'

export const LENGTH = 1500
export const INDEXED = 1300
export const header = { version: 0, id: 's', createdAt: 1_700_000_000_000 }
export const fork = { ...header, parent: { id: 'p', length: 40, crc: '00000000' } }

export const lines = Array.from({ length: LENGTH }, (_, seq) => lineOf(mixedEvent(seq, 'x'.repeat(500))))
export const events = lines.map(line => {
  const { crc: _, ...event } = JSON.parse(line)
  return event as SessionEvent
})
export const body = lines.join('')

/** Counts what is read of the log file. */
export function countingDisk() {
  const count = { bytes: 0, calls: 0 }
  const readSync = (...args: Parameters<typeof nodeDisk.readSync>) => {
    const read = nodeDisk.readSync(...args)
    count.bytes += read
    count.calls += 1
    return read
  }
  return { count, disk: { ...nodeDisk, readSync } as Disk }
}

interface Made {
  directory: Directory
  path: string
  index: string
}

export function make(content: string | Buffer): Made {
  const directory = new Directory(nodeDisk, newDirectory())
  const path = join(directory.path, 's.jsonl')
  writeFileSync(path, content)
  return { directory, path, index: join(directory.path, 's.index') }
}

export function openFile({ path, index }: Made, disk: Disk = nodeDisk): { file: LogFile; line: HeaderLine } {
  const file = openLogFile(disk, path, index, O_RDONLY)!
  return { file, line: readHeaderLine(file.read) as HeaderLine }
}

export async function withSegment<T>(
  made: Made,
  use: (segment: Segment, scanned: number[]) => T,
  options: SegmentOptions = {},
  disk: Disk = nodeDisk,
): Promise<T> {
  const { file, line } = openFile(made, disk)
  const scanned: number[] = []
  const onRecord = ({ event }: ScannedRecord) => void scanned.push(event.seq)
  try {
    return use(await Segment.open(file, line, { ...options, onRecord }), scanned)
  } finally {
    file.close()
  }
}

const indexes = new Map<string, Buffer>()

/** A log of which all but the end has a checkpoint. */
export async function indexed(content = lineOf(header) + body, splits = [700, INDEXED]): Promise<Made> {
  const made = make(content)
  const whole = readFileSync(made.path)
  const known = indexes.get(splits.join())
  if (known !== undefined) {
    writeFileSync(made.index, known)
    return made
  }
  for (const split of splits) {
    writeFileSync(
      made.path,
      content
        .split(/(?<=\n)/)
        .slice(0, split + 1)
        .join(''),
    )
    await withSegment(made, segment => writeCheckpoint(made.directory, segment))
  }
  writeFileSync(made.path, whole)
  indexes.set(splits.join(), readFileSync(made.index))
  return made
}

export const landmarksOf = ({ stretches }: Segment) => ({
  markers: stretches.flatMap(({ markers }) => markers),
  headers: stretches.flatMap(({ headers }) => headers),
  turns: stretches.flatMap(({ turns }) => turns),
  steps: stretches.flatMap(({ steps }) => steps),
  turnEnd: stretches.findLast(({ turnEnd }) => turnEnd !== undefined)?.turnEnd,
  offsets: stretches.flatMap(({ offsets }) => offsets),
})

const RANGES = [
  [0, 0],
  [0, 1],
  [0, LENGTH],
  [5, 4],
  [127, 129],
  [128, 256],
  [129, 130],
  [255, 385],
  [699, 701],
  [INDEXED - 1, INDEXED],
  [INDEXED - 1, INDEXED + 1],
  [INDEXED, LENGTH],
  [LENGTH - 1, LENGTH],
  [1279, 1281],
  [1280, 1300],
  [1407, 1500],
] as const

export const isText = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

export function expectRanges(segment: Segment) {
  for (const [from, to] of RANGES) {
    const read = segment.readEvents(from, to)
    expect(read.map(({ seq }) => seq)).toEqual(events.slice(from, to).map(({ seq }) => seq))
    expect(isText(read, events.slice(from, to)), `${from}…${to}`).toBe(true)
  }
}
