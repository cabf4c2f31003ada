import { createAgent, defineTool } from '@palimpsest/agent-loop'
import { createHost } from '@palimpsest/host'
import { attachInvariants } from '@palimpsest/invariants'
import { scriptedModel } from '@palimpsest/model-scripted'
import { RULES_VERSION, type Target, withRules } from '@palimpsest/provider-rules'
import {
  type Chunk,
  type Message,
  type ModelPort,
  type ModelRequest,
  Session,
  type UserMessage,
} from '@palimpsest/session'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { frozen } from './frozen.js'
import { hostileRequests } from './hostile.js'

/** A model that keeps what it is asked. */
function listening(reply = 'Done.') {
  const asked: ModelRequest[] = []
  const model = scriptedModel(request => {
    asked.push(request)
    return { text: reply }
  })
  return { asked, model }
}

function isDeeplyFrozen(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return true
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen)
}

async function ask(port: ModelPort, request: ModelRequest): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of port.stream(request, new AbortController().signal)) chunks.push(chunk)
  return chunks
}

const REQUEST_MEMBERS = ['model', 'settings', 'system', 'tools', 'rules', 'messages']

describe('withRules', () => {
  it('keeps the name of the model, says by which rules it heals, and passes chunks through', async () => {
    const { model } = listening('Hello.')
    const port = withRules(model, 'anthropic')
    expect(port.model).toBe(model.model)
    expect(port.rules).toEqual({ target: 'anthropic', version: RULES_VERSION })
    const request = frozen<ModelRequest>({ model: 'm', settings: {}, messages: [user('hi')] })
    const chunks = await ask(port, request)
    expect(chunks).toEqual(await ask(model, request))
  })

  it('lets a chat server have back the reasoning that no vendor marked, and nobody else’s', async () => {
    const call = { type: 'tool-call' as const, toolCallId: 'c', toolName: 't', input: {} }
    const answers = [{}, { openai: { itemId: 'rs_1' } }].map(
      (providerOptions): Message => ({
        role: 'assistant',
        content: [{ type: 'reasoning', text: 'hm', providerOptions }, call],
      }),
    )
    const foreign: Message = { ...answers[0]!, providerOptions: { palimpsest: { vendor: 'anthropic' } } } as Message
    const types = await Promise.all(
      [...answers, foreign].map(async answer => {
        const { asked, model } = listening()
        const request = { model: 'm', settings: {}, messages: [user('hi'), answer] }
        await ask(withRules(model, 'openai-chat'), frozen<ModelRequest>(request))
        return (asked[0]!.messages[1]!.content as { type: string }[]).map(({ type }) => type)
      }),
    )
    expect(types).toEqual([['reasoning', 'tool-call'], ['tool-call'], ['tool-call']])
  })

  it('gives the model nothing but the members of a request, frozen to the bottom', async () => {
    await fc.assert(
      fc.asyncProperty(hostileRequests, async request => {
        const { asked, model } = listening()
        await ask(withRules(model, 'openai-responses'), frozen(request))
        expect(isDeeplyFrozen(asked[0])).toBe(true)
        for (const member of Object.keys(asked[0]!)) expect(REQUEST_MEMBERS).toContain(member)
      }),
      { numRuns: 50 },
    )
  })

  it('sends a healthy history as it is', async () => {
    const { asked, model } = listening()
    const messages = [
      user('hi'),
      { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'Yes?' }] },
      user('go'),
    ]
    await ask(
      withRules(model, 'anthropic'),
      frozen<ModelRequest>({ model: 'm', settings: { maxOutputTokens: 9 }, messages }),
    )
    expect(asked[0]).toEqual({ model: 'm', settings: { maxOutputTokens: 9 }, messages })
    asked[0]!.messages.forEach((message, i) => void expect(message).toBe(messages[i]))
  })

  it('switches thinking off for a loop that began without it, where the settings ask for it', async () => {
    const { asked, model } = listening()
    const settings = {
      providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 }, effort: 'high' } },
    }
    const request = frozen<ModelRequest>({ model: 'm', settings, messages: [user('go'), ...pair('a')] })
    await ask(withRules(model, 'anthropic'), request)
    expect(asked[0]!.settings).toEqual({
      providerOptions: { anthropic: { thinking: { type: 'disabled' }, effort: 'high' } },
    })
  })

  it('leaves the log, and the request made from it, as they are', async () => {
    const errors: unknown[] = []
    const host = createHost({ onError: error => errors.push(error) })
    await attachInvariants(host)
    const session = Session.create({ now: () => 0 })
    session.append('user/message', { message: user('half \ud83d') }, { surfaceOp: 'append' })
    const { asked, model } = listening()
    const tool = defineTool({ name: 'look', inputSchema: { type: 'object' }, execute: () => 'seen' })
    const agent = createAgent({ session, host, model: withRules(model, 'anthropic'), tools: [tool] })
    agent.send(' ')
    await agent.idle()
    await agent.dispose()
    expect(errors).toEqual([])
    expect(asked[0]!.messages).toEqual([user('half \ufffd')])
    const [header] = session.events.filter(event => event.type === 'request/header')
    expect(header!.data).toMatchObject({ rules: { target: 'anthropic', version: RULES_VERSION } })
    expect(asked[0]!.rules).toEqual({ target: 'anthropic', version: RULES_VERSION })
    expect(session.deriveMessages()[0]).toEqual(user('half \ud83d'))
  })

  it('logs no rules for a model without', async () => {
    const session = Session.create({ now: () => 0 })
    const agent = createAgent({ session, model: listening().model })
    agent.send('go')
    await agent.idle()
    await agent.dispose()
    const [header] = session.events.filter(event => event.type === 'request/header')
    expect(header!.data).not.toHaveProperty('rules')
  })

  it.each<[Target, number]>([
    ['anthropic', 1],
    ['openai-responses', 0],
    ['gemini', 0],
  ])('carries a session of another vendor on, %s', async (target, reasonings) => {
    const { asked, model } = listening()
    const signed = { type: 'reasoning' as const, text: 'hm', providerOptions: { anthropic: { signature: 'c2ln' } } }
    const [call, result] = pair('toolu.1')
    const answer = { ...call, content: [signed, ...call.content] } as Message
    await ask(
      withRules(model, target),
      frozen<ModelRequest>({ model: 'm', settings: {}, messages: [user('go'), answer, result] }),
    )
    const parts = asked[0]!.messages.flatMap(({ content }) => content as { type: string }[])
    expect(parts.filter(({ type }) => type === 'reasoning')).toHaveLength(reasonings)
    expect(parts.filter(({ type }) => type === 'tool-result')).toHaveLength(1)
  })
})

// --- internal ---

function user(text: string): UserMessage {
  return { role: 'user', content: [{ type: 'text', text }] }
}

function pair(toolCallId: string): [Message, Message] {
  return [
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName: 'look', input: {} }] },
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId, toolName: 'look', output: { type: 'text', value: 'ok' } }],
    },
  ]
}
