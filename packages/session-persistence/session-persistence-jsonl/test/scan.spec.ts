import type { Damage } from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { Scan, type ScanStart } from '../src/scan.js'
import { inMemory, lineOf, recordOf } from './format-samples.js'

const FIRST_LINE = 2

interface Result {
  seqs: number[]
  places: [offset: number, bytes: number][]
  scan: Scan
  damage: Damage[]
}

/** Scans lines as if they stood behind a header of 10 bytes. */
function scanned(content: string | Buffer, start: Partial<ScanStart> = {}): Result {
  const { read } = inMemory(Buffer.concat([Buffer.alloc(10), Buffer.from(content)]))
  const scan = new Scan(read, { offset: 10, seq: 0, line: FIRST_LINE, ...start })
  const seqs: number[] = []
  const places: [number, number][] = []
  for (const { event, offset, bytes } of scan.records()) {
    seqs.push(event.seq)
    places.push([offset, bytes])
    expect(scan.seq).toBe(event.seq + 1)
    expect(scan.end).toBe(offset + bytes)
  }
  return { seqs, places, scan, damage: scan.damage }
}

/** The state at the end, in one look. */
const ending = ({ scan }: Result) => ({
  seq: scan.seq,
  end: scan.end,
  isTerminated: scan.isTerminated,
  lostFrom: scan.lostFrom,
  tailFrom: scan.tailFrom,
})

const damaged = (seq: number) => recordOf(seq).replace('event', 'Event')
const size = (...lines: string[]) => Buffer.byteLength(lines.join(''))
const [r0, r1, r2, r3] = [recordOf(0), recordOf(1), recordOf(2), recordOf(3)]

describe('a sound log', () => {
  test('is its records, each where it stands', () => {
    const result = scanned(r0 + r1 + r2)
    expect(result.seqs).toEqual([0, 1, 2])
    expect(result.places).toEqual([
      [10, size(r0)],
      [10 + size(r0), size(r1)],
      [10 + size(r0, r1), size(r2)],
    ])
    expect(result.damage).toEqual([])
    expect(ending(result)).toEqual({
      seq: 3,
      end: 10 + size(r0, r1, r2),
      isTerminated: true,
      lostFrom: undefined,
      tailFrom: 0,
    })
  })

  test('without its last newline is whole', () => {
    const result = scanned((r0 + r1).slice(0, -1))
    expect(result.seqs).toEqual([0, 1])
    expect(result.damage).toEqual([])
    expect(ending(result)).toMatchObject({ seq: 2, end: 10 + size(r0, r1) - 1, isTerminated: false })
  })

  test('of no records ends where it begins', () => {
    expect(ending(scanned(''))).toEqual({ seq: 0, end: 10, isTerminated: true, lostFrom: undefined, tailFrom: 0 })
  })

  test('is read up to a seq, and nothing is said of what follows', () => {
    for (const rest of [r2, damaged(2), 'no record\n', '']) {
      const result = scanned(r0 + r1 + rest, { stopSeq: 2 })
      expect(result.seqs).toEqual([0, 1])
      expect(result.damage).toEqual([])
    }
    expect(scanned('no record\n', { stopSeq: 0 }).damage).toEqual([])
    expect(scanned('no record\n', { stopSeq: 2, seq: 2 }).damage).toEqual([])
  })

  test('is read up to a byte', () => {
    const result = scanned(r0 + r1 + r2, { stopOffset: 10 + size(r0, r1) })
    expect(result.seqs).toEqual([0, 1])
    expect(result.damage).toEqual([])
  })

  test('is read from a record in its middle', () => {
    const result = scanned(r0 + r1 + r2, { offset: 10 + size(r0), seq: 1, line: FIRST_LINE + 1 })
    expect(result.seqs).toEqual([1, 2])
    expect(ending(result)).toMatchObject({ seq: 3, lostFrom: undefined })
  })
})

describe('a tail', () => {
  test('without a newline is torn', () => {
    const result = scanned(`${r0}{"seq":1,"time"`)
    expect(result.damage).toEqual([
      { code: 'RECORD_TORN', where: { line: 3, offset: 10 + size(r0), seq: 1 }, bytes: 15, kept: null },
    ])
    expect(ending(result)).toEqual({
      seq: 1,
      end: 10 + size(r0),
      isTerminated: true,
      lostFrom: undefined,
      tailFrom: 0,
    })
  })

  test('with one is damaged, and may have been acknowledged', () => {
    expect(scanned(r0 + damaged(1)).damage).toEqual([
      {
        code: 'RECORD_DAMAGED',
        where: { line: 3, offset: 10 + size(r0), seq: 1 },
        bytes: size(r1),
        kept: null,
        mayHaveBeenAcknowledged: true,
      },
    ])
  })

  test('of many bad lines is one entry a kind', () => {
    const result = scanned(`${r0}${damaged(1)}bad\n\n${damaged(2)}torn`)
    expect(result.damage.map(({ code, bytes, where }) => [code, bytes, where.offset, where.line])).toEqual([
      ['RECORD_DAMAGED', size(r1, r2) + 5, 10 + size(r0), 3],
      ['RECORD_TORN', 4, 10 + size(r0, r1, r2) + 5, 7],
    ])
    expect(ending(result)).toMatchObject({ seq: 1, tailFrom: 0, lostFrom: undefined })
  })

  test('behind a hole begins after the entries of the hole', () => {
    const result = scanned(`${r0}${damaged(1)}${r2}torn`)
    expect(result.damage.map(({ code }) => code)).toEqual(['RECORD_DAMAGED', 'LOG_HOLE', 'RECORD_TORN'])
    expect(ending(result)).toMatchObject({ seq: 3, tailFrom: 2, lostFrom: 1 })
  })

  test.each<[what: string, value: unknown]>([
    ['without a seq', { time: 1, type: 'note' }],
    ['with a seq that is negative', { seq: -1, time: 1, type: 'note' }],
    ['with a seq that is no whole number', { seq: 0.5, time: 1, type: 'note' }],
    ['with a seq that is a text', { seq: '0', time: 1, type: 'note' }],
    ['without a type', { seq: 0, time: 1 }],
    ['without a time', { seq: 0, type: 'note' }],
    ['with a time that is a text', { seq: 0, time: '1', type: 'note' }],
    ['with a time that is null', { seq: 0, time: null, type: 'note' }],
    ['with sources that are no list', { seq: 0, time: 1, type: 'note', sourceEventSeqs: { 0: 1 } }],
  ])('of a right checksum over an event %s is damaged', (_, value) => {
    const line = lineOf(value as object)
    const { seqs, damage } = scanned(line)
    expect(seqs).toEqual([])
    expect(damage).toMatchObject([{ code: 'RECORD_DAMAGED', bytes: size(line), where: { offset: 10, line: 2 } }])
    expect(scanned(line.slice(0, -1)).damage).toMatchObject([{ code: 'RECORD_TORN', bytes: size(line) - 1 }])
  })
})

describe('a hole', () => {
  test('of a damaged record is told with what was lost, and the rest is read', () => {
    const result = scanned(r0 + damaged(1) + r2 + r3)
    expect(result.seqs).toEqual([0, 2, 3])
    expect(result.damage).toEqual([
      {
        code: 'RECORD_DAMAGED',
        where: { line: 3, offset: 10 + size(r0), seq: 1 },
        bytes: size(r1),
        kept: null,
        mayHaveBeenAcknowledged: true,
      },
      { code: 'LOG_HOLE', where: { line: 3, offset: 10 + size(r0), seq: 1 }, bytes: size(r1), kept: null },
    ])
    expect(ending(result)).toEqual({
      seq: 4,
      end: 10 + size(r0, r1, r2, r3),
      isTerminated: true,
      lostFrom: 1,
      tailFrom: 2,
    })
  })

  test('of a record that is missing has no bytes', () => {
    const { damage, seqs } = scanned(r0 + r2)
    expect(seqs).toEqual([0, 2])
    expect(damage).toEqual([
      { code: 'LOG_HOLE', where: { line: 3, offset: 10 + size(r0), seq: 1 }, bytes: 0, kept: null },
    ])
  })

  test('after another is told too; what was lost first stays the first', () => {
    const { damage, scan } = scanned(r1 + r3 + damaged(4) + recordOf(5))
    expect(damage.map(({ code, where }) => [code, where.seq, where.line])).toEqual([
      ['LOG_HOLE', 0, 2],
      ['LOG_HOLE', 2, 3],
      ['RECORD_DAMAGED', 4, 4],
      ['LOG_HOLE', 4, 4],
    ])
    expect(scan.lostFrom).toBe(0)
  })

  test('at the end of a prefix that somebody needs is a hole, not a tail', () => {
    const bad = damaged(1)
    for (const [rest, bytes] of [
      [`${bad}${r2}${r3}`, size(bad)],
      [bad, size(bad)],
      [`${bad}bad\n`, size(bad) + 4],
      [`${bad}torn`, size(bad) + 4],
    ] as const) {
      const result = scanned(r0 + rest, { stopSeq: 2 })
      expect(result.seqs).toEqual([0])
      expect(result.damage.at(-1)).toEqual({
        code: 'LOG_HOLE',
        where: { line: 3, offset: 10 + size(r0), seq: 1 },
        bytes,
        kept: null,
      })
      expect(result.scan.lostFrom).toBe(1)
    }
  })

  test('is not made of a prefix that is merely short', () => {
    const result = scanned(r0, { stopSeq: 5 })
    expect(result.damage).toEqual([])
    expect(ending(result)).toMatchObject({ seq: 1, lostFrom: undefined })
    expect(scanned(r0 + damaged(1) + r2, { stopSeq: 5 }).damage.map(({ code }) => code)).toEqual([
      'RECORD_DAMAGED',
      'LOG_HOLE',
    ])
  })
})

describe('a seq that was there before', () => {
  test('is told, and its record does not count', () => {
    const again = recordOf(1, 'another')
    const result = scanned(r0 + r1 + again + r2)
    expect(result.seqs).toEqual([0, 1, 2])
    expect(result.damage).toEqual([
      {
        code: 'SEQ_REPEATED',
        where: { line: 4, offset: 10 + size(r0, r1), seq: 2 },
        bytes: size(again),
        kept: null,
      },
    ])
    expect(ending(result)).toMatchObject({ seq: 3, lostFrom: undefined, tailFrom: 1 })
  })

  test('makes one entry with its neighbours', () => {
    const { damage } = scanned(r0 + r1 + r0 + r1 + damaged(2) + r1)
    expect(damage.map(({ code, bytes }) => [code, bytes])).toEqual([
      ['SEQ_REPEATED', size(r0, r1)],
      ['RECORD_DAMAGED', size(r2)],
      ['SEQ_REPEATED', size(r1)],
    ])
  })

  test('behind a good record makes a new entry', () => {
    const { damage } = scanned(r0 + r0 + r1 + r1 + r2)
    expect(damage.map(({ code, where }) => [code, where.line, where.seq])).toEqual([
      ['SEQ_REPEATED', 3, 1],
      ['SEQ_REPEATED', 5, 2],
    ])
  })
})

describe('records on one line', () => {
  const bare = (line: string) => line.slice(0, -1)

  test('that lost the newline between them all count', () => {
    const result = scanned(bare(r0) + bare(r1) + r2 + r3)
    expect(result.seqs).toEqual([0, 1, 2, 3])
    expect(result.places).toEqual([
      [10, size(r0) - 1],
      [10 + size(r0) - 1, size(r1) - 1],
      [10 + size(r0, r1) - 2, size(r2)],
      [10 + size(r0, r1, r2) - 2, size(r3)],
    ])
    expect(result.damage).toEqual([
      { code: 'RECORD_GLUED', where: { line: 2, offset: 10, seq: 0 }, bytes: 0, kept: null },
    ])
    expect(ending(result)).toMatchObject({ seq: 4, isTerminated: true, lostFrom: undefined, tailFrom: 1 })
  })

  test('at the end of the file lack a newline where the last one does', () => {
    expect(ending(scanned(bare(r0) + bare(r1)))).toMatchObject({ seq: 2, isTerminated: false })
    const cut = scanned(`${bare(r0)}${bare(r1)}{"seq":2`)
    expect(cut.seqs).toEqual([0, 1])
    expect(ending(cut)).toMatchObject({ seq: 2, end: 10 + size(r0, r1) - 2, isTerminated: false })
    expect(cut.damage).toEqual([
      { code: 'RECORD_GLUED', where: { line: 2, offset: 10, seq: 0 }, bytes: 0, kept: null },
      { code: 'RECORD_TORN', where: { line: 2, offset: 10 + size(r0, r1) - 2, seq: 2 }, bytes: 8, kept: null },
    ])
    expect(cut.scan.tailFrom).toBe(1)
  })

  test('behind a torn stub count, and the stub is what is bad', () => {
    const stub = '{"seq":0,"time":17'
    const result = scanned(`${stub}${r0}${r1}`)
    expect(result.seqs).toEqual([0, 1])
    expect(result.places[0]).toEqual([10 + size(stub), size(r0)])
    expect(result.damage).toEqual([
      { code: 'RECORD_GLUED', where: { line: 2, offset: 10, seq: 0 }, bytes: size(stub), kept: null },
    ])
  })

  test('with rubbish behind them are not whole lines: the newline is not theirs', () => {
    const result = scanned(`${bare(r0)}rubbish\n${r1}`)
    expect(result.seqs).toEqual([0, 1])
    expect(result.places[0]).toEqual([10, size(r0) - 1])
    expect(result.damage).toMatchObject([{ code: 'RECORD_DAMAGED', bytes: 8 }])
    const last = scanned(`${bare(r0)}rubbish\n`)
    expect(ending(last)).toMatchObject({ seq: 1, end: 10 + size(r0) - 1, isTerminated: false })
  })

  test('may hold what looks like the end or the beginning of one', () => {
    const tricky = recordOf(0, ',"crc":"00000000"}{"seq":1,"time":1,"type":"note"}')
    const result = scanned(bare(tricky) + r1)
    expect(result.seqs).toEqual([0, 1])
    expect(result.damage).toMatchObject([{ code: 'RECORD_GLUED', bytes: 0 }])
  })

  test('stand where they stand, whatever is before them in the file', () => {
    const result = scanned(`${r0}${r1}${bare(r2)}${r3}torn`)
    expect(result.seqs).toEqual([0, 1, 2, 3])
    expect(result.places.slice(2)).toEqual([
      [10 + size(r0, r1), size(r2) - 1],
      [10 + size(r0, r1, r2) - 1, size(r3)],
    ])
    expect(result.damage.map(({ code, where }) => [code, where.offset, where.line])).toEqual([
      ['RECORD_GLUED', 10 + size(r0, r1), 4],
      ['RECORD_TORN', 10 + size(r0, r1, r2, r3) - 1, 5],
    ])
  })

  test('may carry whole records in their data, which are none of the log', () => {
    const foreign = JSON.parse(recordOf(7, 'of another log'))
    const carrying = (seq: number) =>
      lineOf({ seq, time: 1, type: 'note', data: { lines: [foreign, foreign], last: foreign }, ignorable: true })
    const glued = scanned(bare(carrying(0)) + r1)
    expect(glued.seqs).toEqual([0, 1])
    expect(glued.damage).toMatchObject([{ code: 'RECORD_GLUED', bytes: 0 }])
    const bad = scanned(r0 + carrying(1).replace('"last"', '"Last"') + r2)
    expect(bad.seqs).toEqual([0, 2])
    expect(bad.damage.map(({ code }) => code)).toEqual(['RECORD_DAMAGED', 'LOG_HOLE'])
    const stub = carrying(0).slice(0, -30)
    const behind = scanned(`${stub}${bare(r0)}${r1}`)
    expect(behind.seqs).toEqual([0, 1])
    expect(behind.damage).toMatchObject([{ code: 'RECORD_GLUED', bytes: size(stub) }])
    for (let cut = 1; cut < 12; cut++) expect(scanned(stub + bare(r0) + r1.slice(0, cut)).seqs).toEqual([0])
  })

  test('that were there before are told once, and so is what follows them', () => {
    const repeated = scanned(`${r0}${bare(r1)}${r0}${r2}`)
    expect(repeated.seqs).toEqual([0, 1, 2])
    expect(repeated.damage.map(({ code, bytes }) => [code, bytes])).toEqual([
      ['RECORD_GLUED', 0],
      ['SEQ_REPEATED', size(r0)],
    ])
    const followed = scanned(`${r0}${bare(r0)}rubbish\n${r1}`)
    expect(followed.seqs).toEqual([0, 1])
    expect(followed.damage.map(({ code, bytes }) => [code, bytes])).toEqual([
      ['SEQ_REPEATED', size(r0) - 1],
      ['RECORD_DAMAGED', 8],
    ])
  })

  test('that are no events are damage', () => {
    const other = lineOf({ seq: 'x' })
    const { seqs, damage } = scanned(bare(other) + other)
    expect(seqs).toEqual([])
    expect(damage).toMatchObject([{ code: 'RECORD_DAMAGED', bytes: size(other, other) - 1 }])
    expect(scanned(bare(other) + bare(other)).damage).toMatchObject([{ code: 'RECORD_TORN' }])
    const mixed = scanned(bare(other) + r0)
    expect(mixed.seqs).toEqual([0])
    expect(mixed.damage).toMatchObject([{ code: 'RECORD_GLUED', bytes: size(other) - 1 }])
  })

  test('up to a seq are read up to it', () => {
    const { seqs, damage } = scanned(bare(r0) + bare(r1) + r2, { stopSeq: 2 })
    expect(seqs).toEqual([0, 1])
    expect(damage).toMatchObject([{ code: 'RECORD_GLUED' }])
  })

  test('are looked for at a bounded number of places', () => {
    const many = Array.from({ length: 60 }, (_, seq) => bare(recordOf(seq))).join('')
    const { seqs, damage } = scanned(`${many}\n`)
    expect(seqs).toEqual([...seqs.keys()])
    expect(seqs.length).toBeGreaterThan(7)
    expect(seqs.length).toBeLessThan(30)
    expect(damage).toMatchObject([
      { code: 'RECORD_GLUED', bytes: 0 },
      { code: 'RECORD_DAMAGED', where: { seq: seqs.length } },
    ])
  })

  test('are found up to eight on a line', () => {
    for (let count = 2; count <= 8; count++) {
      const line = Array.from({ length: count }, (_, seq) => bare(recordOf(seq))).join('')
      const result = scanned(`${line}\n`)
      expect(result.seqs).toEqual([...Array(count).keys()])
      expect(result.damage).toMatchObject([{ code: 'RECORD_GLUED', bytes: 0 }])
      expect(ending(result)).toMatchObject({ isTerminated: true, end: 10 + line.length + 1 })
    }
  })
})
