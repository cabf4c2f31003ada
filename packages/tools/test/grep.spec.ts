import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { grep } from '../src/index.js'
import { call, refusal, temporaryFolder } from './fixtures/call.js'

function tree(files: Record<string, string | Uint8Array>): string {
  const root = join(temporaryFolder(), 'root')
  mkdirSync(root)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
  }
  return root
}

async function found(root: string, input: object, options: object = {}): Promise<string> {
  return (await call(grep({ root, ...options }), input)) as string
}

test('gives path:line:text, in the order of names', async () => {
  const root = tree({
    'b.txt': 'x\nneedle here\r\n',
    'a/z.ts': 'needle\n\nneedle',
    'a/y.ts': 'hay\n',
    '.hidden': 'needle',
  })
  expect(await found(root, { pattern: 'needle' })).toBe(
    '.hidden:1:needle\na/z.ts:1:needle\na/z.ts:3:needle\nb.txt:2:needle here',
  )
  expect(await found(root, { pattern: 'NEEDLE$', ignoreCase: true, path: 'a' })).toBe(
    'a/z.ts:1:needle\na/z.ts:3:needle',
  )
  expect(await found(root, { pattern: 'needle', path: 'b.txt' })).toBe('b.txt:2:needle here')
})

test('globs choose files by name or by path', async () => {
  const root = tree({ 'a.ts': 'n', 'src/b.ts': 'n', 'src/deep/c.ts': 'n', 'src/d.js': 'n', 'src/.e.ts': 'n' })
  const names = async (glob: string) =>
    (await found(root, { pattern: 'n', glob })).split('\n').map(line => line.split(':')[0])
  expect(await names('*.ts')).toEqual(['a.ts', 'src/.e.ts', 'src/b.ts', 'src/deep/c.ts'])
  expect(await names('src/*.ts')).toEqual(['src/.e.ts', 'src/b.ts'])
  expect(await names('./src/**/*.{ts,js}')).toEqual(['src/.e.ts', 'src/b.ts', 'src/d.js', 'src/deep/c.ts'])
})

test('skips binary files, .git and node_modules, unless one is named', async () => {
  const root = tree({
    bin: Buffer.from('n\0n'),
    '.git/config': 'n',
    'node_modules/x/i.js': 'n',
    'a/node_modules/y.js': 'n',
  })
  expect(await found(root, { pattern: 'n' })).toBe('[No matches. Searched 0 files, skipped 1 binary.]')
  expect(await found(root, { pattern: 'n', path: 'node_modules/x' })).toBe('node_modules/x/i.js:1:n')
  expect(await found(root, { pattern: 'n' }, { skip: [] })).toContain('.git/config:1:n')
})

test('follows no link', async () => {
  const root = tree({ 'real.txt': 'n' })
  mkdirSync(join(root, '../outside'))
  writeFileSync(join(root, '../outside/secret'), 'n SECRET')
  symlinkSync('../outside', join(root, 'folder-link'))
  symlinkSync('../outside/secret', join(root, 'file-link'))
  symlinkSync('.', join(root, 'loop'))
  expect(await found(root, { pattern: 'n' })).toBe('real.txt:1:n')
})

test('a pattern that backtracks for ever is ended, and the thread with it', async () => {
  const root = tree({ 'a.txt': 'needle', 'trap.txt': `${'a'.repeat(40)}!\n` })
  const { code, message } = await refusal(found(root, { pattern: '^(a+)+$|needle' }, { timeoutMs: 3_000 }))
  expect(code).toBe('SEARCH_TIMED_OUT')
  expect(message).toContain('"trap.txt"')
  expect(message).toContain('a.txt:1:needle')
})

test('an abort ends it at once', async () => {
  const root = tree({ 'trap.txt': `${'a'.repeat(40)}!\n` })
  const controller = new AbortController()
  const reason = new Error('stop')
  const outcome = call(grep({ root, timeoutMs: 600_000 }), { pattern: '^(a+)+$' }, controller.signal)
  setImmediate(() => controller.abort(reason))
  await expect(outcome).rejects.toBe(reason)
  await expect(call(grep({ root }), { pattern: 'a' }, AbortSignal.abort(reason))).rejects.toBe(reason)
})

test('the number of lines and their length are limited', async () => {
  const root = tree({
    'many.txt': 'n\n'.repeat(1_000),
    'z-long.txt': `${'x'.repeat(5_000_000)}needle${'y'.repeat(5_000_000)}\n`,
  })
  const many = await found(root, { pattern: 'n', path: 'many.txt' }, { maxMatches: 5 })
  expect(many.split('\n')).toHaveLength(6)
  expect(many).toContain('[Stopped at 5 lines; there may be more.')
  const long = await found(root, { pattern: 'needle' })
  expect(long).toMatch(/^z-long\.txt:1:…x+needley+… \[of \d+ characters\]$/)
  expect(long.length).toBeLessThan(600)
})

test('invalid UTF-8, lone surrogates in the cut, names with control characters', async () => {
  const root = tree({
    'a.txt': Buffer.from([0x6e, 0xff, 0x0a]),
    'b\n1:forged.txt': 'n',
    'c.txt': `n${'😀'.repeat(50)}`,
  })
  const text = await found(root, { pattern: '^n' }, { maxLineCharacters: 10 })
  expect(text.split('\n')).toHaveLength(3)
  expect(text).toContain('a.txt:1:n\ufffd')
  expect(text).toContain('"b\\n1:forged.txt":1:n')
  expect(text).not.toMatch(/\p{Surrogate}/u)
})

test('patterns: Unicode where it can, older syntax where it must, refused where it is none', async () => {
  const root = tree({ 'a.txt': 'é😀\na-b\n' })
  expect(await found(root, { pattern: '^\\p{L}.$' })).toBe('a.txt:1:é😀')
  expect(await found(root, { pattern: 'a\\-b' })).toBe('a.txt:2:a-b')
  const { code, message } = await refusal(found(root, { pattern: '(?i)a' }))
  expect(code).toBe('PATTERN_INVALID')
  expect(message).toContain('ignoreCase')
  expect((await refusal(found(root, { pattern: '(' }))).code).toBe('PATTERN_INVALID')
  expect((await refusal(found(root, { pattern: 'x', path: 'missing' }))).code).toBe('FILE_NOT_FOUND')
})
