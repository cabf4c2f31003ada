// An agent with one tool and a scripted model: what it did is in the log, each fact before its effect.
import assert from 'node:assert/strict'
import { createAgent, defineTool } from '@palimpsest/agent-loop'
import { scriptedModel } from '@palimpsest/model-scripted'
import { Session } from '@palimpsest/session'

const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  effect: 'read',
  parallelSafe: true,
  execute: ({ city }) => `${city}: rain`,
})
const model = scriptedModel([
  {
    toolCalls: [
      { toolName: 'weather', input: { city: 'Rome' } },
      { toolName: 'weather', input: { city: 'Oslo' } },
    ],
  },
  { text: 'It rains in both.' },
])

const session = Session.create()
const agent = createAgent({ session, model, tools: [weather], system: 'Be brief.' })
const { admitted } = agent.send('Where does it rain?')
console.log('the question is event', await admitted)
await agent.idle() // resolves however the turn ended; the log says how
assert.equal(session.events.at(-1).data.reason.kind, 'completed')

for (const { seq, type, sourceEventSeqs } of session.events) {
  console.log(String(seq).padStart(3), type, sourceEventSeqs ? `from ${sourceEventSeqs}` : '')
}
console.log(session.deriveMessages().at(-1).content[0].text)

// The request of the second step, as the model got it, from the log alone.
const secondStep = session.lastSeqOf('step/start') + 1
assert.equal(session.requestAt(secondStep).messages.length, 4)
assert.equal(session.requestAt(secondStep).system, 'Be brief.')
await agent.dispose()
