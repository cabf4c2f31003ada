// A session on disk: what flush() acknowledged is there after the process is gone, byte for byte.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'

const directory = mkdtempSync(join(tmpdir(), 'palimpsest-example-'))
const user = text => ({ message: { role: 'user', content: [{ type: 'text', text }] } })

const backend = createJsonlBackend({ directory })
const { session, flush, close } = await createSession(backend, { id: 'durable' })
session.append('user/message', user('remember this'), { surfaceOp: 'append' })
await flush() // resolves when everything appended so far is on the disk
const live = JSON.stringify(session.deriveMessages())

// One writer at a time: while the lease is held, everybody else is told who holds it.
await assert.rejects(openSession(backend, 'durable'), { code: 'SESSION_LOCKED' })
await close()

const again = await openSession(createJsonlBackend({ directory }), 'durable')
assert.equal(JSON.stringify(again.session.deriveMessages()), live)
console.log('reopened:', again.session.length, 'event; repaired:', again.report.repaired.length)
await again.close()

for await (const { id, title, length } of backend.list()) console.log('stored:  ', id, '·', title, '·', length)
await backend.close()
rmSync(directory, { recursive: true })
