// The demo's agent, in a process of its own so that it can be killed for real: `agent-process.js first|second PROJECT STORE ID`.
import { createAgent } from '@palimpsest/agent-loop'
import { scriptedModel } from '@palimpsest/model-scripted'
import { createSession, openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { codingTools } from '@palimpsest/tools'
import { firstScript, goOn, secondScript, task } from './script.js'

const [phase, project, directory, id] = process.argv.slice(2) as [string, string, string, string]
const isFirst = phase === 'first'
const backend = createJsonlBackend({ directory })
const open = await (isFirst ? createSession(backend, { id, header: { cwd: project } }) : openSession(backend, id))
const model = scriptedModel(isFirst ? firstScript : secondScript, { model: 'scripted' })
const agent = createAgent({ session: open, model, tools: codingTools({ root: project }) })

agent.send(isFirst ? task : goOn)
await agent.idle()
await agent.dispose()
await open.close()
await backend.close()
