import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { isCheckpointDue, writeCheckpoint } from '../src/checkpoint.js'
import { Directory } from '../src/directory.js'
import { type Disk, nodeDisk, O_RDONLY } from '../src/disk.js'
import { CHECKPOINT_EVENTS, INDEX_FROM_BYTES } from '../src/index-file.js'
import { type HeaderLine, type LogFile, openLogFile, readHeaderLine } from '../src/log-file.js'
import type { ScannedRecord } from '../src/scan.js'
import { Segment, type SegmentOptions } from '../src/segment.js'
import { OFFSET_EVERY } from '../src/stretch.js'
import { lineOf, mixedEvent, recordOf } from './format-samples.js'
import { newDirectory } from './stores.js'

const LENGTH = 1500
const INDEXED = 1300
const header = { version: 0, id: 's', createdAt: 1_700_000_000_000 }
const fork = { ...header, parent: { id: 'p', length: 40, crc: '00000000' } }

const lines = Array.from({ length: LENGTH }, (_, seq) => lineOf(mixedEvent(seq, 'x'.repeat(500))))
const events = lines.map(line => {
  const { crc: _, ...event } = JSON.parse(line)
  return event as SessionEvent
})
const body = lines.join('')

/** Counts what is read of the log file. */
function countingDisk() {
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

function make(content: string | Buffer): Made {
  const directory = new Directory(nodeDisk, newDirectory())
  const path = join(directory.path, 's.jsonl')
  writeFileSync(path, content)
  return { directory, path, index: join(directory.path, 's.index') }
}

function openFile({ path, index }: Made, disk: Disk = nodeDisk): { file: LogFile; line: HeaderLine } {
  const file = openLogFile(disk, path, index, O_RDONLY)!
  return { file, line: readHeaderLine(file.read) as HeaderLine }
}

async function withSegment<T>(
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
async function indexed(content = lineOf(header) + body, splits = [700, INDEXED]): Promise<Made> {
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

const landmarksOf = ({ stretches }: Segment) => ({
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

const isText = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

function expectRanges(segment: Segment) {
  for (const [from, to] of RANGES) {
    const read = segment.readEvents(from, to)
    expect(read.map(({ seq }) => seq)).toEqual(events.slice(from, to).map(({ seq }) => seq))
    expect(isText(read, events.slice(from, to)), `${from}…${to}`).toBe(true)
  }
}

describe('a log without an index', () => {
  test('is read whole', async () => {
    const made = make(lineOf(header) + body)
    await withSegment(made, (segment, scanned) => {
      expect(scanned).toEqual([...Array(LENGTH).keys()])
      expect([segment.base, segment.length, segment.soundLength]).toEqual([0, LENGTH, LENGTH])
      expect([segment.damage, segment.lostFrom, segment.isTerminated]).toEqual([[], undefined, true])
      expect(segment.header).toEqual(header)
      expect([segment.past, segment.indexBytes]).toEqual([[], 0])
      expect(segment.scannedEnd).toBe(statSync(made.path).size)
      expectRanges(segment)
    })
  })

  test('has the checksum of each record as it stands on its line', async () => {
    await withSegment(make(lineOf(header) + body), segment => {
      for (const seq of [0, 1, 127, 128, 129, 700, LENGTH - 1]) {
        expect(segment.crcOf(seq)).toBe(lines[seq]!.slice(-11, -3))
      }
      expect(() => segment.crcOf(LENGTH)).toThrow(/cannot be read/)
    })
  })

  test('of a fork counts from where its own records begin', async () => {
    const own = lines.slice(40, 400)
    await withSegment(make(lineOf(fork) + own.join('')), segment => {
      expect([segment.base, segment.length]).toEqual([40, 400])
      for (const [from, to] of [
        [40, 41],
        [40, 400],
        [167, 169],
        [168, 169],
        [399, 400],
      ] as const) {
        expect(segment.readEvents(from, to)).toEqual(events.slice(from, to))
      }
      expect(segment.crcOf(170)).toBe(lines[170]!.slice(-11, -3))
    })
  })

  test('knows whether its last line has a newline', async () => {
    const content = lineOf(header) + body
    await withSegment(make(content.slice(0, -1)), segment => expect(segment.isTerminated).toBe(false))
    await withSegment(make(lineOf(header)), segment => {
      expect([segment.length, segment.isTerminated, segment.scannedEnd]).toEqual([0, true, lineOf(header).length])
    })
    await withSegment(make(lineOf(header).slice(0, -1)), segment => expect(segment.isTerminated).toBe(false))
  })

  test('ends for a fork where the fork begins', async () => {
    await withSegment(
      make(lineOf(header) + body),
      (segment, scanned) => {
        expect([segment.length, segment.soundLength, scanned.length]).toEqual([300, 300, 300])
        expect(segment.readEvents(100, 300)).toEqual(events.slice(100, 300))
      },
      { stopSeq: 300 },
    )
  })

  test('tells its damage by line, and goes no further than the hole', async () => {
    const bad = lines.map((line, seq) => (seq === 900 ? line.replace('time', 'Time') : line))
    const made = make(`${lineOf(header)}${bad.join('')}torn`)
    await withSegment(made, segment => {
      expect(segment.damage.map(({ code, where }) => [code, where.line, where.seq])).toEqual([
        ['RECORD_DAMAGED', 902, 900],
        ['LOG_HOLE', 902, 900],
        ['RECORD_TORN', LENGTH + 2, LENGTH],
      ])
      expect([segment.length, segment.soundLength, segment.lostFrom, segment.tailFrom]).toEqual([LENGTH, 900, 900, 2])
      expect(segment.scannedEnd).toBe(statSync(made.path).size - 4)
      expect(landmarksOf(segment).turns.at(-1)).toBeLessThan(900)
      expect(segment.readEvents(700, 900)).toEqual(events.slice(700, 900))
      expect(() => segment.readEvents(899, 901)).toThrow(/event 900 cannot be read/)
    })
  })

  test('lets others run while a large one is read, and waits for who looks at it', async () => {
    const large = Array.from({ length: 60 }, (_, seq) => recordOf(seq, 'x'.repeat(100_000)))
    const { file, line } = openFile(make(lineOf(header) + large.join('')))
    let turns = 0
    let isOver = false
    const count = () => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    await Segment.open(file, line)
    isOver = true
    expect(turns).toBe(1)

    const seen: number[] = []
    await Segment.open(file, line, {
      onRecord: async ({ event }) => {
        await new Promise(resolve => setImmediate(resolve))
        seen.push(event.seq)
      },
    })
    expect(seen).toEqual([...Array(60).keys()])
    file.close()
  })
})

describe('a log with an index', () => {
  test('says the same as without, and only the end of it is scanned', async () => {
    const made = await indexed()
    const { count, disk } = countingDisk()
    const plain = await withSegment(make(lineOf(header) + body), landmarksOf)
    await withSegment(
      made,
      (segment, scanned) => {
        expect(scanned).toEqual(Array.from({ length: LENGTH - INDEXED }, (_, i) => INDEXED + i))
        expect(segment.past.map(({ from, to }) => [from, to])).toEqual([
          [0, 700],
          [700, INDEXED],
        ])
        expect(segment.indexBytes).toBe(statSync(made.index).size)
        expect([segment.length, segment.soundLength, segment.isTerminated]).toEqual([LENGTH, LENGTH, true])
        expect(landmarksOf(segment)).toEqual(plain)
        expect(count.bytes - segment.indexBytes).toBeLessThan(body.length / 4)
        expectRanges(segment)
        for (const seq of [0, 128, 700, INDEXED]) expect(segment.crcOf(seq)).toBe(lines[seq]!.slice(-11, -3))
      },
      {},
      disk,
    )
  })

  test('gives a few events for a small read', async () => {
    const { count, disk } = countingDisk()
    await withSegment(
      await indexed(),
      segment => {
        for (const from of [0, 127, 128, 500, 900, INDEXED - 130, LENGTH - 2]) {
          count.bytes = 0
          expect(segment.readEvents(from, from + 2)).toEqual(events.slice(from, from + 2))
          expect(count.bytes).toBeLessThan(2 * OFFSET_EVERY * 700)
        }
        count.bytes = 0
        segment.readEvents(7, 7)
        segment.readEvents(9, 7)
        expect(count.bytes).toBe(0)
      },
      {},
      disk,
    )
  })

  test('is scanned whole where every byte is asked for', async () => {
    await withSegment(
      await indexed(),
      (segment, scanned) => {
        expect(scanned).toHaveLength(LENGTH)
        expect(segment.past).toEqual([])
      },
      { isWhole: true },
    )
  })

  test('ends for a fork where the fork begins', async () => {
    const made = await indexed()
    for (const [stopSeq, indexedTo] of [
      [1400, INDEXED],
      [INDEXED, INDEXED],
      [INDEXED - 1, 700],
      [700, 700],
      [699, 0],
    ] as const) {
      await withSegment(
        made,
        (segment, scanned) => {
          expect([segment.length, segment.soundLength]).toEqual([stopSeq, stopSeq])
          expect(scanned).toEqual(Array.from({ length: stopSeq - indexedTo }, (_, i) => indexedTo + i))
          expect(isText(segment.readEvents(0, stopSeq), events.slice(0, stopSeq))).toBe(true)
        },
        { stopSeq },
      )
    }
  })

  test('that ends with it has nothing to scan', async () => {
    const made = await indexed(lineOf(header) + lines.slice(0, INDEXED).join(''))
    await withSegment(made, (segment, scanned) => {
      expect(scanned).toEqual([])
      expect([segment.length, segment.isTerminated]).toEqual([INDEXED, true])
      expect(isText(segment.readEvents(0, INDEXED), events.slice(0, INDEXED))).toBe(true)
    })
  })

  test('tells its damage by the line in the file', async () => {
    const made = await indexed()
    writeFileSync(made.path, 'torn', { flag: 'a' })
    await withSegment(made, segment => {
      expect(segment.damage).toEqual([
        {
          code: 'RECORD_TORN',
          where: { line: LENGTH + 2, offset: statSync(made.path).size - 4, seq: LENGTH },
          bytes: 4,
          kept: null,
        },
      ])
    })
  })

  test.each<[what: string, change: (content: string) => string]>([
    [
      'is shorter',
      content =>
        content
          .split(/(?<=\n)/)
          .slice(0, INDEXED)
          .join(''),
    ],
    [
      'ends within the last indexed record',
      content =>
        content
          .split(/(?<=\n)/)
          .slice(0, INDEXED + 1)
          .join('')
          .slice(0, -5),
    ],
    [
      'has another record where the index ends',
      content => content.replace(lines[INDEXED - 1]!, lines[INDEXED - 1]!.replace('time', 'Time')),
    ],
    [
      'has another right record where the index ends',
      content => {
        const other = { ...mixedEvent(INDEXED - 1, 'x'.repeat(500)), time: 1_700_000_009_999 }
        return content.replace(lines[INDEXED - 1]!, lineOf(other))
      },
    ],
  ])('that %s is not believed', async (_, change) => {
    const made = await indexed()
    const content = change(lineOf(header) + body)
    writeFileSync(made.path, content)
    const plain = make(content)
    const state = (segment: Segment, scanned: number[]) => ({
      ...landmarksOf(segment),
      damage: segment.damage,
      length: segment.length,
      scanned,
      past: segment.past,
    })
    expect(await withSegment(made, state)).toEqual(await withSegment(plain, state))
  })

  test('too small for one does not look at it', async () => {
    const made = await indexed()
    const small = lineOf(header) + lines.slice(0, 600).join('')
    expect(small.length).toBeLessThan(INDEX_FROM_BYTES)
    writeFileSync(made.path, small)
    const { count, disk } = countingDisk()
    await withSegment(
      made,
      segment => {
        expect(segment.length).toBe(600)
        expect(count.bytes).toBeLessThan(small.length + 20_000)
      },
      {},
      disk,
    )
  })

  test('whose offsets lie is read all the same', async () => {
    for (const shift of [1, lines[0]!.length, -1]) {
      const made = await indexed()
      const [one = '', two = ''] = readFileSync(made.index, 'utf8').split('\n')
      const { crc: _, ...point } = JSON.parse(one)
      point.offsets = point.offsets.map((offset: number, i: number) => (i === 0 ? offset : offset + shift))
      writeFileSync(made.index, `${lineOf(point)}${two}\n`)
      await withSegment(made, (segment, scanned) => {
        expect(scanned).toHaveLength(LENGTH - INDEXED)
        expectRanges(segment)
        expect(segment.readEvents(130, 300)).toEqual(events.slice(130, 300))
      })
    }
  })

  test('throws where a record is damaged, and gives what is not', async () => {
    const made = await indexed()
    writeFileSync(made.path, (lineOf(header) + body).replace(lines[400]!, lines[400]!.replace('time', 'Time')))
    await withSegment(made, segment => {
      expect(segment.length).toBe(LENGTH)
      expect(() => segment.readEvents(399, 402)).toThrow(/event 400 cannot be read/)
      expect(() => segment.readEvents(400, 401)).toThrow(/cannot be read/)
      expect(() => segment.crcOf(400)).toThrow(/event 400 cannot be read/)
      expect(segment.readEvents(399, 400)).toEqual(events.slice(399, 400))
      expect(segment.readEvents(401, 600)).toEqual(events.slice(401, 600))
    })
  })

  test('says the place of each landmark, and few calls read many', async () => {
    const { count, disk } = countingDisk()
    await withSegment(
      await indexed(),
      segment => {
        const places = segment.stretches.flatMap(({ markers }) => markers)
        count.calls = count.bytes = 0
        expect(segment.readPlaces(places)).toEqual(places.map(({ seq }) => events[seq]))
        expect(count.calls).toBe(1)
        const far = places.filter(({ seq }) => seq % 240 === 1)
        count.calls = count.bytes = 0
        expect(segment.readPlaces(far)).toEqual(far.map(({ seq }) => events[seq]))
        expect(count.calls).toBe(far.length)
        expect(count.bytes).toBe(far.reduce((sum, { bytes }) => sum + bytes, 0))
        expect(segment.readPlaces([])).toEqual([])
      },
      {},
      disk,
    )
  })

  test('never takes another record for a landmark', async () => {
    await withSegment(await indexed(), segment => {
      const [place, other] = segment.stretches.flatMap(({ markers }) => markers)
      for (const wrong of [
        { ...place!, seq: place!.seq + 1 },
        { ...place!, offset: other!.offset, bytes: other!.bytes },
        { ...place!, offset: place!.offset + 1 },
        { ...place!, bytes: place!.bytes - 2 },
        { ...place!, bytes: place!.bytes + 1 },
        { ...place!, offset: 10_000_000 },
      ]) {
        expect(() => segment.readPlaces([wrong])).toThrow(/does not stand/)
      }
      expect(segment.readPlaces([{ ...place!, bytes: place!.bytes - 1 }])).toEqual([events[place!.seq]])
    })
  })
})

describe('reading far apart', () => {
  test('takes neighbours in windows of a megabyte', async () => {
    const large = Array.from({ length: 30 }, (_, i) =>
      lineOf({ ...mixedEvent(1 + 12 * i, 'x'.repeat(100_000)), seq: i }),
    )
    const { count, disk } = countingDisk()
    await withSegment(
      make(lineOf(header) + large.join('')),
      segment => {
        const places = segment.stretches.flatMap(({ markers }) => markers)
        count.calls = count.bytes = 0
        expect(segment.readPlaces(places).map(({ seq }) => seq)).toEqual([...Array(30).keys()])
        expect(count.calls).toBe(3)
        expect(count.bytes).toBe(large.join('').length)
      },
      {},
      disk,
    )
  })
})

describe('a segment that was just made', () => {
  test('is what opening it would give', async () => {
    const made = make(lineOf(header) + body)
    const records: ScannedRecord[] = []
    const { file, line } = openFile(made)
    const opened = await Segment.open(file, line, { onRecord: record => void records.push(record) })
    const segment = Segment.made(file, line, records)
    expect(isText(landmarksOf(segment), landmarksOf(opened))).toBe(true)
    for (const key of ['base', 'length', 'lostFrom', 'tailFrom', 'scannedEnd', 'isTerminated', 'damage'] as const) {
      expect(segment[key]).toEqual(opened[key])
    }
    expect([segment.past, segment.indexBytes]).toEqual([[], 0])
    expectRanges(segment)
    file.close()
  })

  test('of a fork begins where the fork does', () => {
    const { file, line } = openFile(make(lineOf(fork)))
    const segment = Segment.made(file, line, [])
    expect([segment.base, segment.length, segment.soundLength, segment.scannedEnd]).toEqual([40, 40, 40, line.end])
    file.close()
  })
})

describe('a segment whose file was closed', () => {
  test('is read again where the same log stands there, and only there', async () => {
    const made = await indexed()
    const { file, line } = openFile(made)
    const segment = await Segment.open(file, line)
    file.close()
    expect(() => segment.readEvents(1, 2)).toThrow(/closed/)
    renameSync(made.path, `${made.path}.moved`)
    writeFileSync(made.path, readFileSync(`${made.path}.moved`))
    segment.reopen()
    expect(segment.readEvents(128, 131)).toEqual(events.slice(128, 131))
    for (const content of [lineOf({ ...header, createdAt: 1 }) + body, 'torn', '']) {
      file.close()
      writeFileSync(made.path, content)
      expect(() => segment.reopen()).toThrow(/cannot be read/)
    }
    file.close()
  })
})

describe('a checkpoint', () => {
  const open = () => readdirSync('/proc/self/fd').length

  test('is due after so many events', () => {
    const { file, line } = openFile(make(lineOf(header) + body))
    const segment = Segment.made(file, line, [])
    const add = (seq: number) =>
      segment.current.add({ event: mixedEvent(seq) as SessionEvent, offset: line.end + seq, bytes: 1, crc: 0 })
    for (let seq = 0; seq < CHECKPOINT_EVENTS - 1; seq++) add(seq)
    expect(isCheckpointDue(segment)).toBe(false)
    add(CHECKPOINT_EVENTS - 1)
    expect(isCheckpointDue(segment)).toBe(true)
    segment.turnPage()
    expect(isCheckpointDue(segment)).toBe(false)
    file.close()
  })

  test('is not written for a small log, a holed one, an unterminated one, or nothing new', async () => {
    const content = lineOf(header) + body
    for (const none of [
      lineOf(header) + lines.slice(0, 600).join(''),
      content.slice(0, -1),
      content.replace(lines[1400]!, 'bad\n'),
    ]) {
      const made = make(none)
      await withSegment(made, segment => writeCheckpoint(made.directory, segment))
      expect(readdirSync(made.directory.path)).toEqual(['s.jsonl'])
    }
    const made = await indexed(content, [INDEXED])
    const before = readFileSync(made.index)
    writeFileSync(made.path, lineOf(header) + lines.slice(0, INDEXED).join(''))
    await withSegment(made, segment => {
      writeCheckpoint(made.directory, segment)
      expect(segment.past).toHaveLength(1)
    })
    expect(readFileSync(made.index)).toEqual(before)
  })

  test('is written for a log of just the size', async () => {
    const spare = INDEX_FROM_BYTES - lineOf(header).length
    const empty = recordOf(0, '').length
    for (const [size, isWritten] of [
      [spare - 1, false],
      [spare, true],
    ] as const) {
      const made = make(lineOf(header) + recordOf(0, 'x'.repeat(size - empty)))
      await withSegment(made, segment => writeCheckpoint(made.directory, segment))
      expect(readdirSync(made.directory.path).includes('s.index')).toBe(isWritten)
      await withSegment(made, (_, scanned) => expect(scanned).toEqual(isWritten ? [] : [0]))
    }
  })

  test('takes the place of what could not be used, and is its owner’s alone', async () => {
    const made = await indexed(undefined, [700])
    const good = readFileSync(made.index, 'utf8')
    writeFileSync(made.index, `${good}${'rubbish '.repeat(10_000)}`, { mode: 0o644 })
    const before = open()
    await withSegment(made, segment => {
      expect(segment.indexBytes).toBe(good.length)
      writeCheckpoint(made.directory, segment)
      expect(segment.indexBytes).toBe(statSync(made.index).size)
      expect(segment.past.map(({ to }) => to)).toEqual([700, LENGTH])
      expect([segment.current.from, segment.current.to]).toEqual([LENGTH, LENGTH])
      expectRanges(segment)
    })
    expect(open()).toBe(before)
    expect(readFileSync(made.index, 'utf8').startsWith(good)).toBe(true)
    expect(readFileSync(made.index, 'utf8')).not.toContain('rubbish')
    expect(statSync(made.index).mode & 0o777).toBe(0o600)
    await withSegment(made, (_, scanned) => expect(scanned).toEqual([]))
  })

  test.each(['openSync', 'fchmodSync', 'ftruncateSync', 'writeSync'] as const)(
    'that fails in %s costs the index, and nothing else',
    async call => {
      const made = make(lineOf(header) + body)
      const failing = {
        ...nodeDisk,
        [call]: () => {
          throw Object.assign(new Error('EIO'), { code: 'EIO' })
        },
      } as unknown as Disk
      const before = open()
      await withSegment(made, segment => {
        writeCheckpoint(new Directory(failing, made.directory.path), segment)
        expect(segment.indexBytes).toBe(0)
        expect(segment.current.from).toBe(LENGTH)
        expectRanges(segment)
      })
      expect(open()).toBe(before)
      rmSync(made.index, { force: true })
      await withSegment(made, expectRanges)
    },
  )
})
