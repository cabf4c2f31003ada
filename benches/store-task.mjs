// One task on a store in a process of its own: `node store-task.mjs STORE TASK FOLDER ID`. Prints JSON.
import { readdirSync, readFileSync } from 'node:fs'
import { openSession } from '@palimpsest/session-persistence'
import { cpuMs } from './rows.mjs'
import { appendTurn, stores } from './stores.mjs'

const [store, task, folder, id] = process.argv.slice(2)
const openFiles = () => readdirSync('/proc/self/fd').length
const peakRssMB = () => Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync('/proc/self/status', 'latin1'))[1]) / 1024

const tasks = {
  /** Up to the messages. */
  async open(backend) {
    const start = cpuMs()
    const { session, close } = await openSession(backend, id)
    const messages = session.deriveMessages().length
    const cpu = cpuMs() - start
    await close()
    return { cpu, messages }
  },
  /** What an agent does that goes on: the messages, one more turn, a look at the end. */
  async work(backend) {
    const { session, flush, close } = await openSession(backend, id)
    const messages = session.deriveMessages().length
    appendTurn(session, 1001)
    await flush()
    const last = session.slice(session.length - 100).length
    await close()
    return { messages, last, length: session.length }
  },
  /** Every session with its title, and what stays open behind that. */
  async list(backend) {
    const before = openFiles()
    const start = cpuMs()
    let titles = 0
    for await (const { title } of backend.list()) if (title !== undefined) titles += 1
    return { cpu: cpuMs() - start, titles, leftOpen: openFiles() - before }
  },
}

const backend = stores[store].open(folder)
const result = await tasks[task](backend)
await backend.close()
console.log(JSON.stringify({ ...result, peakRssMB: peakRssMB(), totalCpu: cpuMs() }))
