// Runs in a process of its own, under the preloaded failing-io.c; io-faults.spec.ts bundles and starts it.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readlinkSync, rmSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import { FailingRun } from './failing-run.js'
import { findUntruth } from './truth.js'

/** Calls, as failing-io.c numbers them. */
const CALLS = { open: 1, write: 2, sync: 4, truncate: 8, unlink: 16, read: 32, mkdir: 64 }
const ERRNO = { EIO: 5, EMFILE: 24, ENOSPC: 28 }

export interface Plan {
  readonly calls: readonly (keyof typeof CALLS)[]
  readonly code: keyof typeof ERRNO
  readonly isLasting?: boolean
  /** The write goes through by half, and the next one fails. */
  readonly isShort?: boolean
}

const [folder, plan] = [process.argv[2]!, JSON.parse(process.argv[3]!) as Plan]
const heard: Record<string, number> = {}
let faults = 0
for (let at = 1; ; at++) {
  const [wrong, hasFired] = await survive(at)
  if (wrong !== undefined) {
    process.stdout.write(JSON.stringify({ wrong, at, plan }))
    break
  }
  if (!hasFired) {
    process.stdout.write(JSON.stringify({ faults, heard }))
    break
  }
  faults += 1
}

// --- internal ---

/** Lets the run meet the fault, then looks at what a kill would have left, and at what was closed. */
async function survive(at: number): Promise<[wrong: string | undefined, hasFired: boolean]> {
  const place = join(folder, `${at}`)
  mkdirSync(place)
  const file = join(place, 'store', 'store.db')
  const copy = join(folder, `copy-${at}.db`)
  arm(at)
  const run = new FailingRun(file, hasFired, plan.calls.includes('read'))
  await run.go()
  const fired = hasFired()
  pause()
  for (const end of ['', '-wal', '-journal']) if (existsSync(file + end)) copyFileSync(file + end, copy + end)
  pause()
  await run.close()
  disarm()
  for (const code of run.heard) heard[code] = (heard[code] ?? 0) + 1
  const left = openFiles(place)
  const wrong =
    run.wrong ??
    (left.length > 0 ? `still open: ${left.join()}` : undefined) ??
    (fired ? undefined : run.failure) ??
    (await lookAt(copy, run, 'killed')) ??
    (await lookAt(file, run, 'closed'))
  rmSync(place, { recursive: true })
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(copy + end, { force: true })
  return [wrong, fired]
}

/** What is there must be right, and everything that was acknowledged must be there. */
async function lookAt(file: string, run: FailingRun, how: string): Promise<string | undefined> {
  if (!existsSync(file)) return run.acknowledged.size > 0 ? `${how}: no database` : undefined
  try {
    const backend = createSqliteBackend({ file, busyMs: 0 })
    try {
      const lengths = new Map<string, number>()
      for (const id of run.logs.keys()) {
        const { from, to } = run.bounds(id)
        const length = (await backend.read(id))?.length ?? 0
        if (length < from || length > to) return `${how}: ${id} has ${length} events, expected ${from} to ${to}`
        if (length > 0) lengths.set(id, length)
      }
      for (const worker of lengths.keys()) {
        const wrong = await findUntruth(backend, { logs: run.logs, lengths, isExact: true, worker })
        // The next one is looked at before there was work on this one.
        if (wrong !== undefined) return `${how}: ${wrong}`
        break
      }
    } finally {
      await backend.close()
    }
  } catch (error) {
    return `${how}: ${(error as Error).stack}`
  }
  return undefined
}

function arm(at: number): void {
  const calls = plan.calls.reduce((sum, call) => sum + CALLS[call], 0)
  unlinkSync(`/failing-io/${calls}/${at}/${ERRNO[plan.code]}/${plan.isLasting ? 1 : 0}/${plan.isShort ? 1 : 0}`)
}

/** Lets all calls through, and the second time none any more. */
function pause(): void {
  unlinkSync('/failing-io/pause')
}

function disarm(): void {
  unlinkSync('/failing-io/0/0/0/0/0')
}

function hasFired(): boolean {
  try {
    unlinkSync('/failing-io/fired')
    return true
  } catch {
    return false
  }
}

function openFiles(place: string): string[] {
  const names = readdirSync('/proc/self/fd').map(fd => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return names.filter(name => name.startsWith(place))
}
