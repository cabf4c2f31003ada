import { createAgent, defineTool } from '@palimpsest/agent-loop'
import { Session } from '@palimpsest/session'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Loopback } from './loopback.js'
import { callId, RAWS, thought, type Vendor, vendors } from './vendors.js'

let server: Loopback
beforeEach(async () => {
  server = await Loopback.start()
})
afterEach(() => server.stop())

const look = defineTool({ name: 'look', inputSchema: { type: 'object' }, effect: 'read', execute: () => 'seen' })

/** An agent on `a`, and a way to make its vendor another and ask. */
function agentOn(a: Vendor) {
  const session = Session.create()
  const agent = createAgent({ session, model: a.port(server.url), tools: [look] })
  return async (vendor: Vendor, ...answers: Loopback['answers']): Promise<string> => {
    server.answers.push(...answers)
    agent.configure({ model: vendor.port(server.url) })
    agent.send('Go.')
    await agent.idle()
    expect(session.events.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: { kind: 'completed' } } })
    return server.seen.at(-1)?.body ?? ''
  }
}

const pairs = vendors.flatMap((a, n) => vendors.slice(n + 1).map(b => ({ a, b, from: a.name, to: b.name })))

describe.each(pairs)('from $from to $to and back', ({ a, b }) => {
  test('each gets its own back, and nothing that the other signed or sealed', async () => {
    const ask = agentOn(a)
    expect(await ask(a, a.calls('a', RAWS), a.says('Done.'))).toContain(a.sent('a', RAWS))

    const first = await ask(b, b.calls('b', RAWS), b.says('Done.'))
    expect(first).toContain(b.sent('b', RAWS))
    for (const body of server.seen.slice(2, 4).map(seen => seen.body)) {
      expect(body).not.toContain('sealed-a')
      expect(body).not.toContain(JSON.stringify(thought('a')).slice(1, -1))
    }
    for (const n of RAWS.keys()) expect(first.split(`"${callId('a', n)}"`)).toHaveLength(3) // the call, and its result

    const back = await ask(a, a.says('Welcome.'))
    expect(back).toContain(a.sent('a', RAWS))
    expect(back).not.toContain('sealed-b')
    expect(back).not.toContain(JSON.stringify(thought('b')).slice(1, -1))
  })
})
