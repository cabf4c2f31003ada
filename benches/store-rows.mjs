// Rows of the performance table about stores that the shared bench has no workload for. Linux only: they read /proc.
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { commandCpuMs, inFreshProcess, median, runRows, withFolder } from './rows.mjs'
import { storeLarge, storeMany, stores } from './stores.mjs'

const REPETITIONS = 7
const SESSIONS = 10_000
const COMMAND = fileURLToPath(new URL('../apps/cli/dist/main.js', import.meta.url))
const ramDisk = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

const repeat = body => median(Array.from({ length: REPETITIONS }, body))
const task = (store, name, folder, id = '') => inFreshProcess('store-task.mjs', store, name, folder, id)

/** Runs `body` on a folder whose store `fill` has written. */
const onStore = (store, fill, body) =>
  withFolder(ramDisk, async folder => {
    const backend = stores[store].open(folder)
    await fill(backend)
    await backend.close()
    return body(folder)
  })

const coldStart = (store, chunks) =>
  onStore(
    store,
    backend => storeLarge(backend, 'large', chunks),
    folder => repeat(() => task(store, 'open', folder, 'large').cpu),
  )

const rowsOf = (name, store) => ({
  [`${name}: cold start to messages, 10⁶ events against 10⁵, equal surface`]: {
    unit: 'ms',
    measure: async () => ({ floor: await coldStart(store, 1e5), ours: await coldStart(store, 1e6) }),
  },
  [`${name}: resident memory for a turn's work on 10⁶ events`]: {
    unit: 'MB',
    measure: () =>
      onStore(
        store,
        backend => storeLarge(backend, 'large', 1e6),
        folder => ({ ours: task(store, 'work', folder, 'large').peakRssMB }),
      ),
  },
  [`${name}: list() of 10,000 sessions with titles`]: {
    unit: 'ms',
    measure: () =>
      onStore(
        store,
        backend => storeMany(backend, SESSIONS),
        folder => ({ ours: repeat(() => listed(store, folder).totalCpu) }),
      ),
  },
  [`${name}: file handles left by list()`]: {
    unit: '',
    measure: () =>
      onStore(
        store,
        backend => storeMany(backend, 1000),
        folder => ({ ours: task(store, 'list', folder).leftOpen }),
      ),
  },
  [`${name}: the command ls on 10,000 sessions`]: {
    unit: 'ms',
    measure: () =>
      onStore(
        store,
        backend => storeMany(backend, SESSIONS),
        folder => ({
          ours: repeat(() => commandCpuMs(process.execPath, [COMMAND, 'ls', '--store', stores[store].place(folder)])),
        }),
      ),
  },
})

function listed(store, folder) {
  const result = task(store, 'list', folder)
  if (result.titles !== SESSIONS) throw new Error(`expected ${SESSIONS} titles, found ${result.titles}`)
  return result
}

await runRows({ ...rowsOf('JSONL', 'jsonl'), ...rowsOf('SQLite', 'sqlite') })
