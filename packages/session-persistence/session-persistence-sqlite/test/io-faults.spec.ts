import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Plan } from './failing-worker.js'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const hasCompiler = process.platform === 'linux' && canRun('cc', '--version')
if (!hasCompiler) console.log('SKIPPED: failing the calls of SQLite needs Linux and a C compiler named cc')

const PLANS: readonly Plan[] = [
  { calls: ['open', 'write', 'sync', 'truncate', 'unlink', 'read', 'mkdir'], code: 'EIO' },
  { calls: ['write', 'sync', 'truncate'], code: 'EIO', isLasting: true },
  { calls: ['sync'], code: 'EIO', isLasting: true },
  { calls: ['read'], code: 'EIO', isLasting: true },
  { calls: ['open', 'write', 'truncate', 'mkdir'], code: 'ENOSPC', isLasting: true },
  { calls: ['write'], code: 'ENOSPC', isShort: true },
  { calls: ['open'], code: 'EMFILE' },
  { calls: ['open'], code: 'EMFILE', isLasting: true },
]

const LARGE_PLANS: readonly Plan[] = [
  ...PLANS,
  { calls: ['write'], code: 'ENOSPC' },
  { calls: ['write'], code: 'ENOSPC', isShort: true, isLasting: true },
  { calls: ['read'], code: 'EIO' },
  { calls: ['sync'], code: 'EIO' },
  { calls: ['unlink', 'truncate'], code: 'EIO', isLasting: true },
]

const total = { faults: 0 }

describe.skipIf(!hasCompiler)('whichever call of SQLite fails', () => {
  let folder: string
  beforeAll(async () => {
    mkdirSync(join(root, '.cache'), { recursive: true })
    // Beside the modules that the worker loads; its databases are in memory where the system has a folder for that.
    bundle = mkdtempSync(join(root, '.cache', 'failing-'))
    folder = mkdtempSync(join(memory(), 'palimpsest-failing-'))
    const shim = fileURLToPath(new URL('failing-io.c', import.meta.url))
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', join(bundle, 'failing-io.so'), shim, '-ldl'])
    await build({
      root,
      configFile: false,
      logLevel: 'error',
      ssr: { noExternal: true, external: ['better-sqlite3'], resolve: { conditions: ['@palimpsest/source'] } },
      build: {
        ssr: fileURLToPath(new URL('failing-worker.ts', import.meta.url)),
        outDir: bundle,
        emptyOutDir: false,
        target: 'node20',
      },
    })
  })
  let bundle: string
  afterAll(() => {
    for (const made of [folder, bundle]) rmSync(made, { recursive: true, force: true })
  })

  test.each(
    (process.env.PALIMPSEST_FAULTS === 'all' ? LARGE_PLANS : PLANS).map(plan => [JSON.stringify(plan), plan] as const),
  )('%s', async (name, plan) => {
    const place = mkdtempSync(join(folder, 'plan-'))
    const { faults, heard, ...wrong } = await survive(bundle, place, plan)
    expect(wrong).toEqual({})
    expect(faults).toBeGreaterThan(0)
    total.faults += faults
    console.log(`${total.faults} faults so far, ${faults} with ${name}: ${JSON.stringify(heard)}`)
  })
})

// --- internal ---

/** One process meets one fault after the other, until a run meets none. */
async function survive(bundle: string, place: string, plan: Plan) {
  const preload = { LD_PRELOAD: join(bundle, 'failing-io.so'), FAILING_IO_FOLDER: place }
  const child = spawn(process.execPath, [join(bundle, 'failing-worker.js'), place, JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...preload },
  })
  let said = ''
  child.stdout.on('data', data => {
    said += data
  })
  const [code, signal] = await new Promise<[number | null, string | null]>(resolve => {
    child.once('close', (...how) => resolve(how))
  })
  if (said === '') throw new Error(`the worker ended without a word: code ${code}, signal ${signal}`)
  return JSON.parse(said)
}

function canRun(...command: [string, ...string[]]): boolean {
  try {
    execFileSync(command[0], command.slice(1), { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function memory(): string {
  return statSync('/dev/shm', { throwIfNoEntry: false })?.isDirectory() ? '/dev/shm' : tmpdir()
}
