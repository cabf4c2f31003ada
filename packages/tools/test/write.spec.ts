import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inFolder } from '../src/folder.js'
import { write } from '../src/index.js'
import { replaceFile } from '../src/replace-file.js'
import { locate, openRoot } from '../src/root.js'
import { call, refusal, temporaryFolder } from './fixtures/call.js'

test('creates a file with its folders, and replaces it', async () => {
  const root = temporaryFolder()
  expect(await call(write({ root }), { path: 'a/b/c.txt', content: 'one é\n' })).toBe('Created "a/b/c.txt": 7 bytes.')
  expect(readFileSync(join(root, 'a/b/c.txt'), 'utf8')).toBe('one é\n')
  expect(await call(write({ root }), { path: 'a/b/c.txt', content: '' })).toBe('Replaced "a/b/c.txt": 0 bytes.')
  expect(readFileSync(join(root, 'a/b/c.txt'), 'utf8')).toBe('')
  expect(readdirSync(join(root, 'a/b'))).toEqual(['c.txt'])
})

test('keeps the content exactly: NUL, U+2028, line ends, 10 MB', async () => {
  const root = temporaryFolder()
  for (const content of ['\0\u2028\r\n\r\ufeff😀', 'x'.repeat(10_000_000)]) {
    await call(write({ root }), { path: 'file', content })
    expect(readFileSync(join(root, 'file')).equals(Buffer.from(content))).toBe(true)
  }
})

test('keeps the mode of a file that it replaces, and takes the umask for a new one', async () => {
  const root = temporaryFolder()
  writeFileSync(join(root, 'script'), 'old')
  chmodSync(join(root, 'script'), 0o751)
  await call(write({ root }), { path: 'script', content: 'new' })
  expect(statSync(join(root, 'script')).mode & 0o7777).toBe(0o751)
  await call(write({ root }), { path: 'fresh', content: 'new' })
  expect(statSync(join(root, 'fresh')).mode & 0o7777).toBe(0o666 & ~process.umask())
})

test('a reader who has the old file open keeps it whole; a hard link keeps the old content', async () => {
  const root = temporaryFolder()
  writeFileSync(join(root, 'file'), 'old')
  const before = statSync(join(root, 'file')).ino
  await call(write({ root }), { path: 'file', content: 'new' })
  expect(statSync(join(root, 'file')).ino).not.toBe(before)
})

test('through a link inside the root the file behind it is written and the link stays', async () => {
  const root = temporaryFolder()
  writeFileSync(join(root, 'real'), 'old')
  symlinkSync('real', join(root, 'alias'))
  await call(write({ root }), { path: 'alias', content: 'new' })
  expect(lstatSync(join(root, 'alias')).isSymbolicLink()).toBe(true)
  expect(readFileSync(join(root, 'real'), 'utf8')).toBe('new')
})

test('half a surrogate pair is refused, and nothing is written', async () => {
  const root = temporaryFolder()
  expect((await refusal(call(write({ root }), { path: 'file', content: 'a\ud800' }))).code).toBe('TEXT_NOT_UNICODE')
  expect(existsSync(join(root, 'file'))).toBe(false)
})

test('a failure leaves the old file and no temporary one', async () => {
  const root = temporaryFolder()
  writeFileSync(join(root, 'file'), 'old')
  const place = await locate(openRoot(root), 'file')
  const seen = { ...statSync(join(root, 'file')), size: 99 }
  const outcome = inFolder(openRoot(root), place, {}, (folder, name) =>
    replaceFile(folder, name, place, Buffer.from('new'), seen),
  )
  expect((await refusal(outcome)).code).toBe('FILE_CHANGED')
  expect(readdirSync(root)).toEqual(['file'])
  expect(readFileSync(join(root, 'file'), 'utf8')).toBe('old')
})

test('an aborted call writes nothing', async () => {
  const root = temporaryFolder()
  mkdirSync(join(root, 'd'))
  const reason = new Error('stop')
  await expect(call(write({ root }), { path: 'd/file', content: 'x' }, AbortSignal.abort(reason))).rejects.toBe(reason)
  expect(readdirSync(join(root, 'd'))).toEqual([])
})
