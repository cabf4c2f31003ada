import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inFolder } from '../src/folder.js'
import { codingTools, edit, grep, read, write } from '../src/index.js'
import { locate, openRoot } from '../src/root.js'
import { call, refusal, temporaryFolder } from './fixtures/call.js'

function world() {
  const base = temporaryFolder()
  const root = join(base, 'root')
  mkdirSync(join(root, 'sub'), { recursive: true })
  mkdirSync(join(base, 'outside'))
  writeFileSync(join(base, 'outside', 'secret.txt'), 'SECRET\n')
  writeFileSync(join(root, 'inside.txt'), 'inside\n')
  mkdirSync(join(base, 'root-sibling'))
  writeFileSync(join(base, 'root-sibling', 'secret.txt'), 'SECRET\n')
  symlinkSync(join(base, 'outside'), join(root, 'out'))
  symlinkSync(join(base, 'outside', 'secret.txt'), join(root, 'secret-link'))
  symlinkSync(join(base, 'outside', 'not-yet.txt'), join(root, 'dangling'))
  symlinkSync('../../outside', join(root, 'sub', 'relative-out'))
  symlinkSync('out', join(root, 'chain'))
  symlinkSync('loop', join(root, 'loop'))
  const outside = () =>
    readdirSync(join(base, 'outside')).map(name => [name, readFileSync(join(base, 'outside', name), 'utf8')])
  return { base, root, outside }
}

const tools = (root: string) => ({
  read: (path: string) => call(read({ root }), { path }),
  write: (path: string) => call(write({ root }), { path, content: 'PWNED' }),
  edit: (path: string) => call(edit({ root }), { path, oldText: 'SECRET', newText: 'PWNED' }),
  grep: (path: string) => call(grep({ root }), { path, pattern: 'SECRET' }),
})

describe.each(['read', 'write', 'edit', 'grep'] as const)('%s stays under the root', name => {
  const traversals = (base: string) => [
    '..',
    '../outside/secret.txt',
    'sub/../../outside/secret.txt',
    './sub/.././../outside/secret.txt',
    'missing/../../outside/secret.txt',
    '../root-sibling/secret.txt',
    `${'../'.repeat(50)}etc/passwd`,
    '/etc/passwd',
    '//etc/passwd',
    '/',
    '/proc/self/environ',
    join(base, 'outside/secret.txt'),
    join(base, 'root-sibling/secret.txt'),
  ]
  const links = [
    'out/secret.txt',
    'out',
    'secret-link',
    'dangling',
    'sub/relative-out/secret.txt',
    'chain/secret.txt',
    'out/new/deep.txt',
    'dangling/new.txt',
  ]

  test('against paths that lead out', async () => {
    const { base, root, outside } = world()
    const before = outside()
    for (const path of traversals(base)) {
      expect([path, (await refusal(tools(root)[name](path))).code]).toEqual([path, 'PATH_OUTSIDE_ROOT'])
    }
    expect(outside()).toEqual(before)
  })

  test('against links that lead out', async () => {
    const { root, outside } = world()
    const before = outside()
    for (const path of links) {
      const { code, message } = await refusal(tools(root)[name](path))
      expect([path, code]).toEqual([path, 'PATH_OUTSIDE_ROOT'])
      expect(message).not.toContain('SECRET')
    }
    expect(outside()).toEqual(before)
  })

  test('against names that are no names', async () => {
    const { root } = world()
    for (const path of ['', 'a\0b', '\0', '../\0', 'a\ud800b']) {
      expect([path, (await refusal(tools(root)[name](path))).code]).toEqual([path, 'PATH_INVALID'])
    }
    expect((await refusal(tools(root)[name]('x'.repeat(5_000)))).code).toBe('PATH_INVALID')
    expect((await refusal(tools(root)[name](`${'d/'.repeat(3_000)}f`))).code).toBe('PATH_INVALID')
    expect((await refusal(tools(root)[name]('x'.repeat(300)))).code).toBe('PATH_INVALID')
    expect((await refusal(tools(root)[name]('loop/x'))).code).toBe('FILE_UNAVAILABLE')
  })

  test('against what is no regular file', async () => {
    const { root } = world()
    execFileSync('mkfifo', [join(root, 'fifo')])
    const server = createServer().listen(join(root, 'socket'))
    onTestFinished(() => void server.close())
    await new Promise(resolve => server.once('listening', resolve))
    for (const path of ['fifo', 'socket', 'inside.txt/below']) {
      expect([path, (await refusal(tools(root)[name](path))).code]).toEqual([path, 'FILE_KIND_UNSUPPORTED'])
    }
    if (name === 'grep') return
    for (const path of ['sub', '.', root, `${root}/`]) {
      expect([path, (await refusal(tools(root)[name](path))).code]).toEqual([path, 'FILE_KIND_UNSUPPORTED'])
    }
  })
})

test('a device is refused unopened', async () => {
  expect((await refusal(call(read({ root: '/dev' }), { path: 'zero' }))).code).toBe('FILE_KIND_UNSUPPORTED')
  expect((await refusal(call(write({ root: '/dev' }), { path: 'null', content: 'x' }))).code).toBe(
    'FILE_KIND_UNSUPPORTED',
  )
})

test('links inside the root are followed, absolute paths into it are taken, by its real name and by the given one', async () => {
  const { base, root } = world()
  symlinkSync('inside.txt', join(root, 'alias'))
  symlinkSync(root, join(base, 'root-alias'))
  expect(await call(read({ root }), { path: 'alias' })).toBe('inside\n')
  expect(await call(read({ root }), { path: join(root, 'sub/../inside.txt') })).toBe('inside\n')
  const aliased = read({ root: join(base, 'root-alias') })
  expect(await call(aliased, { path: join(base, 'root-alias', 'inside.txt') })).toBe('inside\n')
  expect(await call(aliased, { path: join(root, 'inside.txt') })).toBe('inside\n')
})

test('names that look odd but are names are taken as they are', async () => {
  const { root } = world()
  for (const path of [
    '...',
    '..x',
    '-rf',
    '~',
    '*',
    ' ',
    'a\nb',
    'ünïcode-😀',
    '\u202etxt',
    "it's $(x)",
    '__proto__',
    '%2e%2e',
  ]) {
    expect(await call(write({ root }), { path, content: path })).toContain('Created')
    expect(await call(read({ root }), { path })).toBe(path)
  }
})

test('control characters of a name never reach a message as they are', async () => {
  const { root } = world()
  const { message } = await refusal(call(read({ root }), { path: '\u001b[2Jgone\u202e\u0007' }))
  expect(message).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
  expect(message).toContain('\\u001b')
})

test('a folder exchanged for a link between the look and the opening is not followed', async () => {
  const { base, root } = world()
  writeFileSync(join(root, 'sub', 'secret.txt'), 'harmless')
  const opened = openRoot(root)
  const place = await locate(opened, 'sub/secret.txt')
  renameSync(join(root, 'sub'), join(root, 'moved'))
  symlinkSync(join(base, 'outside'), join(root, 'sub'))
  const use = () => Promise.reject(new Error('must not get here'))
  expect((await refusal(inFolder(opened, place, {}, use))).code).toBe('FILE_CHANGED')
  expect((await refusal(inFolder(opened, place, { create: true }, use))).code).toBe('FILE_CHANGED')
})

test('a root that is no folder is refused when the tools are made', () => {
  const { root } = world()
  for (const wrong of [join(root, 'missing'), join(root, 'inside.txt')]) {
    expect(() => codingTools({ root: wrong })).toThrow(expect.objectContaining({ code: 'ROOT_INVALID' }))
  }
  expect(existsSync(join(root, 'missing'))).toBe(false)
})

test('effects and parallel safety are declared', () => {
  const { root } = world()
  const declared = codingTools({ root }).map(({ name, effect, parallelSafe }) => [name, effect, parallelSafe ?? false])
  expect(declared).toEqual([
    ['read', 'read', true],
    ['write', 'write', false],
    ['edit', 'write', false],
    ['bash', 'execute', false],
    ['grep', 'read', true],
  ])
})

test('a root cannot be left out', () => {
  // @ts-expect-error read, write, edit, bash and grep are confined to a root, so one must be named
  expect(() => read({})).toThrow(TypeError)
  // @ts-expect-error
  expect(() => codingTools({})).toThrow(TypeError)
})
