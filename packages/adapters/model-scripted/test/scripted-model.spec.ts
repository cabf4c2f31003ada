import { type ScriptedReply, scriptedModel } from '@palimpsest/model-scripted'
import type { Chunk, Message, ModelPort, ModelRequest } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'

const asking = (...messages: Message[]): ModelRequest => ({ model: 'm', settings: {}, messages })

async function ask(model: ModelPort, request = asking(), signal = new AbortController().signal): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of model.stream(request, signal)) chunks.push(chunk)
  return chunks
}

const reply = (script: ScriptedReply) => ask(scriptedModel([script]))

describe('a reply', () => {
  test('streams reasoning, text, calls and an end', async () => {
    expect(
      await reply({
        text: 'hello',
        reasoning: 'hm',
        toolCalls: [{ toolName: 'read', input: { path: 'a' }, toolCallId: 'x' }],
        usage: { inputTokens: 1 },
      }),
    ).toEqual([
      { type: 'reasoning-delta', id: 'reasoning', text: 'hm' },
      { type: 'text-delta', id: 'text', text: 'hello' },
      { type: 'tool-call', toolCallId: 'x', toolName: 'read', input: '{"path":"a"}' },
      { type: 'finish', finishReason: 'tool-calls', usage: { inputTokens: 1 } },
    ])
    expect(await reply({ text: 'hello' })).toContainEqual({ type: 'finish', finishReason: 'stop' })
    expect(await reply({ text: 'hel', finishReason: 'length' })).toContainEqual({
      type: 'finish',
      finishReason: 'length',
    })
    expect(await reply({})).toEqual([{ type: 'finish', finishReason: 'stop' }])
  })

  test('takes a string as the raw text of the arguments', async () => {
    const inputs = ['{ "a": 1 }', { a: 1 }, undefined, null].map(input => ({ toolName: 't', input }))
    const chunks = await reply({ toolCalls: inputs })
    expect(chunks.map(chunk => 'input' in chunk && chunk.input)).toEqual(['{ "a": 1 }', '{"a":1}', '{}', 'null', false])
  })

  test('fails after what it showed', async () => {
    const error = { code: 'BUSY', message: 'later' }
    expect(await reply({ text: 'half', error: { ...error, retryable: true } })).toEqual([
      { type: 'text-delta', id: 'text', text: 'half' },
      { type: 'error', error: { ...error, retryable: true } },
    ])
    expect(await reply({ error })).toEqual([{ type: 'error', error: { ...error, retryable: false } }])
  })

  test('of chunks is taken as it is', async () => {
    const chunks: Chunk[] = [{ type: 'text-delta', id: 't', text: 'x' }]
    expect(await reply({ chunks, text: 'ignored' })).toEqual(chunks)
  })
})

describe('a script', () => {
  test('is played in order, and says when it is used up', async () => {
    const model = scriptedModel([{ text: 'a' }, { text: 'b' }], { model: 'mine' })
    expect(model.model).toBe('mine')
    expect(scriptedModel([]).model).toBe('scripted')
    expect((await ask(model))[0]).toMatchObject({ text: 'a' })
    expect((await ask(model))[0]).toMatchObject({ text: 'b' })
    for (let i = 0; i < 2; i++) {
      expect(await ask(model)).toMatchObject([{ type: 'error', error: { code: 'SCRIPT_EXHAUSTED', retryable: false } }])
    }
  })

  test('may be a function of the request and its number from 0', async () => {
    const model = scriptedModel(({ messages }, n) => ({ text: `${n} after ${messages.length}` }))
    expect((await ask(model))[0]).toMatchObject({ text: '0 after 0' })
    expect((await ask(model, asking({ role: 'user', content: [] })))[0]).toMatchObject({ text: '1 after 1' })
  })

  test('that throws is a failure, as a port never throws', async () => {
    const model = scriptedModel(() => {
      throw new Error('no')
    })
    expect(await ask(model)).toMatchObject([{ type: 'error', error: { code: 'MODEL_PORT_THREW' } }])
  })
})

describe('call ids', () => {
  const calls = (...ids: string[]): Message => ({
    role: 'assistant',
    content: ids.map(toolCallId => ({ type: 'tool-call', toolCallId, toolName: 't', input: {} })),
  })

  test('go on from those that the request shows, so that a new process gives the same', async () => {
    const next = async (...messages: Message[]) => {
      const toolCalls = [
        { toolName: 't', input: {} },
        { toolName: 't', input: {} },
      ]
      const chunks = await ask(scriptedModel([{ toolCalls }]), asking(...messages))
      return chunks.flatMap(chunk => (chunk.type === 'tool-call' ? [chunk.toolCallId] : []))
    }
    expect(await next()).toEqual(['call-1', 'call-2'])
    expect(await next(calls('call-1', 'call-2'))).toEqual(['call-3', 'call-4'])
    expect(await next(calls('call-7'), calls('own', 'call-3'))).toEqual(['call-8', 'call-9'])
  })
})

describe('the signal', () => {
  test('ends the stream with a failure', async () => {
    const controller = new AbortController()
    const stream = scriptedModel([{ reasoning: 'a', text: 'b' }]).stream(asking(), controller.signal)
    const chunks: Chunk[] = []
    for await (const chunk of stream) {
      chunks.push(chunk)
      controller.abort()
    }
    expect(chunks).toMatchObject([{ type: 'reasoning-delta' }, { type: 'error', error: { code: 'ABORTED' } }])
  })
})
