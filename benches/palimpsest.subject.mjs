// Palimpsest as a subject of the session engine bench: one adapter over the built packages.
import { join } from 'node:path'
import { Session } from '@palimpsest/session'
import { createSession, openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'

/** The bench's event shapes are a bare message, or a tool result in a user's role: here a message stands in `data.message`. */
function reshape(type, data) {
  if (type === 'user/message') return { message: data }
  if (type === 'tool/result') {
    const { message } = data
    return { ...data, toolCallId: message.source.callId, message: { ...message, role: 'tool' } }
  }
  return data
}

const append = (session, type, data, intent) =>
  intent === undefined ? session.append(type, data) : session.append(type, data, intent)

/** A seed in our shape. Its cost is the subject's own, as that of any adapter. */
const reshapeSeed = seed => seed.map(event => ({ ...event, data: reshape(event.type, event.data) }))

const memory = {
  create: id => Session.create({ id }),
  prepare: template => ({ ...template, data: reshape(template.type, template.data) }),
  append,
  messages: session => session.deriveMessages(),
  events: session => session,
  fromSeed: (id, seed) => Session.create({ id, seed: reshapeSeed(seed) }),
}

/** `create` answers at once; what is appended before the session exists waits for it. */
const durable = createBackend => ({
  async open(dir) {
    const backend = createBackend(dir)
    const stores = new Set()
    return {
      create(id) {
        const handle = {
          opening: createSession(backend, { id }).then(open => {
            handle.open = open
            return open
          }),
          queue: [],
        }
        stores.add(handle)
        return handle
      },
      append(handle, type, data, intent) {
        if (handle.open === undefined) handle.queue.push([type, data, intent])
        else append(handle.open.session, type, reshape(type, data), intent)
      },
      async flush(handle) {
        const open = handle.open ?? (await handle.opening)
        for (const [type, data, intent] of handle.queue.splice(0))
          append(open.session, type, reshape(type, data), intent)
        await open.flush()
      },
      async load(id) {
        const open = await openSession(backend, id)
        return { events: open.session.length, messages: open.session.deriveMessages().length, hold: open }
      },
      async tail(id, from) {
        const { events } = await backend.read(id, { from })
        return { events: events.length, messages: 0, hold: events }
      },
      async close() {
        for (const handle of stores) await (await handle.opening).close()
        await backend.close()
      },
    }
  },
})

export default () => ({
  name: 'palimpsest',
  memory,
  durable: {
    jsonl: durable(directory => createJsonlBackend({ directory })),
    sqlite: durable(directory => createSqliteBackend({ file: join(directory, 'sessions.db') })),
  },
})
