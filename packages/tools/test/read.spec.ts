import { closeSync, mkdirSync, openSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { toolOutput } from '@palimpsest/agent-loop'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { read } from '../src/index.js'
import { call, refusal, temporaryFolder } from './fixtures/call.js'

const root = () => temporaryFolder()

async function readOf(content: string | Uint8Array, input: object = {}, options: object = {}): Promise<string> {
  const folder = root()
  writeFileSync(join(folder, 'file'), content)
  return (await call(read({ root: folder, ...options }), { path: 'file', ...input })) as string
}

test('a file that fits comes back exactly', async () => {
  for (const content of [
    'a\n',
    'a',
    'a\r\nb\r\n',
    '\n',
    '\n\n',
    'a\u2028b\u0085c\n',
    '\tx  \n\n y',
    'é😀\n',
    '\u001b[31mred\n',
  ]) {
    expect(await readOf(content)).toBe(content)
  }
})

test('an empty file says that it is empty', async () => {
  expect(await readOf('')).toBe('["file" is empty.]')
})

test('a BOM is not shown', async () => {
  expect(await readOf('\ufeffa\n')).toBe('a\n')
})

test('lines are paged, and each page says how to read on', async () => {
  const lines = Array.from({ length: 10 }, (_, i) => `line ${i + 1}\n`)
  const content = lines.join('')
  const page = await readOf(content, { offset: 3, limit: 4 })
  expect(page).toBe(
    `${lines.slice(2, 6).join('')}\n[Lines 3–6 of a file of ${content.length} bytes. To read on: offset 7]`,
  )
  expect(await readOf(content, { offset: 7, limit: 4 })).toBe(lines.slice(6).join(''))
  expect(await readOf(content, { offset: 10, limit: 1 })).toBe('line 10\n')
})

test('pages put together are the file, whatever the limits', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.stringMatching(/^[a-zé😀]{0,30}$/u), { maxLength: 40 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 200, max: 400 }),
      async (lines, ended, limit, maxBytes) => {
        const content = lines.join('\n') + (ended && lines.length > 0 ? '\n' : '')
        if (content === '') return
        let text = ''
        for (let offset: number | undefined = 1; offset !== undefined; ) {
          const page: string = await readOf(content, { offset, limit }, { maxBytes, maxLineBytes: 150 })
          const note = /\n?\n\[Lines \d+–\d+ of a file of \d+ bytes\. To read on: offset (\d+)\]$/.exec(page)
          text += note === null ? page : page.slice(0, note.index + (page[note.index + 1] === '\n' ? 1 : 0))
          offset = note === null ? undefined : Number(note[1])
        }
        expect(text).toBe(content)
      },
    ),
    { numRuns: 60 },
  )
})

test('a line of 10 MB is cut, said so, and the next line stands whole', async () => {
  const text = await readOf(`first\n${'x'.repeat(10_000_000)}\nlast\n`)
  expect(text.length).toBeLessThan(6_000)
  expect(text).toContain(`first\n${'x'.repeat(4_096)}\nlast\n`)
  expect(text).toContain('[Line 2 is 10000001 bytes long and shown in part.')
  expect(text).toContain('sed -n 2p FILE | cut -b 4097-')
})

test('a cut never splits a character', async () => {
  expect(await readOf(`${'é'.repeat(100)}\n`, {}, { maxLineBytes: 101 })).toMatch(/^é{50}\n/)
  expect(await readOf(`${'😀'.repeat(100)}\n`, {}, { maxLineBytes: 103 })).toMatch(/^(😀){25}\n/u)
})

test('the total is limited, on a line boundary', async () => {
  const text = await readOf('0123456789\n'.repeat(100_000), {}, { maxLines: 1_000_000 })
  expect(text.length).toBeLessThan(70_000)
  const note = /\n\[Lines 1–(\d+) of a file of 1100000 bytes\. To read on: offset (\d+)\]$/.exec(text)!
  expect(text.slice(0, note.index)).toBe('0123456789\n'.repeat(Number(note[1])))
  expect(Number(note[2])).toBe(Number(note[1]) + 1)
})

test('a huge file costs a window, not its size', async () => {
  const folder = root()
  const file = join(folder, 'huge')
  const fd = openSync(file, 'w')
  writeSync(fd, `${'text\n'.repeat(2_000)}`)
  closeSync(fd)
  truncateSync(file, 40 * 1024 ** 3) // 40 GB, sparse
  const text = (await call(read({ root: folder }), { path: 'huge', limit: 3 })) as string
  expect(text).toMatch(/^text\ntext\ntext\n\n\[Lines 1–3 of a file of 42949672960 bytes/)
})

test('bytes that are not UTF-8 are shown as U+FFFD and said so', async () => {
  expect(await readOf(Buffer.from([0x61, 0xff, 0x62, 0x0a]))).toBe(
    'a\ufffdb\n\n[Bytes that are not UTF-8 are shown as U+FFFD.]',
  )
})

test('binary files, offsets behind the end and missing files are refused', async () => {
  expect((await refusal(readOf(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1])))).code).toBe('FILE_NOT_TEXT')
  const late = await refusal(readOf('a\nb\n', { offset: 3 }))
  expect(late.code).toBe('OFFSET_PAST_END')
  expect(late.message).toContain('2 lines')
  expect((await refusal(readOf('', { offset: 2 }))).code).toBe('OFFSET_PAST_END')
  const gone = await refusal(call(read({ root: root() }), { path: 'no/such/file' }))
  expect(gone.code).toBe('FILE_NOT_FOUND')
  expect(gone.message).not.toContain('ENOENT')
})

test('images come back as media, whatever their name', async () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  const samples: [string, Buffer][] = [
    ['image/png', png],
    ['image/jpeg', Buffer.from('ffd8ffe000104a464946', 'hex')],
    ['image/gif', Buffer.from('GIF89a\u0001\u0000', 'latin1')],
    ['image/webp', Buffer.from('RIFF\u0000\u0000\u0000\u0000WEBPVP8 ', 'latin1')],
  ]
  for (const [mediaType, bytes] of samples) {
    const folder = root()
    writeFileSync(join(folder, 'picture.txt'), bytes)
    const value = [
      { type: 'text' as const, text: `"picture.txt": ${mediaType}, ${bytes.length} bytes.` },
      { type: 'media' as const, data: bytes.toString('base64'), mediaType },
    ]
    expect(await call(read({ root: folder }), { path: 'picture.txt' })).toEqual(toolOutput({ type: 'content', value }))
  }
  expect((await refusal(readOf(png, {}, { maxImageBytes: 15 }))).code).toBe('FILE_TOO_LARGE')
})

test('an aborted call reads nothing', async () => {
  const folder = root()
  mkdirSync(join(folder, 'd'))
  writeFileSync(join(folder, 'file'), 'x')
  const reason = new Error('stop')
  await expect(call(read({ root: folder }), { path: 'file' }, AbortSignal.abort(reason))).rejects.toBe(reason)
})
