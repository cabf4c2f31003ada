// Two futures of one history. The child shares the parent's prefix: in memory, and in the store.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, forkSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'

const directory = mkdtempSync(join(tmpdir(), 'palimpsest-example-'))
const backend = createJsonlBackend({ directory })
const user = text => ({ message: { role: 'user', content: [{ type: 'text', text }] } })

const parent = await createSession(backend, { id: 'parent' })
for (const text of ['plan a trip', 'to Rome', 'by train']) {
  parent.session.append('user/message', user(text), { surfaceOp: 'append' })
}
await parent.flush()

const child = await forkSession(backend, 'parent', { id: 'child', length: 2 })
child.session.append('user/message', user('by bicycle'), { surfaceOp: 'append' })
await child.flush()
console.log('child of', child.session.header.parent)

// Removing the parent breaks nobody.
await parent.close()
await backend.remove('parent')
await child.close()
const { events } = await backend.read('child')
assert.deepEqual(
  events.map(({ data }) => data.message.content[0].text),
  ['plan a trip', 'to Rome', 'by bicycle'],
)
console.log('the child holds', events.length, 'events and its parent is gone')
await backend.close()
rmSync(directory, { recursive: true })
