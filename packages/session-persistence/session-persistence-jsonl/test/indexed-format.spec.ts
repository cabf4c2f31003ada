import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { INDEX_FROM_BYTES } from '../src/index-file.js'
import type { Segment } from '../src/segment.js'
import { OFFSET_EVERY } from '../src/stretch.js'
import { lineOf, mixedEvent } from './format-samples.js'
import {
  body,
  countingDisk,
  events,
  expectRanges,
  header,
  INDEXED,
  indexed,
  isText,
  LENGTH,
  landmarksOf,
  lines,
  make,
  withSegment,
} from './format-segments.js'

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

  test.each<[what: string, before: (first: string, newest: string) => string]>([
    ['is missing', () => ''],
    ['is another log’s', first => first.replace('"header"', '"Header"')],
    ['ends elsewhere', (_, newest) => newest],
  ])('whose first checkpoint %s still gives the end; what lies before is looked for in the log', async (_, before) => {
    const made = await indexed()
    const [first = '', newest = ''] = readFileSync(made.index, 'utf8').split(/(?<=\n)/)
    writeFileSync(made.index, before(first, newest) + newest)
    await withSegment(made, (segment, scanned) => {
      expect(scanned).toHaveLength(LENGTH - INDEXED)
      expect(segment.readEvents(INDEXED - 200, LENGTH)).toEqual(events.slice(INDEXED - 200))
      expect(() => segment.past).toThrow(/do not lead up to/)
      expect(segment.readEvents(100, 300)).toEqual(events.slice(100, 300))
      expect(segment.crcOf(130)).toBe(lines[130]!.slice(-11, -3))
    })
  })

  test.each(['from', 'to'])(
    'whose newest checkpoint has become another by its %s is not believed before it',
    async part => {
      const made = await indexed()
      const other = await indexed(lineOf(header) + body, part === 'from' ? [600, INDEXED] : [700, INDEXED - 100])
      await withSegment(made, segment => {
        writeFileSync(made.index, readFileSync(other.index))
        expect(() => segment.past).toThrow(/do not lead up to/)
      })
    },
  )

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

  test('that counts another number of events is not believed', async () => {
    for (const shift of [1, -1]) {
      const made = await indexed()
      const [one = '', two = ''] = readFileSync(made.index, 'utf8').split('\n')
      const { crc: _, ...point } = JSON.parse(two)
      for (const list of ['turns', 'steps', 'headers', 'markers']) point[list] = point[list].slice(0, 1)
      writeFileSync(made.index, `${one}\n${lineOf({ ...point, turnEnd: undefined, to: point.to + shift })}`)
      await withSegment(made, (segment, scanned) => {
        expect(scanned).toHaveLength(LENGTH)
        expect([segment.length, segment.damage]).toEqual([LENGTH, []])
      })
    }
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

  test('finds what stands behind records that share a line', async () => {
    const made = await indexed()
    const sound = await withSegment(made, segment => [393, 400].map(seq => segment.crcOf(seq)))
    writeFileSync(made.path, (lineOf(header) + body).replace(lines[390]!, `${lines[390]!.slice(0, -1)} `))
    for (const [from, to] of [
      [390, 391],
      [391, 392],
      [393, 400],
      [400, 600],
    ] as const) {
      await withSegment(made, segment => expect(segment.readEvents(from, to)).toEqual(events.slice(from, to)))
    }
    expect(await withSegment(made, segment => [393, 400].map(seq => segment.crcOf(seq)))).toEqual(sound)
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
