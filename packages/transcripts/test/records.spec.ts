import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Finding } from '../src/finding.js'
import { JsonWalk, SEEN } from '../src/json/walk-json.js'
import { readRecords } from '../src/records.js'
import { bytesSource, type Source } from '../src/source.js'

const isRecord = (value: Record<string, unknown>) => 'id' in value

function read(file: string | Uint8Array, source?: Source) {
  const findings: Finding[] = []
  const from = source ?? bytesSource(typeof file === 'string' ? Buffer.from(file) : file)
  const records = [...readRecords(from, { isRecord, report: finding => void findings.push(finding) })]
  return { values: records.map(({ value }) => value), lines: records.map(({ line }) => line), records, findings }
}

describe('records of a line file', () => {
  it('reads whole lines, blank ones between them, and says nothing', () => {
    const { values, lines, findings } = read('{"id":1}\n\n \t\r\n{"id":2}\r\n')
    expect([values, lines, findings]).toEqual([[{ id: 1 }, { id: 2 }], [1, 4], []])
  })

  it('gives the offset of the line and the text of the record', () => {
    const { records } = read('{"id":"ä"}\n{"id":2}{"id":3}\n')
    expect(records.map(({ offset, text }) => [offset, text])).toEqual([
      [0, '{"id":"ä"}'],
      [12, '{"id":2}'],
      [12, '{"id":3}'],
    ])
  })

  it('says that the last record lacks its newline, and uses it', () => {
    const { values, findings } = read('{"id":1}\n{"id":2}')
    expect(values).toHaveLength(2)
    expect(findings).toEqual([{ code: 'file.no-final-newline', severity: 'warning', where: 'line 2' }])
  })

  it('splits records that were joined', () => {
    const { values, findings } = read('{"id":1}{"id":2} {"id":3}\n')
    expect(values).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
    expect(findings).toEqual([{ code: 'file.joined-records', severity: 'error', where: 'line 1', records: 3 }])
  })

  it('finds the whole record behind a stub, and counts the bytes of the stub as they stand in the file', () => {
    const stub = Buffer.concat([Buffer.from('{"id":1,"text":"ä cut '), Buffer.from([0xff, 0xfe])])
    const { values, findings } = read(Buffer.concat([stub, Buffer.from('{"id":2,"t":{"u":[]}}\n')]))
    expect(values).toEqual([{ id: 2, t: { u: [] } }])
    expect(findings).toEqual([
      { code: 'file.spliced-record', severity: 'error', where: 'line 1', recovered: 1, quarantinedBytes: stub.length },
    ])
  })

  it('takes no object that lies inside a stub for a record, and no text that looks like a joint', () => {
    const stub = '{"id":1,"message":{"role":"user"},"content":[{"type":"text"}],"cu'
    expect(read(`${stub}{"id":2}\n`).values).toEqual([{ id: 2 }])
    const whole = '{"id":"}{\\"id\\":9}","n":1}'
    expect(read(`${whole}${whole}\n`).values).toEqual([JSON.parse(whole), JSON.parse(whole)])
  })

  it('tells a record cut short, and that the whole one follows', () => {
    const { values, findings } = read('{"id":1,"te\n{"id":1,"text":"whole"}\n{"id":2,"x\n{"id":3}\n{"id"')
    expect(values).toEqual([{ id: 1, text: 'whole' }, { id: 3 }])
    expect(findings).toEqual([
      { code: 'file.torn-record', severity: 'error', where: 'line 1', prefixOf: 'line 2' },
      { code: 'file.torn-record', severity: 'error', where: 'line 3' },
      { code: 'file.torn-record', severity: 'error', where: 'line 5' },
    ])
  })

  it('tells a record cut short behind a whole one', () => {
    const { values, findings } = read('{"id":1}{"id":2,"x\n')
    expect(values).toEqual([{ id: 1 }])
    expect(findings).toEqual([{ code: 'file.torn-record', severity: 'error', where: 'line 1', quarantinedBytes: 10 }])
  })

  it('skips runs of zero bytes, and uses what stands behind them', () => {
    const { values, findings } = read('{"id":1}\n\0\0\0\0{"id":2}\n\0\0')
    expect(values).toEqual([{ id: 1 }, { id: 2 }])
    expect(findings).toEqual([
      { code: 'file.nul-run', severity: 'error', where: 'line 2', bytes: 4 },
      { code: 'file.nul-run', severity: 'error', where: 'line 3', bytes: 2 },
    ])
  })

  it('ends a line at a newline only, takes a byte order mark for no text and bytes that are no UTF-8 for U+FFFD', () => {
    const file = Buffer.concat([
      Buffer.from('\ufeff{"id":"a\u2028b\u2029c\u0085"}\n{"id":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}\n'),
    ])
    const { values, findings } = read(file)
    expect(values).toEqual([{ id: 'a\u2028b\u2029c\u0085' }, { id: '\ufffd(' }])
    expect(findings).toEqual([{ code: 'text.not-utf8', severity: 'info', where: 'line 2' }])
  })

  it('reads lines longer than what is read at once, from a source that uses its buffer again', () => {
    const file = Buffer.from(`{"id":"${'x'.repeat(2_500_000)}"}\n{"id":2}\n`)
    const shared = Buffer.alloc(1 << 20)
    const source: Source = {
      size: file.length,
      read: (from, to) => {
        file.copy(shared, 0, from, to)
        return shared.subarray(0, to - from)
      },
    }
    const { values } = read('', source)
    expect(values.map(({ id }) => String(id).length)).toEqual([2_500_000, 1])
  })

  it('looks at a hostile line for a time of the order of its length', () => {
    // Each brace begins what looks like a record up to the end: the square of it would be hours.
    const { values, findings } = read(`${'{"id":[1,'.repeat(60_000)}\n{"id":1}\n`)
    expect(values).toEqual([{ id: 1 }])
    expect(findings.map(({ code }) => code)).toEqual(['file.torn-record'])
  })

  it('gives a record or a report for each line that is not blank', () => {
    const piece = fc.oneof(
      fc.constantFrom('{"id":1}', '{"id":', '{"id":"x', '}', '[', '"', '\\', '\0', ' ', '\n', '\n', 'null', '{}'),
      fc.string({ maxLength: 4 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
        const file = Buffer.from(pieces.join(''))
        const { lines, findings } = read(file)
        const told = new Set([...lines, ...findings.map(({ where }) => Number(where.slice(5)))])
        const held = file
          .toString('latin1')
          .replace(/^\xef\xbb\xbf/, '')
          .split('\n')
          .flatMap((line, i) => (/^[ \t\r\0]*$/.test(line) ? [] : [i + 1]))
        expect(held.filter(line => !told.has(line))).toEqual([])
      }),
    )
  })
})

describe('a walk over JSON', () => {
  const ends = (text: string) => {
    const bytes = Buffer.from(text)
    return new JsonWalk().walk(bytes, 0, bytes.length)
  }

  it('accepts what JSON.parse accepts, and nothing else', () => {
    const token = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"a"', '"b":', '"\\u00e9"', '"\\x"', '"\\', '1', '-0', '01', '1.', '.5'],
      ...['1e5', '1e', '-', 'true', 'nul', 'null', ' ', '\t', '"\u2028"', '"\u0001"', '"ä"'],
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(token, { maxLength: 9 }).map(all => all.join('')),
          fc.json(),
        ),
        text => {
          const end = ends(text)
          const isWhole = end >= 0 && Buffer.from(text).subarray(end).toString().trim() === ''
          expect(isWhole).toBe(isJson(text))
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('holds text to the grammar at every distance from its quotes', () => {
    for (const inside of [
      '"',
      '\\',
      '\\"',
      '\\\\',
      '\\n',
      '\\x',
      '\\u00e9',
      '\\u00g9',
      '\t',
      '\u0000',
      'ä',
      '\u2028',
      '😀',
    ]) {
      for (let before = 0; before < 10; before++) {
        for (let behind = 0; behind < 10; behind++) {
          const text = `["${'a'.repeat(before)}${inside}${'b'.repeat(behind)}"]`
          expect(ends(text) === Buffer.byteLength(text), text).toBe(isJson(text))
          expect(ends(text.slice(0, -2))).toBe(-1)
        }
      }
    }
  })

  it('says where members lie, values and lists alike, the last of a key used twice, those of list elements in order', () => {
    const text = '{"a":1,"b":{"c":"x","d":[{"e":1},2,{"f":0,"e":[9]},{"e":"z"}]},"a":"y","e":5}'
    const bytes = Buffer.from(text)
    const walk = new JsonWalk({ a: 0, b: { c: 1, d: { '[]': { e: 2 } } } })
    walk.walk(bytes, 0, bytes.length)
    const at = (leaf: number) => text.slice(walk.starts[leaf], walk.ends[leaf])
    expect([at(0), at(1)]).toEqual(['"y"', '"x"'])
    expect(walk.items).toEqual([
      2,
      text.indexOf('1},2'),
      text.indexOf('},2'),
      2,
      text.indexOf('[9]'),
      text.indexOf('},{"e":"z'),
      2,
      text.indexOf('"z"'),
      text.indexOf('}]}'),
    ])
  })

  it.each([
    ['{"a":"\\ud83d"}', SEEN.riskyEscape],
    ['{"a":"\\u0000"}', SEEN.riskyEscape],
    ['{"a":"\\ud7ff\\u0001"}', 0],
    ['[9007199254740993]', SEEN.riskyNumber],
    ['[-0]', SEEN.riskyNumber],
    ['[1e400]', SEEN.riskyNumber],
    ['[1.50]', SEEN.inexact],
    ['{"10":1,"9":2}', SEEN.inexact],
    ['["9007199254740993", 12, 0.5]', 0],
    [`${'['.repeat(300)}${']'.repeat(300)}`, SEEN.deep],
  ])('sees what is risky in %s', (text, seen) => {
    const walk = new JsonWalk()
    expect(walk.walk(Buffer.from(text), 0, Buffer.byteLength(text))).toBe(text.length)
    expect(walk.seen).toBe(seen)
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
