import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { ScannedRecord } from '../src/scan.js'
import { Segment } from '../src/segment.js'
import { lineOf, mixedEvent, recordOf } from './format-samples.js'
import {
  body,
  countingDisk,
  events,
  expectRanges,
  fork,
  header,
  indexed,
  isText,
  LENGTH,
  landmarksOf,
  lines,
  make,
  openFile,
  withSegment,
} from './format-segments.js'

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
    await withSegment(make(`${lineOf(fork)}${own.join('')}torn`), segment => {
      expect([segment.base, segment.length]).toEqual([40, 400])
      expect(segment.damage).toMatchObject([{ code: 'RECORD_TORN', where: { line: 362, seq: 400 } }])
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
