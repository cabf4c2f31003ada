// A host with two plugins: one listens, one stands in the way of a tool. Both go when they are disposed.
import assert from 'node:assert/strict'
import { createAgent, defineTool } from '@palimpsest/agent-loop'
import { createHost } from '@palimpsest/host'
import { scriptedModel } from '@palimpsest/model-scripted'
import { Session } from '@palimpsest/session'

const host = createHost()
const counts = new Map()
await host.use({
  name: 'counter',
  setup: ctx => void ctx.on('session/event', ({ type }) => counts.set(type, (counts.get(type) ?? 0) + 1)),
})
const guard = await host.use({
  name: 'guard',
  setup: ctx =>
    void ctx.around('tool/execute', (call, next) => {
      if (call.tool.effect !== 'read') throw Object.assign(new Error('not today'), { code: 'TOOL_DENIED' })
      return next()
    }),
})

let launched = 0
const launch = defineTool({ name: 'launch', inputSchema: { type: 'object' }, execute: () => `launched ${++launched}` })
const call = { toolCalls: [{ toolName: 'launch', input: {} }] }
const model = scriptedModel([call, { text: 'It was denied.' }, call, { text: 'Launched.' }])
const session = Session.create()
const agent = createAgent({ session, model, host, tools: [launch] })

agent.send('launch')
await agent.idle()
assert.equal(launched, 0)
const denied = session.events.find(({ type }) => type === 'tool/result')
console.log('with the guard:   ', denied.data.error.code)

await guard.dispose()
agent.send('launch')
await agent.idle()
assert.equal(launched, 1)
console.log('without the guard:', session.deriveMessages().at(-2).content[0].output.value)
console.log('the counter heard ', Object.fromEntries(counts))
await agent.dispose()
