// A session that its agent cannot resume: read, explained, made into a request that the provider accepts, gone on with.
import { createAgent } from '@palimpsest/agent-loop'
import { scriptedModel } from '@palimpsest/model-scripted'
import { heal } from '@palimpsest/provider-rules'
import { Session } from '@palimpsest/session'
import { readTranscript, stringifyRaw, writeRequest } from '@palimpsest/transcripts'

// The agent was killed while `read` ran, and one of its lines was cut by the next one.
const row = (uuid, parentUuid, type, message) =>
  JSON.stringify({ uuid, parentUuid, type, message, sessionId: 's', timestamp: '2026-01-05T09:00:00.000Z' })
const call = { type: 'tool_use', id: 'toolu_1', name: 'read', input: { id: 7 } }
const file = [
  row('a', null, 'user', { role: 'user', content: 'Read record 7.' }),
  row('b', 'a', 'assistant', { id: 'm', role: 'assistant', model: 'claude-opus-4-5', content: [call] }),
  `{"type":"pr-link","prNu${row('c', 'b', 'user', { role: 'user', content: 'Still there?' })}`,
].join('\n')

const { format, events, findings } = readTranscript(new TextEncoder().encode(file))
for (const { where, code } of findings) console.log(`${format}: ${where}: ${code}`)

const session = Session.create({ seed: events })
const healed = heal({ messages: session.deriveMessages(), seqs: session.surface.seqs() }, 'anthropic')
for (const { seq, code } of healed.changes) console.log(`to send it: event ${seq}: ${code}`)
const { messages } = writeRequest('anthropic', healed.request)
console.log(stringifyRaw(messages.at(-1).content[0]))

// The transcript is a session now, and any agent goes on with it.
const agent = createAgent({ session, model: scriptedModel([{ text: 'I am. I will look at record 7 again.' }]) })
agent.send('Go on.')
await agent.idle()
console.log(session.deriveMessages().at(-1).content[0].text)
