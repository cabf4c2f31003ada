import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { isCheckpointDue, writeCheckpoint } from '../src/checkpoint.js'
import { Directory } from '../src/directory.js'
import { type Disk, nodeDisk } from '../src/disk.js'
import { CHECKPOINT_EVENTS, INDEX_FROM_BYTES } from '../src/index-file.js'
import { Segment } from '../src/segment.js'
import { lineOf, mixedEvent, recordOf } from './format-samples.js'
import {
  body,
  expectRanges,
  header,
  INDEXED,
  indexed,
  LENGTH,
  lines,
  make,
  openFile,
  withSegment,
} from './format-segments.js'

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
