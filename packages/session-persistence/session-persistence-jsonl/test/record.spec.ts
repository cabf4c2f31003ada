import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { crcText, decodeRecord, RecordBuffer, TAIL_BYTES } from '../src/record.js'
import { lineOf } from './format-samples.js'

/** The line without its newline, as a buffer. */
const bodyOf = (value: object) => Buffer.from(lineOf(value).slice(0, -1))
const decode = (line: Buffer) => decodeRecord(line, 0, line.length)

describe('a record', () => {
  test('ends in eighteen bytes before its newline', () => {
    const line = bodyOf({ seq: 7 })
    expect(line.subarray(line.length - TAIL_BYTES).toString()).toMatch(/^,"crc":"[0-9a-f]{8}"\}$/)
  })

  test('is refused with any bit flipped, and its bytes stay as they were', () => {
    const good = bodyOf({ seq: 7, type: 'note', data: { text: 'ü' } })
    expect(decode(good)).toEqual({
      value: { seq: 7, type: 'note', data: { text: 'ü' } },
      crc: crc32(good.subarray(0, -TAIL_BYTES)),
    })
    for (let bit = 0; bit < good.length * 8; bit++) {
      const bad = Buffer.from(good)
      bad[bit >> 3]! ^= 1 << (bit & 7)
      const before = Buffer.from(bad)
      expect(decode(bad), `bit ${bit}`).toBeUndefined()
      expect(bad.equals(before)).toBe(true)
    }
  })

  test('is refused with a right checksum over what is no JSON, and its bytes stay as they were', () => {
    const text = '{"seq":7,"open":['
    const line = Buffer.from(`${text},"crc":"${crcText(crc32(text))}"}`)
    const before = Buffer.from(line)
    expect(decode(line)).toBeUndefined()
    expect(line.equals(before)).toBe(true)
    const good = bodyOf({ seq: 7 })
    const copy = Buffer.from(good)
    decode(good)
    expect(good.equals(copy)).toBe(true)
  })

  test('is refused with upper-case digits', () => {
    let value = 0
    while (!/[a-f]/.test(bodyOf({ value }).toString().slice(-10, -2))) value++
    const line = bodyOf({ value }).toString()
    expect(decode(Buffer.from(line.slice(0, -10) + line.slice(-10).toUpperCase()))).toBeUndefined()
  })

  test('is more than its tail', () => {
    const tail = Buffer.from(`,"crc":"${crcText(crc32(''))}"}`)
    expect(tail).toHaveLength(TAIL_BYTES)
    expect(decode(tail)).toBeUndefined()
    for (let bytes = 0; bytes < TAIL_BYTES; bytes++) expect(decode(tail.subarray(bytes))).toBeUndefined()
    expect(decode(Buffer.from(`{${`,"crc":"${crcText(crc32('{'))}"}`}`))).toEqual({ value: {}, crc: crc32('{') })
  })

  test.each([
    [0, '00000000'],
    [0xa, '0000000a'],
    [0xffffffff, 'ffffffff'],
  ])('has the checksum %i as %s', (crc, text) => expect(crcText(crc)).toBe(text))
})

describe('lines in the making', () => {
  test('stand one behind the other, each with the checksum that was told', () => {
    const buffer = new RecordBuffer()
    expect([buffer.length, buffer.bytes.length]).toEqual([0, 0])
    const values = [{ a: 1 }, { b: 'ü€\u{1f680}' }, { c: [] }]
    const crcs = values.map(value => buffer.add(value))
    const text = values.map(lineOf).join('')
    expect(buffer.bytes.toString()).toBe(text)
    expect(buffer.length).toBe(Buffer.byteLength(text))
    expect(crcs.map(crcText)).toEqual(text.match(/[0-9a-f]{8}(?="\}\n)/g))
    buffer.reset()
    expect([buffer.length, buffer.bytes.length]).toEqual([0, 0])
    buffer.newline()
    buffer.add({ d: 1 })
    expect(buffer.bytes.toString()).toBe(`\n${lineOf({ d: 1 })}`)
  })

  test.each(['x', '€', '\ud800'])('of any length in %j fit', letter => {
    for (const around of [8192, 16384]) {
      for (const width of [Buffer.byteLength(JSON.stringify(letter)) - 2, 3]) {
        for (let spare = -3; spare < 40; spare++) {
          const buffer = new RecordBuffer()
          const first = { text: 'first' }
          buffer.add(first)
          const value = { text: letter.repeat(Math.ceil((around - 50 - spare) / width)) }
          buffer.add(value)
          buffer.add(first)
          const text = lineOf(first) + lineOf(value) + lineOf(first)
          expect(buffer.bytes.equals(Buffer.from(text)), `${value.text.length} letters`).toBe(true)
        }
      }
    }
  })

  test('fit where a newline is all that was missing', () => {
    for (let length = 8192 - 60; length < 8192; length++) {
      const buffer = new RecordBuffer()
      const value = { text: 'x'.repeat(length) }
      buffer.add(value)
      for (let i = 0; i < 60; i++) buffer.newline()
      expect(buffer.bytes.toString()).toBe(lineOf(value) + '\n'.repeat(60))
    }
  })

  test('let go of the memory of a huge batch, and keep that of a usual one', () => {
    const buffer = new RecordBuffer()
    const held = () => buffer.bytes.buffer.byteLength
    buffer.add({ text: 'x'.repeat(100_000) })
    buffer.reset()
    const kept = buffer.bytes.buffer
    expect(held()).toBeGreaterThan(100_000)
    buffer.add({ text: 'x'.repeat(90_000) })
    expect(buffer.bytes.buffer).toBe(kept)
    buffer.add({ text: 'x'.repeat(3_000_000) })
    expect(held()).toBeGreaterThan(3_000_000)
    buffer.reset()
    expect(held()).toBeLessThan(100_000)
    buffer.add({ d: 1 })
    expect(buffer.bytes.toString()).toBe(lineOf({ d: 1 }))
  })

  test('take many small ones without growing one by one', () => {
    const buffer = new RecordBuffer()
    const grown = new Set<ArrayBufferLike>()
    let text = ''
    for (let i = 0; i < 3000; i++) {
      buffer.add({ i })
      text += lineOf({ i })
      grown.add(buffer.bytes.buffer)
    }
    expect(buffer.bytes.toString()).toBe(text)
    expect(grown.size).toBeLessThan(8)
  })
})
