import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const scripts = join(dirname(dirname(fileURLToPath(import.meta.url))), 'scripts')

/** Stands for npm: notes when it begins and ends, installs a compiler that notes its run, and the hidden lockfile last. */
const NPM = `
import { appendFileSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
appendFileSync('log', 'install+ ')
while (process.env.HOLD && !existsSync('go')) await new Promise(setImmediate)
if (process.env.NPM_FAILS) { console.error('no network'); process.exit(1) }
mkdirSync('node_modules/typescript/bin', { recursive: true })
writeFileSync('node_modules/typescript/bin/tsc', "require('fs').appendFileSync('log', 'build '); process.exitCode = Number(process.env.TSC_CODE ?? 0)")
copyFileSync('package-lock.json', 'node_modules/.package-lock.json')
appendFileSync('log', 'install- ')
`

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'prepare-'))
  mkdirSync(join(root, 'scripts'))
  mkdirSync(join(root, 'npm'))
  copyFileSync(join(scripts, 'prepare.mjs'), join(root, 'scripts', 'prepare.mjs'))
  writeFileSync(join(root, 'npm', 'npm-cli.mjs'), NPM)
  writeFileSync(join(root, 'log'), '')
  lock({
    'node_modules/a': { version: '1.0.0', integrity: 'x' },
    'node_modules/b': { version: '1.0.0', optional: true },
  })
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

describe('prepare', () => {
  test('installs and builds a bare clone, the second time only builds', async () => {
    expect((await run()).code).toBe(0)
    expect((await run()).code).toBe(0)
    expect(log()).toBe('install+ install- build build ')
  })

  test('installs again when the lockfile asks for another version', async () => {
    await run()
    lock({ 'node_modules/a': { version: '1.0.1', integrity: 'y' } })
    await run()
    expect(log()).toBe('install+ install- build install+ install- build ')
  })

  test('never installs twice at once', async () => {
    let waiting = 0
    const told = (output: string): void => {
      // The install ends only when both others have seen that they must wait.
      if (output.includes('another run') && ++waiting === 2) writeFileSync(join(root, 'go'), '')
    }
    const runs = await Promise.all([1, 2, 3].map(() => run({ HOLD: '1' }, '', told)))
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(log()).toBe('install+ install- build build build ')
  })

  test('takes over the lock of a run that died, and frees its own', async () => {
    const stale = join(root, '.cache', 'prepare.lock')
    mkdirSync(stale, { recursive: true })
    const longAgo = new Date(Date.now() - 3_600_000)
    utimesSync(stale, longAgo, longAgo)
    expect((await run()).code).toBe(0)
    expect(() => readFileSync(stale)).toThrow('ENOENT')
  })

  test('says so and fails when the install fails', async () => {
    const { code, output } = await run({ NPM_FAILS: '1' })
    expect(code).toBe(1)
    expect(output).toMatch(/no network[\s\S]*Check the network/)
    expect(log()).toBe('install+ ')
  })

  test('tells its caller that the build failed', async () => {
    expect((await run({ TSC_CODE: '2' })).output).toMatch(/built: false/)
    expect((await run()).output).toMatch(/built: true/)
  })

  test.each(['start', 'test', 'check'])('npm run %s imports nothing but Node before it has prepared', name => {
    expect(importsOf(join(scripts, `${name}.mjs`)).filter(specifier => !specifier.startsWith('node:'))).toEqual([])
  })

  test('says in a sentence which Node it needs', async () => {
    const { code, output } = await run({}, "Object.defineProperty(process.versions, 'node', { value: '20.18.3' });")
    expect(code).toBe(1)
    expect(output).toBe('Palimpsest needs Node 20.19 or newer; this is Node 20.18.3.\n')
    expect(log()).toBe('')
  })
})

function run(
  environment: NodeJS.ProcessEnv = {},
  before = '',
  onOutput: (piece: string) => void = () => {},
): Promise<{ code: number | null; output: string }> {
  const script = `${before} console.log('built:', await (await import('./scripts/prepare.mjs')).prepare())`
  const npm = { npm_execpath: join(root, 'npm', 'npm-cli.mjs') }
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    env: { ...process.env, ...npm, ...environment },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', piece => {
      output += piece
      onOutput(String(piece))
    })
  }
  return new Promise(resolve => child.on('close', code => resolve({ code, output })))
}

function lock(packages: object): void {
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }))
}

function log(): string {
  return readFileSync(join(root, 'log'), 'utf8')
}

/** What a script imports statically from elsewhere, itself or through scripts of ours. */
function importsOf(file: string): string[] {
  const specifiers = [...readFileSync(file, 'utf8').matchAll(/^import .* from '(.+)'$/gm)].map(([, name]) => name!)
  return specifiers.flatMap(name => (name.startsWith('.') ? importsOf(join(dirname(file), name)) : [name]))
}
