import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { arrows } from '../scripts/checks/arrows.mjs'
import { conformance } from '../scripts/checks/conformance.mjs'
import { docLinks, headingAnchors } from '../scripts/checks/doc-links.mjs'
import { fileSizes } from '../scripts/checks/file-sizes.mjs'
import { leftovers } from '../scripts/checks/leftovers.mjs'
import { packageFiles } from '../scripts/checks/package-files.mjs'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'checks-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

describe('arrows', () => {
  const kernel = 'packages/core/session/src/index.ts'

  const wrong: [string, string, string, RegExp][] = [
    ['the kernel to the host', kernel, 'packages/core/host/src/index.ts', /imports nothing of ours/],
    ['the host to the loop', 'packages/core/host/src/index.ts', 'packages/core/agent-loop/src/index.ts', /kernel only/],
    ['the loop to a store', 'packages/core/agent-loop/src/index.ts', store('-jsonl'), /the kernel and the host only/],
    ['a store to another', store('-jsonl'), store('-memory'), /the kernel and the port only/],
    ['the port to a store', store(''), store('-jsonl'), /storage port imports the kernel only/],
    ['a model to the loop', 'packages/adapters/a/src/index.ts', 'packages/core/agent-loop/src/index.ts', /adapter/],
    ['tools to the host', 'packages/tools/src/index.ts', 'packages/core/host/src/index.ts', /tools import/],
    ['an example to an app', 'examples/01-a.mjs', 'apps/cli/src/index.ts', /only apps and examples compose/],
    ['a source to a test', 'apps/cli/src/index.ts', 'apps/cli/test/index.ts', /may not import a test/],
  ]
  test.each(wrong)('refuse %s', async (_name, from, to, comment) => {
    module(to)
    module(from, to)
    expect(await arrows(project())).toEqual([expect.stringMatching(comment)])
  })

  test('follow the name of a package to its sources', async () => {
    module('packages/core/agent-loop/src/index.ts')
    const loop = { name: '@palimpsest/agent-loop', exports: { '.': { '@palimpsest/source': './src/index.ts' } } }
    write('packages/core/agent-loop/package.json', JSON.stringify(loop))
    mkdirSync(join(root, 'node_modules/@palimpsest'), { recursive: true })
    symlinkSync(join(root, 'packages/core/agent-loop'), join(root, 'node_modules/@palimpsest/agent-loop'))
    write('packages/core/host/src/index.ts', "export { value } from '@palimpsest/agent-loop'\n")
    expect(await arrows(project())).toEqual([expect.stringMatching(/kernel only/)])
  })

  test('refuse a cycle of values, allow one of types', async () => {
    write('packages/tools/src/a.ts', "import { b } from './b.js'\nexport const a = () => b\n")
    write('packages/tools/src/b.ts', "import { a } from './a.js'\nexport const b = () => a\n")
    expect((await arrows(project())).join()).toMatch(/import cycle/)
    write('packages/tools/src/b.ts', "import type { a } from './a.js'\nexport const b = (x: typeof a) => x\n")
    expect(await arrows(project())).toEqual([])
  })

  test('refuse node: in the kernel', async () => {
    write(kernel, "import { readFileSync } from 'node:fs'\nexport const read = readFileSync\n")
    expect((await arrows(project())).join()).toMatch(/runs in a browser/)
  })

  test('let everybody import the kernel, and apps compose', async () => {
    const below = [
      'packages/core/host/src/index.ts',
      'packages/core/agent-loop/src/index.ts',
      store(''),
      store('-jsonl'),
    ]
    module(kernel)
    for (const path of below) module(path, kernel)
    module('packages/tools/src/index.ts', kernel, 'packages/core/agent-loop/src/index.ts')
    module('apps/cli/src/index.ts', kernel, ...below, 'packages/tools/src/index.ts')
    expect(await arrows(project())).toEqual([])
  })

  test('say so when they saw nothing', async () => {
    write('packages/README.md', '')
    write('elsewhere.ts', '')
    expect(await arrows(project())).toHaveLength(1)
  })

  function store(name: string): string {
    return `packages/session-persistence/session-persistence${name}/src/index.ts`
  }

  function module(path: string, ...imports: string[]): void {
    const depth = '../'.repeat(path.split('/').length - 1)
    const lines = imports.map((to, n) => `export { value as v${n} } from '${depth}${to}'\n`)
    write(path, `${lines.join('')}export const value = 1\n`)
  }

  function project(): string {
    write('tsconfig.test.json', '{ "compilerOptions": { "module": "NodeNext" } }')
    write('package.json', '{ "type": "module" }')
    return root
  }
})

describe('documents', () => {
  test('a link to no file and an anchor to no heading are found', () => {
    write(
      'README.md',
      '[a](docs/a.md) [b](docs/b.md#two) [c](docs/b.md#three) [d](#one) [e](https://example.org/x)\n# One\n',
    )
    write('docs/b.md', '## Two\n```\n## Three\n```\n[up](../README.md#one)\n')
    expect(docLinks(root)).toEqual([
      'README.md: the link docs/a.md leads to no file',
      'README.md: the link docs/b.md#three names no heading of docs/b.md',
    ])
  })

  test('anchors are those of the site', () => {
    const text = '# `flush()` and *close*\n## A\n## A\n### SESSION_LOCKED\n## Löschen, bitte!\n'
    expect([...headingAnchors(text)]).toEqual(['flush-and-close', 'a', 'a-1', 'session_locked', 'löschen-bitte'])
  })
})

describe('the rest', () => {
  test('a backend without the kit is found', () => {
    const folder = 'packages/session-persistence/session-persistence-x'
    write(`${folder}/package.json`, '{}')
    write(`${folder}/test/x.spec.ts`, 'test("x", () => {})')
    expect(conformance(root)).toHaveLength(1)
    write(`${folder}/test/x.spec.ts`, 'testBackend("x", kit, { test })')
    expect(conformance(root)).toEqual([])
  })

  test('a source beyond the alarm is found', () => {
    write('packages/a/src/short.ts', '\n'.repeat(400))
    write('packages/a/src/long.ts', '\n'.repeat(401))
    expect(fileSizes(root)).toEqual([expect.stringMatching(/long\.ts has 401 lines/)])
  })

  const leftover: [string, string, string, RegExp][] = [
    ['a path of this machine', 'a.md', `see ${'/wo'}rk/thing`, /path of this machine/],
    ['a note to oneself', 'a.ts', `// ${'TO'}DO later`, /note to oneself/],
    ['a registry host', 'a.json', `"https://registry.${'npmjs'}.org/x"`, /registry host/],
    ['a number of an issue', 'a.md', `closes issue ${'#'}12`, /number of an issue/],
    ['a test that hides the others', 'a.ts', `test.${'only'}('x', f)`, /hides the others/],
    ['a library that prints', 'packages/a/src/a.ts', 'console.log(1)\n', /prints/],
  ]
  test.each(leftover)('%s is found', (_name, file, text, problem) => {
    write(file, 'nothing wrong here\n')
    expect(leftovers(root)).toEqual([])
    write(file, text)
    expect(leftovers(root)).toEqual([expect.stringMatching(problem)])
  })

  test('package files that disagree are found', () => {
    const same = { version: '1.0.0', license: 'MIT', author: 'a', type: 'module', engines: { node: '>=20' } }
    const entry = { '@palimpsest/source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' }
    const good = { ...same, name: '@palimpsest/session', description: 'd', files: ['dist'], exports: { '.': entry } }
    const told = (manifest: object): string[] => {
      write('package.json', JSON.stringify({ ...same, workspaces: ['a'] }))
      write('tsconfig.json', '{ "references": [{ "path": "a" }] }')
      write('a/tsconfig.json', '{}')
      write('a/package.json', JSON.stringify(manifest))
      return packageFiles(root)
    }
    expect(told(good)).toEqual([])
    expect(told({ ...good, version: '2.0.0' }).join()).toMatch(/version differs/)
    expect(told({ ...good, dependencies: { x: '1.0.0' } }).join()).toMatch(/kernel has no dependency/)
    expect(told({ ...good, devDependencies: { x: '^1.0.0' } }).join()).toMatch(/no exact version/)
    expect(told({ ...good, exports: { '.': { default: './dist/index.js' } } }).join()).toMatch(/exports/)
    expect(told({ ...good, name: 'a', dependencies: { a: '1.0.0' } }).join()).toMatch(/make them agree/)
    expect(told({ ...good, name: 'a', dependencies: { '@palimpsest/x': '1.0.0' } }).join()).toMatch(/never import/)
    write('a/src/index.ts', "import { x } from '@palimpsest/y'\n")
    expect(told({ ...good, name: 'a' }).join()).toMatch(/does not declare/)
  })
})

function write(file: string, text: string): void {
  mkdirSync(join(root, dirname(file)), { recursive: true })
  writeFileSync(join(root, file), text)
}
