// A process that opens a session of a store and writes turn after turn, one JSON line a step on stdout.
// node writer.mjs STORE DIRECTORY ID [--takeover]
import { join } from 'node:path'
import { createSession, openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'

const [store, directory, id, flag] = process.argv.slice(2)
const say = line => process.stdout.write(`${JSON.stringify(line)}\n`)
const backend =
  store === 'jsonl'
    ? createJsonlBackend({ directory })
    : createSqliteBackend({ file: join(directory, 'sessions.db'), busyMs: 2000 })
const options = { maxDelayMs: Infinity, takeover: flag === '--takeover' }

try {
  const stored = (await backend.read(id, { from: 0, to: 0 })) !== undefined
  const { session, flush } = stored
    ? await openSession(backend, id, options)
    : await createSession(backend, { id, ...options })
  say({ opened: session.length })
  for (let turn = 1; ; turn++) {
    session.append('turn/start', { turn })
    for (let i = 0; i < turn % 7; i++) {
      const text = `${process.pid} `.repeat(1 + ((turn * 37) % 200))
      session.append('assistant/chunk', { turn, step: 1, chunk: { type: 'text-delta', id: 't', text } })
    }
    if (turn % 3 !== 0) session.append('turn/end', { turn, reason: { kind: 'completed' } })
    await flush()
    say({ acknowledged: session.length })
  }
} catch (error) {
  say({ failed: error.code ?? String(error.stack) })
  process.exit(3)
}
