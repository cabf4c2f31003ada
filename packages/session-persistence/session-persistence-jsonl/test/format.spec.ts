import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { decodeRecord, RecordBuffer } from '../src/record.js'
import { newDirectory, openStore, sampleLog, store } from './stores.js'

const page = readFileSync(new URL('../../../../docs/format.md', import.meta.url), 'utf8')

test('the worked example of docs/format.md is a session, and is what the store writes', async () => {
  const example = /```jsonl\n([\s\S]*?)```/.exec(page)![1]!
  const directory = newDirectory()
  const backend = openStore(directory)
  writeFileSync(join(directory, 'demo.jsonl'), example)
  const { header, events, damage } = (await backend.read('demo'))!
  expect(damage).toEqual([])
  expect(events).toHaveLength(1)
  await backend.remove('demo')
  await store(backend, { header, events })
  expect(readFileSync(join(directory, 'demo.jsonl'), 'utf8')).toBe(example)
  const line = example.split('\n')[1]!
  const body = line.slice(0, -18)
  expect(Buffer.byteLength(body)).toBe(152)
  expect(line.endsWith(`,"crc":"${crc32(body).toString(16).padStart(8, '0')}"}`)).toBe(true)
})

test('a reader of ten lines, made from the page alone, reads what the store wrote', async () => {
  const directory = newDirectory()
  const log = sampleLog('s', 300)
  await store(openStore(directory), log)
  const bytes = readFileSync(join(directory, 's.jsonl'))
  const values: unknown[] = []
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0x0a, start)
    const body = bytes.subarray(start, end - 18)
    const digits = crc32(body).toString(16).padStart(8, '0')
    expect(bytes.subarray(end - 18, end).toString()).toBe(`,"crc":"${digits}"}`)
    values.push(JSON.parse(`${body.toString()}}`))
    start = end + 1
  }
  expect(values).toEqual([log.header, ...log.events])
})

test.each(['__proto__', 'ü\u2028\u0000\ud800', '\u{1f680}'.repeat(5000), '","crc":"00000000"}\n', '\\'])(
  'a record of %j comes back as it was, whatever stands around it',
  text => {
    const value = JSON.parse(JSON.stringify({ [text]: text, crc: text, nested: { crc: '00000000' } }))
    const buffer = new RecordBuffer()
    const crc = buffer.add(value)
    const { bytes } = buffer
    expect(bytes.indexOf(0x0a)).toBe(bytes.length - 1)
    const around = Buffer.concat([Buffer.from('before'), bytes, Buffer.from('behind')])
    expect(decodeRecord(around, 6, 6 + bytes.length - 1)).toEqual({ value, crc })
    for (const [start, end] of [
      [5, 6 + bytes.length - 1],
      [6, 6 + bytes.length],
      [7, 6 + bytes.length - 1],
      [6, 10],
    ] as const) {
      expect(decodeRecord(around, start, end)).toBeUndefined()
    }
  },
)
