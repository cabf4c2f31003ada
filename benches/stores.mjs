// Both stores by name, and the sessions that their rows are measured on.
import { join } from 'node:path'
import { createSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'

/** `place`: what the command's `--store` calls it. */
export const stores = {
  jsonl: { open: folder => createJsonlBackend({ directory: folder }), place: folder => `jsonl:${folder}` },
  sqlite: {
    open: folder => createSqliteBackend({ file: join(folder, 'sessions.db') }),
    place: folder => `sqlite:${join(folder, 'sessions.db')}`,
  },
}

/** One session of `chunks` chunks in 1,000 turns of one visible event each. */
export async function storeLarge(backend, id, chunks) {
  const { session, flush, close } = await createSession(backend, { id })
  for (let turn = 1; turn <= 1000; turn++) {
    session.append('turn/start', { turn })
    session.append('user/message', userMessage(`message ${turn}`), { surfaceOp: 'append' })
    session.append('step/start', { turn, step: 1 })
    for (let k = 0; k < chunks / 1000; k++) session.append('assistant/chunk', chunk(turn, k))
    session.append('step/end', { turn, step: 1 })
    session.append('turn/end', { turn, reason: { kind: 'completed' } })
    await flush()
  }
  await close()
}

/** Sessions of one short turn, as many as `count`: some at a time, as each looks at the whole store for its lock. */
export async function storeMany(backend, count) {
  for (let from = 0; from < count; from += AT_ONCE) {
    const ids = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, i) => `session-${from + i}`)
    await Promise.all(ids.map(id => storeOne(backend, id)))
  }
}

export function appendTurn(session, turn) {
  session.append('turn/start', { turn })
  session.append('user/message', userMessage(`What is ${turn}?`), { surfaceOp: 'append' })
  session.append('step/start', { turn, step: 1 })
  for (let k = 0; k < 5; k++) session.append('assistant/chunk', chunk(turn, k))
  const content = [{ type: 'text', text: 'A number.' }]
  const message = { role: 'assistant', content }
  session.append('assistant/message', { turn, step: 1, message, finishReason: 'stop' }, { surfaceOp: 'append' })
  session.append('step/end', { turn, step: 1 })
  session.append('turn/end', { turn, reason: { kind: 'completed' } })
}

// --- internal ---

const AT_ONCE = 100

async function storeOne(backend, id) {
  const { session, close } = await createSession(backend, { id })
  appendTurn(session, 1)
  await close()
}

const userMessage = text => ({ message: { role: 'user', content: [{ type: 'text', text }] } })
const chunk = (turn, i) => ({ turn, step: 1, chunk: { type: 'text-delta', id: '0', text: ` word${i}` } })
