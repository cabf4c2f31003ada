import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createAgent, defineTool, retry } from '@palimpsest/agent-loop'
import { createHost } from '@palimpsest/host'
import { aiSdkModel, rawFetch } from '@palimpsest/model-ai-sdk'
import { type ModelPort, Session } from '@palimpsest/session'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, anthropic, events, Loopback, openAi, resetAfter, status } from './loopback.js'

let server: Loopback
beforeEach(async () => {
  server = await Loopback.start()
})
afterEach(() => server.stop())

const FIRST = '{"n": 9007199254740993}'
const SECOND = '{ "n":2 }'
const SIGNATURE = 'c2lnbmVk+/=='

interface Kit {
  name: string
  port(): ModelPort
  /** Reasoning, some text, then two calls of `double`. */
  calls: Answer
  says(text: string): Answer
  half: Answer
  /** The messages that the second request must hold after the user's, as text. */
  sentBack: string[]
}

const kits: Kit[] = [
  {
    name: 'openai-compatible',
    port: () => aiSdkModel(createOpenAICompatible({ name: 'x', baseURL: server.url, fetch: rawFetch() })('m')),
    calls: events(
      openAi.delta({ reasoning_content: 'Two at once.' }),
      openAi.delta({ content: 'Both.' }),
      ...openAi.calls({ id: 'a', name: 'double', arguments: FIRST }, { id: 'b', name: 'double', arguments: SECOND }),
      openAi.delta({}, 'tool_calls'),
      openAi.done,
    ),
    says: text => events(openAi.delta({ content: text }), openAi.delta({}, 'stop'), openAi.done),
    half: resetAfter(openAi.delta({ content: 'ha' })),
    sentBack: [
      '"content":"Both.","reasoning_content":"Two at once."',
      `{"id":"a","type":"function","function":{"name":"double","arguments":${JSON.stringify(FIRST)}}}`,
      `{"id":"b","type":"function","function":{"name":"double","arguments":${JSON.stringify(SECOND)}}}`,
      '{"role":"tool","tool_call_id":"a","content":"18014398509481984"}',
      '{"role":"tool","tool_call_id":"b","content":"4"}',
    ],
  },
  {
    name: 'anthropic',
    port: () =>
      aiSdkModel(createAnthropic({ baseURL: server.url, apiKey: 'k', fetch: rawFetch() })('claude-sonnet-4-5')),
    calls: events(
      anthropic.start(),
      ...anthropic.block(
        0,
        { type: 'thinking', thinking: '' },
        { type: 'thinking_delta', thinking: 'Two at once.' },
        { type: 'signature_delta', signature: SIGNATURE },
      ),
      ...anthropic.text(1, 'Both.'),
      ...anthropic.call(2, 'a', 'double', FIRST.slice(0, 9), FIRST.slice(9)),
      ...anthropic.call(3, 'b', 'double', SECOND),
      ...anthropic.stop('tool_use'),
    ),
    says: text => events(anthropic.start(), ...anthropic.text(0, text), ...anthropic.stop('end_turn')),
    half: resetAfter(anthropic.start(), ...anthropic.text(0, 'ha').slice(0, 2)),
    sentBack: [
      `{"type":"thinking","thinking":"Two at once.","signature":"${SIGNATURE}"}`,
      '{"type":"text","text":"Both."}',
      `{"type":"tool_use","id":"a","name":"double","input":${FIRST}}`,
      `{"type":"tool_use","id":"b","name":"double","input":${SECOND}}`,
      '{"type":"tool_result","tool_use_id":"a","content":"18014398509481984"}',
      '{"type":"tool_result","tool_use_id":"b","content":"4"}',
    ],
  },
]

const double = defineTool<{ n: number }>({
  name: 'double',
  inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  effect: 'read',
  parallelSafe: true,
  execute: ({ n }) => 2 * n,
})

/** The kinds of reason with which the turns ended. */
function ends(session: Session): string[] {
  return session.events.flatMap(event => (event.type === 'turn/end' ? [event.data.reason.kind] : []))
}

async function say(agent: ReturnType<typeof createAgent>, text: string): Promise<void> {
  agent.send(text)
  await agent.idle()
}

describe.each(kits)('an agent over $name', kit => {
  test('calls tools, and the next request holds what the model wrote, byte for byte', async () => {
    server.answers.push(kit.calls, kit.says('Done.'))
    const session = Session.create()
    await say(createAgent({ session, model: kit.port(), tools: [double], system: 'Be exact.' }), 'Double them.')
    expect(ends(session)).toEqual(['completed'])
    const body = server.seen[1]?.body ?? ''
    const at = kit.sentBack.map(text => body.indexOf(text))
    expect(at).not.toContain(-1)
    expect(at).toEqual([...at].sort((a, b) => a - b))
  })

  test('goes on from a reloaded log with the very request that the live one would send', async () => {
    server.answers.push(kit.calls, kit.says('Done.'), kit.says('Again.'), kit.says('Again.'))
    const session = Session.create()
    const options = { model: kit.port(), tools: [double] }
    const agent = createAgent({ session, ...options })
    await say(agent, 'Double them.')
    const reloaded = Session.create({ seed: JSON.parse(JSON.stringify(session.events)) })
    await say(agent, 'And now?')
    await say(createAgent({ session: reloaded, ...options }), 'And now?')
    expect(server.seen).toHaveLength(4)
    expect(server.seen[3]?.body).toBe(server.seen[2]?.body)
  })

  test('a refused or broken request closes the turn; the session goes on', async () => {
    server.answers.push(status(400, { error: { message: 'no' } }), kit.half, kit.says('Here.'))
    const session = Session.create()
    const agent = createAgent({ session, model: kit.port() })
    for (const text of ['one', 'two', 'three']) await say(agent, text)
    expect(ends(session)).toEqual(['error', 'error', 'completed'])
    expect(session.deriveMessages().map(message => message.role)).toEqual(['user', 'user', 'user', 'assistant'])
  })

  test('with retry, what can be asked again is, and only the attempt that counted is in the message', async () => {
    const wait = { 'retry-after': '5' }
    server.answers.push(status(429, { error: { message: 'slow' } }, wait), kit.half, kit.says('Here.'))
    const waits: number[] = []
    const host = createHost()
    await host.use(retry({ baseDelayMs: 1000, sleep: async ms => void waits.push(ms) }))
    const session = Session.create()
    await say(createAgent({ session, model: kit.port(), host }), 'one')
    expect(ends(session)).toEqual(['completed'])
    expect(session.deriveMessages().at(-1)).toMatchObject({ content: [{ type: 'text', text: 'Here.' }] })
    expect(server.seen).toHaveLength(3)
    expect(waits).toEqual([5000, 2000])
  })
})
