// A process with an agent over a session in a file, on the built packages; it is killed while it waits for an answer.
// node doomed-agent.mjs DIRECTORY URL anthropic | openai-compatible
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createAgent, defineTool } from '@palimpsest/agent-loop'
import { aiSdkModel, rawFetch } from '@palimpsest/model-ai-sdk'
import { createSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'

const [directory, baseURL, name] = process.argv.slice(2)
const fetch = rawFetch()
const model =
  name === 'anthropic'
    ? createAnthropic({ baseURL, apiKey: 'k', fetch })('claude-sonnet-4-5')
    : createOpenAICompatible({ name: 'deep-mind', baseURL, fetch })('m')
const look = defineTool({ name: 'look', inputSchema: { type: 'object' }, effect: 'read', execute: () => 'seen' })
const session = await createSession(createJsonlBackend({ directory }), { id: 's' })
createAgent({ session, model: aiSdkModel(model), tools: [look] }).send('Go.')
