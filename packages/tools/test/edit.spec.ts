import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { edit } from '../src/index.js'
import { call, refusal, temporaryFolder } from './fixtures/call.js'

function fileWith(content: string | Uint8Array) {
  const root = temporaryFolder()
  const path = join(root, 'file')
  writeFileSync(path, content)
  return {
    path,
    content: () => readFileSync(path, 'utf8'),
    edit: (oldText: string, newText: string, replaceAll?: boolean) =>
      call(edit({ root, maxFileBytes: 1_000_000 }), {
        path: 'file',
        oldText,
        newText,
        ...(replaceAll === undefined ? {} : { replaceAll }),
      }),
  }
}

test('replaces the one occurrence and says where', async () => {
  const file = fileWith('a\nb\nc\n')
  expect(await file.edit('b\nc', 'B')).toBe('Edited "file": 1 replacement at line 2.')
  expect(file.content()).toBe('a\nB\n')
  await file.edit('a\n', '')
  expect(file.content()).toBe('B\n')
})

test('what looks like a replacement pattern is text', async () => {
  const file = fileWith('price\n')
  await file.edit('price', "$& $1 $$ $' \\n")
  expect(file.content()).toBe("$& $1 $$ $' \\n\n")
})

test('refuses no match, and points to a passage that differs in white space only', async () => {
  const file = fileWith('x\n    if (a) {\n        b()\n    }\n')
  const plain = await refusal(file.edit('nowhere', 'x'))
  expect(plain.code).toBe('EDIT_NO_MATCH')
  expect(plain.message).toContain('0 times')
  const near = await refusal(file.edit('if (a) {\n  b()\n}', 'x'))
  expect(near.code).toBe('EDIT_NO_MATCH')
  expect(near.message).toContain('line 2')
  expect(file.content()).toContain('        b()')
})

test('refuses many matches with their count and lines, overlapping ones too', async () => {
  const file = fileWith('a\nb\na\n')
  const many = await refusal(file.edit('a', 'x'))
  expect(many.code).toBe('EDIT_MANY_MATCHES')
  expect(many.message).toContain('2 times')
  expect(many.message).toContain('lines 1, 3')
  expect((await refusal(fileWith('aaa').edit('aa', 'x'))).code).toBe('EDIT_MANY_MATCHES')
  expect(file.content()).toBe('a\nb\na\n')
})

test('replaceAll replaces each', async () => {
  const file = fileWith('a a\na\n')
  expect(await file.edit('a', 'aa', true)).toBe('Edited "file": 3 replacements at lines 1, 1, 2.')
  expect(file.content()).toBe('aa aa\naa\n')
})

test('replaceAll equals a split and join, whatever the texts', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.stringMatching(/^[abé\n]{0,60}$/u),
      fc.stringMatching(/^[abé\n]{1,3}$/u),
      fc.stringMatching(/^[ab\n]{0,4}$/u),
      async (content, oldText, newText) => {
        fc.pre(oldText !== newText && content.includes(oldText))
        const file = fileWith(content)
        await file.edit(oldText, newText, true)
        expect(file.content()).toBe(content.split(oldText).join(newText))
      },
    ),
    { numRuns: 100 },
  )
})

test('line endings, BOM and bytes that are not UTF-8 stay as they are', async () => {
  const crlf = fileWith('\ufeffone\r\ntwo\r\nthree\r\n')
  await crlf.edit('one\ntwo', '1\n2')
  expect(crlf.content()).toBe('\ufeff1\r\n2\r\nthree\r\n')
  await crlf.edit('1\r\n', '1\r\n1.5\n')
  expect(crlf.content()).toBe('\ufeff1\r\n1.5\r\n2\r\nthree\r\n')
  const mixed = fileWith('a\r\nb\nc\n')
  await mixed.edit('b\nc', 'B\nC')
  expect(mixed.content()).toBe('a\r\nB\nC\n')
  const latin = fileWith(Buffer.from('caf\xe9 = 1\n', 'latin1'))
  await latin.edit('= 1', '= 2')
  expect(readFileSync(latin.path).equals(Buffer.from('caf\xe9 = 2\n', 'latin1'))).toBe(true)
})

test('keeps the mode', async () => {
  const file = fileWith('a')
  chmodSync(file.path, 0o700)
  await file.edit('a', 'b')
  expect(statSync(file.path).mode & 0o7777).toBe(0o700)
})

test('refuses nothing to change, empty and broken text, binary, large and missing files', async () => {
  expect((await refusal(fileWith('a').edit('a', 'a'))).code).toBe('EDIT_NO_CHANGE')
  expect((await refusal(fileWith('a').edit('', 'b'))).code).toBe('EDIT_NO_MATCH')
  expect((await refusal(fileWith('a').edit('a', '\udc00'))).code).toBe('TEXT_NOT_UNICODE')
  expect((await refusal(fileWith('a\ufffd').edit('a\udc00', 'b'))).code).toBe('TEXT_NOT_UNICODE')
  expect((await refusal(fileWith('a\0').edit('a', 'b'))).code).toBe('FILE_NOT_TEXT')
  expect((await refusal(fileWith('a'.repeat(1_000_001)).edit('a', 'b'))).code).toBe('FILE_TOO_LARGE')
  const missing = call(edit({ root: temporaryFolder() }), { path: 'x', oldText: 'a', newText: 'b' })
  expect((await refusal(missing)).code).toBe('FILE_NOT_FOUND')
})

test('a file of one letter is judged in one pass', async () => {
  const { code, message } = await refusal(fileWith('a'.repeat(1_000_000)).edit('a', 'b'))
  expect(code).toBe('EDIT_MANY_MATCHES')
  expect(message).toContain('1000000 times (lines 1'.split(' (')[0]!)
  expect((await refusal(fileWith('\n'.repeat(900_000)).edit(`x${'\n'.repeat(400_000)}x`, 'b'))).code).toBe(
    'EDIT_NO_MATCH',
  )
})

test('a long passage that is everywhere is counted in one pass', async () => {
  const many = await refusal(fileWith('a'.repeat(1_000_000)).edit('a'.repeat(400_000), 'b'))
  expect([many.code, many.message]).toEqual(['EDIT_MANY_MATCHES', expect.stringContaining('600001 times')])
  const none = await refusal(fileWith('a'.repeat(1_000_000)).edit(`${'a'.repeat(300_000)}b${'a'.repeat(300_000)}`, 'b'))
  expect(none.code).toBe('EDIT_NO_MATCH')
})

test('replaceAll at every byte needs no more than the result, and is refused a result that is too large', async () => {
  const file = fileWith('a'.repeat(1_000_000))
  await file.edit('a', 'b', true)
  expect(file.content()).toBe('b'.repeat(1_000_000))
  const grown = await refusal(file.edit('b', 'x'.repeat(500_000), true))
  expect([grown.code, grown.message]).toEqual(['FILE_TOO_LARGE', expect.stringContaining('would have 500000000000')])
  expect(file.content()).toBe('b'.repeat(1_000_000))
})
