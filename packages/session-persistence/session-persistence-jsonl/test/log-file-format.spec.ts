import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createFile, nodeDisk, O_RDONLY } from '../src/disk.js'
import { assertHeaderLine, firstSeqOf, isHeaderDamage, openLogFile, readHeaderLine } from '../src/log-file.js'
import { inMemory, lineOf, recordOf } from './format-samples.js'
import { newDirectory } from './stores.js'

const header = { version: 0, id: 's', createdAt: 1_700_000_000_000, extra: { kept: true } }
const good = lineOf(header)
const headerOf = (content: string) => readHeaderLine(inMemory(content).read)
const openFiles = () => readdirSync('/proc/self/fd').length

describe('the first line of a log', () => {
  test('is the header, with where the records begin', () => {
    const line = headerOf(good + recordOf(0))
    expect(line).toMatchObject({ header, end: good.length, isTerminated: true })
    expect(isHeaderDamage(line)).toBe(false)
    expect(headerOf(good.slice(0, -1))).toMatchObject({ header, end: good.length - 1, isTerminated: false })
  })

  test('tells by its checksum whose index and whose base it is', () => {
    const crc = Number.parseInt(good.slice(-11, -3), 16)
    expect(headerOf(good)).toMatchObject({ crc })
  })

  test('that is not whole is torn', () => {
    expect(headerOf('')).toEqual({ code: 'HEADER_TORN', where: { line: 1, offset: 0 }, bytes: 0, kept: null })
    expect(headerOf(good.slice(0, 20))).toEqual({
      code: 'HEADER_TORN',
      where: { line: 1, offset: 0 },
      bytes: 20,
      kept: null,
    })
  })

  test.each<[what: string, line: string]>([
    ['with a wrong checksum', good.replace('extra', 'Extra')],
    ['with a wrong checksum and another version', good.replace('"version":0', '"version":7')],
    ['that is an event', recordOf(0)],
    ['without an id', lineOf({ ...header, id: undefined })],
    ['with an id that is a number', lineOf({ ...header, id: 3 })],
    ['without a version', lineOf({ ...header, version: undefined })],
    ['with a version that is a text', lineOf({ ...header, version: '0' })],
    ['without the time of its making', lineOf({ ...header, createdAt: undefined })],
    ['of this version without a checksum', `${JSON.stringify(header)}\n`],
    ['that is no JSON', '{"version":1,\n'],
    ['of another version without an id', `${JSON.stringify({ ...header, version: 1, id: undefined })}\n`],
    ['that is null without a checksum', 'null\n'],
    ['that is a number without a checksum', '17\n'],
  ])('%s is damaged', (_, line) => {
    const damage = headerOf(line + recordOf(0))
    expect(damage).toEqual({ code: 'HEADER_DAMAGED', where: { line: 1, offset: 0 }, bytes: line.length, kept: null })
    expect(isHeaderDamage(damage)).toBe(true)
    expect(() => assertHeaderLine(damage, 's')).toThrow(expect.objectContaining({ code: 'HEADER_DAMAGED' }))
  })

  test('of another version need not have our checksum, and is refused with its direction', () => {
    for (const version of [1, 7, -1]) {
      for (const text of [`${JSON.stringify({ ...header, version })}\n`, lineOf({ ...header, version })]) {
        const line = headerOf(text)
        expect(line).toMatchObject({ header: { version }, end: text.length, isTerminated: true })
        expect(() => assertHeaderLine(line, 's')).toThrow(
          expect.objectContaining({
            code: 'FORMAT_VERSION_UNSUPPORTED',
            message: expect.stringMatching(version > 0 ? /newer/ : /older/),
          }),
        )
      }
    }
    const open = JSON.stringify({ ...header, version: 1 })
    expect(headerOf(open)).toMatchObject({ end: open.length, isTerminated: false })
  })

  test('that mentions a checksum before its end need not be ours', () => {
    const foreign = { ...header, version: 1, note: ',"crc":"00000000"} and more' }
    const nested = { version: 1, id: 's', createdAt: 1, nested: { a: 1, crc: 'x' }, b: 1 }
    for (const each of [foreign, nested]) expect(headerOf(`${JSON.stringify(each)}\n`)).toMatchObject({ header: each })
    expect(headerOf('{"version":1,"id":"s","createdAt":1,"crc":"any form"}\n')).toMatchObject({
      code: 'HEADER_DAMAGED',
    })
  })

  test('is the one of the session asked for', () => {
    const line = headerOf(good)
    expect(assertHeaderLine(line, 's')).toBe(line)
    expect(() => assertHeaderLine(line, 'other')).toThrow(expect.objectContaining({ code: 'HEADER_DAMAGED' }))
  })

  test('says what is wrong with it', () => {
    expect(() => assertHeaderLine(headerOf('{"ver'), 's')).toThrow(/only 5 bytes/)
    expect(() => assertHeaderLine(headerOf('{"ver\n'), 's')).toThrow(/checksum or form/)
  })

  test('of a fork that shares a base says where its own records begin', () => {
    expect(firstSeqOf({ ...header })).toBe(0)
    expect(firstSeqOf({ ...header, parent: { id: 'p', length: 9 } })).toBe(0)
    expect(firstSeqOf({ ...header, parent: { id: 'p', length: 9, crc: '00000000' } })).toBe(9)
  })
})

describe('a log file', () => {
  const open = (path: string) => openLogFile(nodeDisk, path, `${path}.index`, O_RDONLY)

  test('that is not there is none', () => {
    expect(open(join(newDirectory(), 's.jsonl'))).toBeUndefined()
  })

  test.each<[what: string, make: (path: string) => void]>([
    ['a link', path => symlinkSync('elsewhere', path)],
    ['a directory', path => mkdirSync(path)],
    ['a pipe', path => execFileSync('mkfifo', [path])],
  ])('is never %s, and no file stays open', (_, make) => {
    const path = join(newDirectory(), 's.jsonl')
    make(path)
    const before = openFiles()
    for (const flags of [O_RDONLY, 2]) {
      expect(() => openLogFile(nodeDisk, path, `${path}.index`, flags)).toThrow(
        expect.objectContaining({ code: 'HEADER_DAMAGED' }),
      )
    }
    expect(openFiles()).toBe(before)
  })

  test.each(['ELOOP', 'EMLINK', 'EISDIR', 'ENXIO'])('that answers %s is none of ours, and the cause is told', code => {
    const path = join(newDirectory(), 's.jsonl')
    writeFileSync(path, good)
    const cause = Object.assign(new Error(code), { code })
    const failing = {
      ...nodeDisk,
      openSync: () => {
        throw cause
      },
    }
    expect(() => openLogFile(failing, path, `${path}.index`, O_RDONLY)).toThrow(
      expect.objectContaining({ code: 'HEADER_DAMAGED', cause }),
    )
  })

  test('that the device cannot give is an error of its own', () => {
    const path = join(newDirectory(), 's.jsonl')
    writeFileSync(path, good)
    const failing = {
      ...nodeDisk,
      openSync: () => {
        throw Object.assign(new Error('EIO'), { code: 'EIO' })
      },
    }
    expect(() => openLogFile(failing, path, `${path}.index`, O_RDONLY)).toThrow(
      expect.objectContaining({ code: 'EIO' }),
    )
  })

  test('is closed, opened again, and replaced without leaving one open', () => {
    const directory = newDirectory()
    const path = join(directory, 's.jsonl')
    writeFileSync(path, 'first')
    const before = openFiles()
    const file = open(path)!
    const text = () => {
      const bytes = Buffer.alloc(9)
      return bytes.toString('latin1', 0, file.read(bytes, 0))
    }
    expect([file.isOpen, text(), openFiles()]).toEqual([true, 'first', before + 1])
    file.reopen()
    expect(openFiles()).toBe(before + 1)
    file.close()
    file.close()
    expect([file.isOpen, openFiles()]).toEqual([false, before])
    expect(() => file.fd).toThrow(/closed/)
    expect(text).toThrow(/closed/)
    writeFileSync(path, 'second')
    file.reopen()
    expect([file.isOpen, text(), openFiles()]).toEqual([true, 'second', before + 1])
    const other = createFile(nodeDisk, join(directory, 'other'))
    file.replace(other)
    expect([file.fd, text(), openFiles()]).toEqual([other, '', before + 1])
    file.close()
    expect(openFiles()).toBe(before)
  })
})
