import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { newPlace, skewedBy, useWorkers, Worker } from './crew.js'
import type { Command } from './said.js'
import { openStore, STORES, type StoreName } from './stores.js'

const DAY_MS = 86_400_000
/** The process runs as a child of the first one in a new pid namespace, with a /proc of that. */
const NAMESPACE = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
const missing =
  spawnSync(NAMESPACE[0]!, [...NAMESPACE.slice(1), 'true']).status === 0
    ? undefined
    : 'unshare may not make a pid namespace'
if (missing !== undefined) console.log(`SKIPPED: no pid is used again here, as ${missing}`)

useWorkers()

const hold = (store: StoreName, place: string, takeover?: true): Command => ({
  role: 'hold',
  store,
  place,
  id: 's',
  ...(takeover && { takeover }),
})

describe.each(STORES)('%s: an owner', store => {
  test.skipIf(missing !== undefined)('whose pid was given to another process is dead', async () => {
    const place = newPlace()
    const script = [...NAMESPACE, process.execPath, '--input-type=module', '-e', REUSE, '--']
    const worker = new Worker(hold(store, place), { under: script })
    const [first, second] = [await worker.until('acknowledged'), await worker.until('acknowledged')]
    expect(second.epoch).toBe(first.epoch + 1)
    expect(await worker.until('reused')).toBe(true)
    await worker.kill()
  })

  test.skipIf(missing !== undefined)(
    'of another pid namespace is not dead because its pid is nobody’s here',
    async () => {
      const place = newPlace()
      const worker = new Worker(hold(store, place), { under: NAMESPACE })
      const { epoch } = await worker.until('acknowledged')
      const backend = openStore(store, place)
      await expect(backend.acquire('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
      await worker.kill()
      // Who looks from here cannot tell: only the user can.
      await expect(backend.acquire('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
      const lease = await backend.acquire('s', { takeover: true })
      expect(lease.epoch).toBe(epoch + 1)
      await backend.close()
    },
  )

  test.each([
    [DAY_MS, -DAY_MS],
    [-DAY_MS, DAY_MS],
  ])('with a clock %i ms off lives and dies like any other, for one that is %i ms off', async (ownSkew, otherSkew) => {
    const place = newPlace()
    const owner = new Worker(hold(store, place), skewedBy(ownSkew))
    const { epoch } = await owner.until('acknowledged')
    owner.go()
    const { to } = await owner.until('acknowledged')
    const refused = new Worker(hold(store, place), skewedBy(otherSkew))
    await refused.exited
    expect(refused.said.at(-1)).toMatchObject({ failed: 'SESSION_LOCKED' })
    const backend = openStore(store, place)
    const message = expect.stringContaining(`process ${owner.pid}`)
    await expect(backend.acquire('s')).rejects.toMatchObject({ code: 'SESSION_LOCKED', message })

    await owner.kill()
    const heir = new Worker(hold(store, place), skewedBy(otherSkew))
    expect(await heir.until('acknowledged')).toMatchObject({ from: 0, to, epoch: epoch + 1 })
    heir.go()
    const acknowledged = await heir.until('acknowledged')
    const taker = new Worker(hold(store, place, true), skewedBy(ownSkew))
    expect(await taker.until('acknowledged')).toMatchObject({ from: 0, to: acknowledged.to, epoch: epoch + 2 })
    heir.go()
    await heir.exited
    expect(heir.said.at(-1)).toMatchObject({ failed: 'SESSION_FENCED' })
    await taker.kill()
    // Times are the writers' own; nothing sorts by them or mends them.
    expect((await backend.read('s'))!.length).toBe(acknowledged.to)
    await backend.close()
  })
})

// --- internal ---

/**
 * The first process of the namespace: kills an owner, gives its pid to a process that only sleeps, and
 * lets the next owner come. Takes the owner's command line as its arguments.
 */
const REUSE = `
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
const owner = () => spawn(process.argv[1], process.argv.slice(2), { stdio: ['pipe', 'pipe', 'inherit'] })
const told = async child => process.stdout.write((await once(child.stdout, 'data'))[0])
const first = owner()
await told(first)
first.kill('SIGKILL')
await once(first, 'close')
let other
for (let tries = 0; tries < 50 && other?.pid !== first.pid; tries++) {
  other?.kill('SIGKILL')
  writeFileSync('/proc/sys/kernel/ns_last_pid', String(first.pid - 1))
  other = spawn('sleep', ['600'])
}
const second = owner()
await told(second)
process.stdout.write(JSON.stringify({ reused: other.pid === first.pid }) + '\\n')
`
