import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type Line, readLines } from '../src/lines.js'
import { inMemory } from './format-samples.js'

/** A line and, so that a difference is short, the checksum of its text. */
interface Seen {
  crc: number
  offset: number
  bytes: number
  terminated: boolean
}

const seen = (line: Line): Seen => ({
  crc: crc32(line.buffer.subarray(line.start, line.end)),
  offset: line.offset,
  bytes: line.bytes,
  terminated: line.terminated,
})

/** The same by cutting a string. */
function naiveLines(content: string, from: number, to = content.length): Seen[] {
  const lines: Seen[] = []
  for (let offset = from; offset < Math.min(to, content.length); ) {
    const at = content.indexOf('\n', offset)
    const end = at === -1 || at >= to ? Math.min(to, content.length) : at
    const terminated = at !== -1 && at < to
    lines.push({
      crc: crc32(content.slice(offset, end)),
      offset,
      bytes: end - offset + (terminated ? 1 : 0),
      terminated,
    })
    offset = end + (terminated ? 1 : 0)
  }
  return lines
}

const letters = (length: number) => 'abcdefghijklmnopqrstuvwxyz'.repeat(Math.ceil(length / 26)).slice(0, length)
const KIB = 1024

describe('the lines of a file', () => {
  test.each<[name: string, lengths: number[]]>([
    ['nothing', []],
    ['empty lines', [0, 0, 0]],
    ['lines around the first buffer', [8 * KIB - 1, 8 * KIB, 8 * KIB + 1, 5]],
    ['a line that fills the first buffer with its newline', [4 * KIB - 1, 4 * KIB - 1, 7, 9]],
    ['small lines over many buffers', Array.from({ length: 2600 }, (_, i) => (i * 37) % 211)],
    ['lines around a chunk', [3, 128 * KIB - 1, 128 * KIB, 128 * KIB + 1, 2]],
    ['a line of many chunks between small ones', [10, 700 * KIB, 10, 300 * KIB, 0, 1]],
    ['a buffer filled to the byte, then more', [128 * KIB - 9, 7, 3, 128 * KIB - 1, 1]],
  ])('with %s are those of the text, each byte read once', (_, lengths) => {
    const content = lengths.map(length => `${letters(length)}\n`).join('')
    for (const text of [content, content.slice(0, -1), `${content}unfinished`]) {
      const { read, size, count } = inMemory(text)
      expect([...readLines(read, 0)].length).toBe(naiveLines(text, 0).length)
      expect(count.bytes).toBe(size)
      expect(JSON.stringify(Array.from(readLines(read, 0), seen))).toBe(JSON.stringify(naiveLines(text, 0)))
    }
  })

  test('of a part are those of that part', () => {
    const text = Array.from({ length: 24 }, (_, i) => `${letters(i % 7)}\n`).join('')
    for (let from = 0; from <= text.length; from += 5) {
      for (let to = from; to <= text.length + 2; to++) {
        const { read, count } = inMemory(text)
        expect(JSON.stringify(Array.from(readLines(read, from, to), seen))).toBe(
          JSON.stringify(naiveLines(text, from, to)),
        )
        expect(count.bytes).toBe(Math.max(0, Math.min(to, text.length) - from))
      }
    }
  })

  test('of a large part are those of that part, and nothing behind it is read', () => {
    const text = `${letters(200 * KIB)}\n${letters(50)}\n${letters(9 * KIB)}\n`
    for (const to of [1, 8 * KIB, 128 * KIB, 200 * KIB, 200 * KIB + 1, 200 * KIB + 40, text.length - 1, text.length]) {
      const { read, count } = inMemory(text)
      expect(Array.from(readLines(read, 100, to), seen)).toEqual(naiveLines(text, 100, to))
      expect(count.bytes).toBe(Math.max(0, to - 100))
    }
  })

  test('split at 0x0A and nowhere else', () => {
    const text = 'a\rb\u0085c\u000bd\u000c\n\r\n'
    const { read } = inMemory(Buffer.from(text, 'latin1'))
    expect(Array.from(readLines(read, 0), ({ buffer, start, end }) => buffer.toString('latin1', start, end))).toEqual([
      'a\rb\u0085c\u000bd\u000c',
      '\r',
    ])
  })

  test('of a small file take a small buffer', () => {
    const { read } = inMemory('a\nb\n')
    for (const { buffer } of readLines(read, 0)) expect(buffer.length).toBeLessThanOrEqual(8 * KIB)
    for (const { buffer } of readLines(read, 0, 4)) expect(buffer.length).toBe(4)
  })
})

describe('a line that is too long', () => {
  const longest = 256 * KIB
  const brief = (line: Line) => [line.offset, line.bytes, line.terminated, line.end > line.start]

  test.each([513 * KIB, 600 * KIB, 640 * KIB - 7, 640 * KIB - 6, 640 * KIB - 5, 640 * KIB, 900 * KIB])(
    'of %i bytes comes as its length, those around it whole',
    length => {
      const text = `first\n${letters(length)}\nlast\nend`
      const { read } = inMemory(text)
      const lines = []
      for (const line of readLines(read, 0, undefined, longest)) {
        lines.push(brief(line))
        expect(line.buffer.length).toBeLessThanOrEqual(4 * longest)
        if (line.offset !== 6) {
          expect(['first', 'last', 'end']).toContain(line.buffer.toString('latin1', line.start, line.end))
        }
      }
      expect(lines).toEqual([
        [0, 6, true, true],
        [6, length + 1, true, false],
        [length + 7, 5, true, true],
        [length + 12, 3, false, true],
      ])
    },
  )

  test('and does not end comes as its length', () => {
    const { read } = inMemory(`first\n${letters(900 * KIB)}`)
    expect(Array.from(readLines(read, 0, undefined, longest), brief)).toEqual([
      [0, 6, true, true],
      [6, 900 * KIB, false, false],
    ])
  })

  test('is not read beyond the end of the part', () => {
    const { read, size } = inMemory(`${letters(900 * KIB)}\nmore\n`)
    for (const to of [700 * KIB, 768 * KIB, 900 * KIB, 900 * KIB + 1, 900 * KIB + 3, size]) {
      const lines = Array.from(readLines(read, 0, to, longest), ({ offset, bytes, terminated }) => ({
        offset,
        bytes,
        terminated,
      }))
      expect(lines.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(to)
      expect(lines[0]).toEqual({ offset: 0, bytes: Math.min(to, 900 * KIB + 1), terminated: to > 900 * KIB })
    }
  })

  test('behind others is not read beyond the end of the part either', () => {
    const { read } = inMemory(`${letters(300)}\n${letters(900 * KIB)}\nmore\n`)
    for (const to of [700 * KIB, 768 * KIB + 301, 900 * KIB]) {
      const lines = Array.from(readLines(read, 0, to, longest), ({ offset, bytes }) => [offset, bytes])
      expect(lines).toEqual([
        [0, 301],
        [301, to - 301],
      ])
    }
  })

  test('within the limit comes whole', () => {
    const text = `${letters(200 * KIB)}\nlast\n`
    const { read } = inMemory(text)
    expect(Array.from(readLines(read, 0, undefined, longest), seen)).toEqual(naiveLines(text, 0))
  })
})
