import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const place = mkdtempSync(join(tmpdir(), 'palimpsest-bundle-'))
const kernel = join(place, 'packages/core/session')
const entry = join(kernel, 'dist/index.js')

beforeAll(() => {
  cpSync(join(root, 'tsconfig.base.json'), join(place, 'tsconfig.base.json'))
  for (const part of ['src', 'package.json', 'tsconfig.json'])
    cpSync(join(root, 'packages/core/session', part), join(kernel, part), { recursive: true })
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

test('the kernel is one file once it is bundled, and never an old one, whoever builds', { timeout: 120_000 }, () => {
  compile()
  expect(isOneFile()).toBe(false)
  const modules = exported()

  bundle()
  expect(isOneFile()).toBe(true)
  expect(exported()).toBe(modules)
  const { sources } = JSON.parse(readFileSync(`${entry}.map`, 'utf8'))
  expect(sources).toContain('../src/session.ts')

  const { mtimeMs } = statSync(entry)
  compile()
  bundle()
  expect(statSync(entry).mtimeMs).toBe(mtimeMs)

  appendFileSync(join(kernel, 'src/header.ts'), '\n;(globalThis as Record<string, unknown>)["changed"] = true\n')
  compile()
  expect(exported()).toBe(`changed ${modules}`)
  bundle()
  expect(isOneFile()).toBe(true)
  expect(exported()).toBe(`changed ${modules}`)
})

// --- internal ---

const compile = () => run(join(root, 'node_modules/typescript/bin/tsc'), '-b', kernel)
const bundle = () => run(join(root, 'scripts/bundle-kernel.mjs'), kernel)
const isOneFile = () => !/^(import|export) .*from /m.test(readFileSync(entry, 'utf8'))

/** What a program gets that imports the built kernel. */
function exported(): string {
  const print = `console.log(globalThis.changed ? 'changed' : '', ...Object.keys(kernel).sort())`
  const program = `import * as kernel from ${JSON.stringify(pathToFileURL(entry).href)}; ${print}`
  return run('--input-type=module', '-e', program).trim()
}

function run(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(`${status} ${stderr}${status === 0 ? '' : stdout}`).toBe('0 ')
  return stdout
}
