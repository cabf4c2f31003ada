// A process that compacts a stored session and stops for ever at one moment of it, to be killed there:
// `compacting-process.mjs jsonl|sqlite PLACE ID MOMENT`. Says "stopped" once all that was to be written is.
import { createAgent } from '@palimpsest/agent-loop'
import { compact, compaction } from '@palimpsest/history'
import { createHost } from '@palimpsest/host'
import { scriptedModel } from '@palimpsest/model-scripted'
import { openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'

const [kind, place, id, moment] = process.argv.slice(2)
const isBehindGate = {
  'before start': ({ type }) => type === 'compaction/start',
  'before replacement': ({ type, surfaceOp }) => type === 'user/message' && surfaceOp !== 'append',
  'before end': ({ type }) => type === 'compaction/end',
}[moment]

const stop = () => {
  console.log('stopped')
  setInterval(() => {}, 1_000)
  return new Promise(() => {})
}

/** The store, which takes what stands before the gate and then hangs. */
function gated(backend) {
  const append = async (lease, header, events) => {
    const gate = isBehindGate === undefined ? -1 : events.findIndex(isBehindGate)
    if (gate !== 0) await backend.append(lease, header, gate < 0 ? events : events.slice(0, gate))
    if (gate >= 0) await stop()
  }
  return new Proxy(backend, {
    get(target, name) {
      if (name === 'append') return append
      const member = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

const backend = gated(
  kind === 'jsonl' ? createJsonlBackend({ directory: place }) : createSqliteBackend({ file: place }),
)
const open = await openSession(backend, id)
const summarize = async () => {
  if (moment === 'while summarising' || moment === 'in a turn') {
    await open.flush()
    await stop()
  }
  return 'short'
}
if (moment === 'in a turn') {
  const host = createHost()
  await host.use(compaction({ window: 1, threshold: 1, summarize }))
  createAgent({ session: open, host, model: scriptedModel([{ text: 'done' }]) }).send('go on')
} else {
  await compact(open.session, { summarize, keepRecent: 1 })
  await open.flush()
  await stop()
}
