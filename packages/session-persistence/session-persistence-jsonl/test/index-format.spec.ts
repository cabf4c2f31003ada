import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Disk, nodeDisk } from '../src/disk.js'
import { addCheckpoint, readIndex, readNewest } from '../src/index-file.js'
import { crcText, RecordBuffer } from '../src/record.js'
import { Scan } from '../src/scan.js'
import { markerOf, OFFSET_EVERY, Stretch } from '../src/stretch.js'
import { inMemory, lineOf, mixedEvent } from './format-samples.js'
import { newDirectory } from './stores.js'

const HEADER_CRC = 0x00c0ffee
const BASE = 24
const START = 100
const [FIRST, SECOND] = [300, 200]

/** The landmarks of `count` events behind `last`. */
function stretchBehind(last: Stretch, count: number): Stretch {
  const lines = Array.from({ length: count }, (_, i) => lineOf(mixedEvent(last.to + i)))
  const { read } = inMemory(Buffer.concat([Buffer.alloc(last.end), Buffer.from(lines.join(''))]))
  const stretch = last.next()
  for (const record of new Scan(read, { offset: last.end, seq: last.to, line: 2 }).records()) stretch.add(record)
  return stretch
}

const none = new Stretch(BASE, BASE, START, { lastOffset: 0, lastCrc: HEADER_CRC })
const first = stretchBehind(none, FIRST)
const second = stretchBehind(first, SECOND)

function checkpointLine(stretch: Stretch, header = HEADER_CRC): string {
  const buffer = new RecordBuffer()
  addCheckpoint(buffer, stretch, header)
  return buffer.bytes.toString()
}

let files = 0

const LOG = { header: HEADER_CRC, base: BASE, offset: START }

function written(content: string): string {
  const path = join(newDirectory(), `${files++}.index`)
  writeFileSync(path, content)
  return path
}

const read = (content: string, log = LOG) => readIndex(nodeDisk, written(content), log)
const newest = (content: string, log = LOG) => readNewest(nodeDisk, written(content), log)

type Point = Record<string, unknown>
const pointOf = (stretch: Stretch): Point => {
  const { crc: _, ...point } = JSON.parse(checkpointLine(stretch))
  return point
}

describe('a stretch', () => {
  const seqs = (offset: number) => [...Array(FIRST).keys()].map(i => BASE + i).filter(seq => seq % 12 === offset)

  test('knows the landmarks of its records', () => {
    const first = stretchBehind(none, FIRST)
    expect([first.base, first.from, first.to, first.offset]).toEqual([BASE, BASE, BASE + FIRST, START])
    expect(first.turns).toEqual(seqs(0))
    expect(first.steps).toEqual(seqs(3))
    expect(first.headers.map(({ seq }) => seq)).toEqual(seqs(2))
    expect(first.turnEnd).toBe(seqs(11).at(-1))
    expect(first.markers.map(({ seq }) => seq)).toEqual(
      [...seqs(1), ...seqs(7), ...seqs(8), ...seqs(9)].sort((a, b) => a - b),
    )
    expect([...first.required].sort()).toEqual(
      [
        ['turn/start', BASE],
        ['user/message', BASE + 1],
        ['request/header', BASE + 2],
        ['step/start', BASE + 3],
        ['assistant/chunk', BASE + 4],
        ['assistant/message', BASE + 7],
        ['context/message', BASE + 8],
        ['surface/restore', BASE + 9],
        ['later/type', BASE + 10],
        ['turn/end', BASE + 11],
      ].sort(),
    )
  })

  test('gives back each marker as it was, its sources in their order', () => {
    const first = stretchBehind(none, FIRST)
    for (const placed of first.markers) {
      const { seq, type, surfaceOp, sourceEventSeqs } = mixedEvent(placed.seq) as unknown as ReturnType<typeof markerOf>
      expect(markerOf(placed)).toEqual({ seq, type, surfaceOp, ...(sourceEventSeqs && { sourceEventSeqs }) })
    }
  })

  test('knows where they stand', () => {
    const first = stretchBehind(none, FIRST)
    const places = new Map<number, [number, number]>()
    let offset = START
    for (let seq = BASE; seq < BASE + FIRST; seq++) {
      const bytes = Buffer.byteLength(lineOf(mixedEvent(seq)))
      places.set(seq, [offset, bytes])
      offset += bytes
    }
    expect(first.end).toBe(offset)
    expect(first.lastOffset).toBe(places.get(BASE + FIRST - 1)![0])
    expect(crcText(first.lastCrc)).toBe(lineOf(mixedEvent(BASE + FIRST - 1)).slice(-11, -3))
    for (const { seq, offset, bytes } of [...first.markers, ...first.headers]) {
      expect([offset, bytes]).toEqual(places.get(seq))
    }
    expect(first.offsets).toEqual([0, 1, 2].map(block => places.get(BASE + block * OFFSET_EVERY)![0]))
    expect(stretchBehind(first, SECOND).offsets).toHaveLength(1)
  })

  test('begins where the one before it ended', () => {
    const first = stretchBehind(none, FIRST)
    const { base, from, to, offset, end, lastOffset, lastCrc } = first.next()
    expect({ base, from, to, offset, end, lastOffset, lastCrc }).toEqual({
      base: BASE,
      from: first.to,
      to: first.to,
      offset: first.end,
      end: first.end,
      lastOffset: first.lastOffset,
      lastCrc: first.lastCrc,
    })
  })
})

describe('an index', () => {
  test('gives the stretches that were put into it', () => {
    const lines = [checkpointLine(first), checkpointLine(second)]
    const index = read(lines.join(''))
    expect(index.stretches).toEqual([first, second])
    expect(index.stretches[0]).toBeInstanceOf(Stretch)
    expect(index.bytes).toBe(Buffer.byteLength(lines.join('')))
    expect(lines[0]!.length).toBeLessThan((first.end - START) / 2)
  })

  test('of a stretch without turns or sources says so', () => {
    const lines = [4, 5, 6].map(seq => lineOf(mixedEvent(seq)))
    const { read: readAt } = inMemory(Buffer.concat([Buffer.alloc(START), Buffer.from(lines.join(''))]))
    const stretch = new Stretch(4, 4, START, { lastOffset: 0, lastCrc: HEADER_CRC })
    for (const record of new Scan(readAt, { offset: START, seq: 4, line: 2 }).records()) stretch.add(record)
    const line = checkpointLine(stretch)
    expect(JSON.parse(line)).not.toHaveProperty('turnEnd')
    expect(read(line, { ...LOG, base: 4 }).stretches).toEqual([stretch])
  })

  test('is good up to the first line that does not fit', () => {
    const good = checkpointLine(first)
    const up = { stretches: [first], bytes: Buffer.byteLength(good) }
    const next = pointOf(second)
    for (const rest of [
      '',
      checkpointLine(second).slice(0, -1),
      checkpointLine(second).replace('turns', 'Turns'),
      checkpointLine(second, HEADER_CRC + 1),
      good,
      lineOf({ ...next, from: second.from + 1 }),
      lineOf({ ...next, from: second.from - 1 }),
      lineOf({ ...next, offset: second.offset + 1 }),
      lineOf({ ...next, offset: second.offset - 1 }),
      `rubbish\n${checkpointLine(second)}`,
    ]) {
      expect(read(good + rest)).toEqual(up)
    }
  })

  test('of another log is no use', () => {
    const line = checkpointLine(first)
    const nothing = { stretches: [], bytes: 0 }
    const others = [{ header: HEADER_CRC + 1 }, { base: BASE + 1 }, { offset: START + 1 }]
    for (const other of others) {
      expect(read(line, { ...LOG, ...other })).toEqual(nothing)
      expect(newest(line, { ...LOG, ...other })).toBeUndefined()
    }
    expect(read('')).toEqual(nothing)
    expect(newest('')).toBeUndefined()
    expect(read(line).stretches).toHaveLength(1)
  })

  test('gives its newest stretch from its end, and says how far it is good', () => {
    const lines = [checkpointLine(first), checkpointLine(second)]
    const bytes = Buffer.byteLength(lines.join(''))
    expect(newest(lines.join(''))).toEqual({ stretch: second, bytes })
    expect(newest(lines[0]!)).toEqual({ stretch: first, bytes: Buffer.byteLength(lines[0]!) })
    expect(newest(`${lines.join('')}{"from":`)).toEqual({ stretch: second, bytes })
    // Whether what lies before it leads up to it is for others to find out.
    expect(newest(`rubbish\n${lines[1]}`)?.stretch).toEqual(second)
    for (const bad of [
      'rubbish\n',
      '\n',
      lines[1]!.replace('turns', 'Turns'),
      checkpointLine(second, HEADER_CRC + 1),
    ]) {
      expect(newest(lines[0] + bad)).toBeUndefined()
    }
    expect(newest(lines[0]!.slice(0, -1))).toBeUndefined()
  })

  test('gives its newest stretch however long the lines are, and reads no more of the others than it must', () => {
    const long = stretchBehind(none, 6000)
    const behind = stretchBehind(long, SECOND)
    const counted = { bytes: 0 }
    const disk = {
      ...nodeDisk,
      readSync: (...args: Parameters<typeof nodeDisk.readSync>) => {
        const got = nodeDisk.readSync(...args)
        counted.bytes += got
        return got
      },
    } as Disk
    const [longLine, line] = [checkpointLine(long), checkpointLine(behind)]
    expect(longLine.length).toBeGreaterThan(128 * 1024)
    for (const content of [longLine, `${line}\n`.repeat(3) + longLine]) {
      expect(newest(content)?.stretch).toEqual(long)
    }
    expect(readNewest(disk, written(longLine.repeat(3) + line), LOG)?.stretch).toEqual(behind)
    expect(counted.bytes).toBeLessThan(line.length + 20_000)
  })

  test('that cannot be read is as good as absent, and leaves no file open', () => {
    const directory = newDirectory()
    const absent = { stretches: [], bytes: 0 }
    const at = (name: string, disk: Disk = nodeDisk) => readIndex(disk, join(directory, name), LOG)
    mkdirSync(join(directory, 'folder'))
    symlinkSync('real', join(directory, 'link'))
    writeFileSync(join(directory, 'real'), checkpointLine(first))
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    for (const name of ['nothing', 'folder', 'link']) expect(at(name)).toEqual(absent)
    const failing = (call: keyof Disk, code: string) =>
      ({
        ...nodeDisk,
        [call]: () => {
          throw Object.assign(new Error(code), { code })
        },
      }) as Disk
    for (const code of ['ELOOP', 'EACCES', 'EPERM', 'EISDIR', 'ENXIO', 'EIO']) {
      expect(at('real', failing('openSync', code))).toEqual(absent)
    }
    expect(() => at('real', failing('openSync', 'EMFILE'))).toThrow('EMFILE')
    expect(at('real', failing('fstatSync', 'EIO'))).toEqual(absent)
    expect(at('real', failing('readSync', 'EIO'))).toEqual(absent)
    expect(at('real').stretches).toHaveLength(1)
    expect(open()).toBe(before)
  })
})

describe('a checkpoint', () => {
  const point = pointOf(first)
  const { from, to, offset, end } = first
  const [header, marker] = [first.headers[0]!, first.markers[1]!]
  const placed = (...entry: unknown[]) => ({ markers: [entry] })

  test.each<[what: string, change: Point]>([
    ['as it is', {}],
    ['with an unknown member', { later: 1 }],
    [
      'with a marker on its first and its last place',
      {
        markers: [
          [from, 'user/message', 'append', offset, 1],
          [to - 1, 'tool/result', 'append', end - 1, 1],
        ],
      },
    ],
    ['with a marker over all its bytes', placed(from, 'surface/restore', {}, offset, end - offset)],
    ['with runs up to the marker', placed(from + 9, 'user/message', 'append', offset, 9, [0, 0, 3, from + 8])],
    ['with runs that are not in order', placed(from + 9, 'user/message', 'append', offset, 9, [5, 7, 1, 2])],
    ['with no runs at all', placed(from + 9, 'user/message', 'append', offset, 9, [])],
    ['with no markers', { markers: [] }],
    [
      'with a header on its first and its last place',
      {
        headers: [
          [from, offset, 1],
          [to - 1, offset, end - offset],
        ],
      },
    ],
    ['with turns on its first and its last place', { turns: [from, to - 1] }],
    ['with steps next to each other', { steps: [from, from + 1] }],
    ['with no turns', { turns: [], turnEnd: undefined }],
    ['with a turn end on its first place', { turnEnd: from }],
    ['with a turn end on its last place', { turnEnd: to - 1 }],
    [
      'with required types on its first and its last place',
      {
        required: [
          ['a', from],
          ['b', to - 1],
        ],
      },
    ],
    ['with offsets on its first and its last byte', { offsets: [offset, offset + 1, end - 1] }],
    ['whose last record is all of it', { last: [offset, '00000000'] }],
    ['whose last record is its last byte', { last: [end - 1, '00000000'] }],
  ])('%s is taken', (_, change) => {
    const { stretches } = read(lineOf({ ...point, ...change }))
    expect(stretches).toHaveLength(1)
    expect(JSON.parse(checkpointLine(stretches[0]!))).toMatchObject(
      Object.fromEntries(
        Object.entries({ ...point, ...change }).filter(([key, value]) => key !== 'later' && value !== undefined),
      ),
    )
  })

  test.each<[what: string, change: Point]>([
    ['of another log', { header: crcText(HEADER_CRC + 1) }],
    ['that begins later', { from: from + 1 }],
    ['that begins earlier', { from: from - 1 }],
    ['that begins at another byte', { offset: offset + 1 }],
    ['that ends nowhere', { to: to + 0.5 }],
    ['that ends at a text', { to: String(to) }],
    ['whose end is no byte', { end: end + 0.5 }],
    ['whose end is a text', { end: String(end) }],
    ['whose last record lies before it', { last: [offset - 1, '00000000'] }],
    ['whose last record lies behind it', { last: [end, '00000000'] }],
    ['whose last record is no byte', { last: [offset + 0.5, '00000000'] }],
    ['without a last record', { last: undefined }],
    ['whose markers are no list', { markers: { length: 0 } }],
    ['without markers', { markers: undefined }],
    ['with a marker before it', placed(from - 1, 'user/message', 'append', offset, 9)],
    ['with a marker behind it', placed(to, 'user/message', 'append', offset, 9)],
    ['with a marker at half a seq', placed(from + 0.5, 'user/message', 'append', offset, 9)],
    [
      'with a marker twice',
      {
        markers: [marker, marker].map(({ seq, marker: { type }, offset, bytes }) => [
          seq,
          type,
          'append',
          offset,
          bytes,
        ]),
      },
    ],
    [
      'with markers that fall',
      {
        markers: [
          [from + 5, 'user/message', 'append', offset, 9],
          [from + 4, 'user/message', 'append', offset, 9],
        ],
      },
    ],
    ['with a marker at a byte before it', placed(from, 'user/message', 'append', offset - 1, 9)],
    ['with a marker at a byte behind it', placed(from, 'user/message', 'append', end, 1)],
    ['with a marker of no bytes', placed(from, 'user/message', 'append', offset + 5, 0)],
    ['with a marker that reaches out', placed(from, 'user/message', 'append', offset, end - offset + 1)],
    ['with a marker of another type', placed(from, 'turn/start', 'append', offset, 9)],
    [
      'with a good marker and then a bad one',
      {
        markers: [
          [from, 'user/message', 'append', offset, 9],
          [from + 1, 'note', 'append', offset, 9],
        ],
      },
    ],
    ['with half a run', placed(from + 9, 'user/message', 'append', offset, 9, [0, 1, 2])],
    ['with a run that falls', placed(from + 9, 'user/message', 'append', offset, 9, [2, 1])],
    ['with a run of what comes later', placed(from + 9, 'user/message', 'append', offset, 9, [0, from + 9])],
    ['with a run that begins later', placed(from + 9, 'user/message', 'append', offset, 9, [from + 9, from + 9])],
    ['with a run before the log', placed(from + 9, 'user/message', 'append', offset, 9, [-1, 3])],
    ['with a later run before the log', placed(from + 9, 'user/message', 'append', offset, 9, [0, 1, -2, 3])],
    ['with a run of halves', placed(from + 9, 'user/message', 'append', offset, 9, [0, 1.5])],
    ['with a header before it', { headers: [[from - 1, offset, 9]] }],
    ['with a header behind it', { headers: [[to, offset, 9]] }],
    ['with a header twice', { headers: [header, header].map(({ seq, offset, bytes }) => [seq, offset, bytes]) }],
    ['with a header at a byte before it', { headers: [[from, offset - 1, 9]] }],
    ['with a header at a byte behind it', { headers: [[from, end, 1]] }],
    ['with a header of no bytes', { headers: [[from, offset + 5, 0]] }],
    ['with a header that reaches out', { headers: [[from, offset, end - offset + 1]] }],
    [
      'with a good header and then a bad one',
      {
        headers: [
          [from, offset, 9],
          [from + 1, end, 9],
        ],
      },
    ],
    ['with a turn before it', { turns: [from - 1] }],
    ['with a turn behind it', { turns: [to] }],
    ['with a turn twice', { turns: [from, from] }],
    ['with turns that fall', { turns: [from + 4, from + 3] }],
    ['whose turns are no list', { turns: { length: 0 } }],
    ['with a step before it', { steps: [from - 1] }],
    ['with a step behind it', { steps: [from, to] }],
    ['with a turn end before it', { turnEnd: from - 1 }],
    ['with a turn end behind it', { turnEnd: to }],
    ['with a turn end that is none', { turnEnd: null }],
    ['with an offset before it', { offsets: [offset - 1, offset + 1, offset + 2] }],
    ['with an offset behind it', { offsets: [offset, offset + 1, end] }],
    ['with an offset twice', { offsets: [offset, offset, offset + 1] }],
    ['with an offset too few', { offsets: [offset, offset + 1] }],
    ['with an offset too many', { offsets: [offset, offset + 1, offset + 2, offset + 3] }],
    ['with a required type before it', { required: [['a', from - 1]] }],
    [
      'with a required type behind it',
      {
        required: [
          ['a', from],
          ['b', to],
        ],
      },
    ],
    ['with a required type that is no text', { required: [[7, from]] }],
    ['without required types', { required: undefined }],
  ])('%s is not believed', (_, change) => {
    expect(read(lineOf({ ...point, ...change }))).toEqual({ stretches: [], bytes: 0 })
  })
})
