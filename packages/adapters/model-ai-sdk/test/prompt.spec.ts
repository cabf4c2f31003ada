import type { Message } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { chunksOf, fake, finish, type Part, SPECS, type Spec } from './fake-model.js'
import { ask, collect } from './loopback.js'

describe('the prompt', () => {
  const opts = { fake: { sig: 'A+/=\u2028' } }
  const tool = (toolCallId: string, value: string): Message => ({
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId, toolName: 'look', output: { type: 'text', value } }],
  })
  async function promptFor(spec: Spec, ...messages: Message[]): Promise<{ role: string; content: Part[] }[]> {
    const { calls, port } = fake(spec, [finish(spec)])
    expect((await collect(port, ask(messages))).at(-1)).toMatchObject({ type: 'finish' })
    return calls[0]?.prompt as never
  }

  test('gives back what the provider signed, part by part', async () => {
    const content = [
      { type: 'reasoning', text: 'hm', providerOptions: opts },
      { type: 'text', text: '', providerOptions: opts },
      {
        type: 'tool-call',
        toolCallId: 'c',
        toolName: 'look',
        input: { a: 1 },
        rawInput: '{"a": 1}',
        providerOptions: opts,
      },
      { type: 'tool-call', toolCallId: 'd', toolName: 'find', input: {}, providerExecuted: true },
      {
        type: 'tool-result',
        toolCallId: 'd',
        toolName: 'find',
        output: { type: 'json', value: [1] },
        providerOptions: opts,
      },
    ]
    const message = { role: 'assistant', content, providerOptions: opts } as Message
    const { rawInput: _, ...call } = content[2] as Record<string, unknown>
    for (const spec of SPECS) {
      expect(await promptFor(spec, message)).toEqual([
        { role: 'assistant', content: [content[0], content[1], call, content[3], content[4]], providerOptions: opts },
      ])
    }
  })

  test('turns images and files into file parts of the spec', async () => {
    const message: Message = {
      role: 'user',
      content: [
        { type: 'text', text: 'see', providerOptions: opts },
        { type: 'image', image: 'iVBORw0KGgoAAAA' },
        { type: 'image', image: 'https://example.org/a.png', mediaType: 'image/png' },
        { type: 'image', image: 'data:image/gif;base64,R0lGOD' },
        { type: 'file', data: 'AAAA', mediaType: 'application/pdf', filename: 'a.pdf' },
      ],
    }
    const url = new URL('https://example.org/a.png')
    for (const spec of ['v2', 'v3'] as const) {
      expect((await promptFor(spec, message))[0]?.content).toEqual([
        { type: 'text', text: 'see', providerOptions: opts },
        { type: 'file', data: 'iVBORw0KGgoAAAA', mediaType: 'image/png' },
        { type: 'file', data: url, mediaType: 'image/png' },
        { type: 'file', data: 'R0lGOD', mediaType: 'image/gif' },
        { type: 'file', data: 'AAAA', mediaType: 'application/pdf', filename: 'a.pdf' },
      ])
    }
    expect((await promptFor('v4', message))[0]?.content.slice(2)).toEqual([
      { type: 'file', data: { type: 'url', url }, mediaType: 'image/png' },
      { type: 'file', data: { type: 'data', data: 'R0lGOD' }, mediaType: 'image/gif' },
      { type: 'file', data: { type: 'data', data: 'AAAA' }, mediaType: 'application/pdf', filename: 'a.pdf' },
    ])
  })

  test('puts the results of one answer together', async () => {
    expect(await promptFor('v3', tool('a', '1'), tool('b', '2'))).toMatchObject([
      { role: 'tool', content: [{ toolCallId: 'a' }, { toolCallId: 'b' }] },
    ])
    const apart = { ...tool('b', '2'), providerOptions: opts }
    expect(await promptFor('v3', tool('a', '1'), apart)).toHaveLength(2)
  })

  test('carries every kind of output, in the words of the spec', async () => {
    const outputs = [
      { type: 'text', value: 't' },
      { type: 'json', value: { a: null } },
      { type: 'error-text', value: 'e' },
      { type: 'error-json', value: [] },
      { type: 'execution-denied', reason: 'no' },
      {
        type: 'content',
        value: [
          { type: 'text', text: 't' },
          { type: 'media', data: 'AAAA', mediaType: 'image/png' },
          { type: 'file-data', data: 'BBBB', mediaType: 'application/pdf', filename: 'b.pdf' },
          { type: 'image-url', url: 'https://example.org/c.png' },
          { type: 'file-id', fileId: { fake: 'f1' } },
        ],
      },
    ]
    const messages = outputs.map(
      (output, n) =>
        ({ role: 'tool', content: [{ type: 'tool-result', toolCallId: `${n}`, toolName: 't', output }] }) as Message,
    )
    const sent = async (spec: Spec) => (await promptFor(spec, ...messages))[0]?.content.map(part => part.output as Part)
    const v2 = await sent('v2')
    expect(v2?.slice(0, 4)).toEqual(outputs.slice(0, 4))
    expect(v2?.[4]).toEqual({ type: 'error-text', value: 'no' })
    expect(v2?.[5]?.value).toEqual([
      { type: 'text', text: 't' },
      { type: 'media', data: 'AAAA', mediaType: 'image/png' },
      { type: 'media', data: 'BBBB', mediaType: 'application/pdf' },
      { type: 'text', text: 'https://example.org/c.png' },
      { type: 'text', text: '{"type":"file-id","fileId":{"fake":"f1"}}' },
    ])
    const v3 = await sent('v3')
    expect(v3?.slice(0, 5)).toEqual(outputs.slice(0, 5))
    expect(v3?.[5]?.value).toContainEqual({ type: 'image-data', data: 'AAAA', mediaType: 'image/png' })
    const v4 = await sent('v4')
    expect(v4?.[5]?.value).toEqual([
      { type: 'text', text: 't' },
      { type: 'file', data: { type: 'data', data: 'AAAA' }, mediaType: 'image/png' },
      { type: 'file', data: { type: 'data', data: 'BBBB' }, mediaType: 'application/pdf', filename: 'b.pdf' },
      { type: 'file', data: { type: 'url', url: new URL('https://example.org/c.png') }, mediaType: 'image/*' },
      { type: 'file', data: { type: 'reference', reference: { fake: 'f1' } }, mediaType: 'application/octet-stream' },
    ])
  })

  test('gives V4’s own kinds of part back to V4, and to no other', async () => {
    const [custom, file] = await chunksOf(
      'v4',
      { type: 'custom', kind: 'fake.compaction', providerMetadata: { fake: { sealed: 'x' } } },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' }, providerMetadata: opts },
      finish('v4'),
    )
    const message = {
      role: 'assistant',
      content: [
        { type: 'text', text: '', providerOptions: (custom as { providerOptions: object }).providerOptions },
        file,
      ],
    } as Message
    expect((await promptFor('v4', message))[0]?.content).toEqual([
      { type: 'custom', kind: 'fake.compaction', providerOptions: { fake: { sealed: 'x' } } },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' }, providerOptions: opts },
    ])
    expect(await promptFor('v3', message)).toEqual([])
  })

  test('does not touch a frozen request', async () => {
    const message = Object.freeze({
      role: 'user',
      content: Object.freeze([Object.freeze({ type: 'text', text: 'a' })]),
    })
    expect(await promptFor('v3', message as unknown as Message)).toEqual([message])
  })
})

describe('call options', () => {
  test('settings come through by name; options of the adapter lie under them', async () => {
    const { calls, port } = fake('v3', [finish('v3')], {
      options: { headers: { a: '1', b: '1' }, providerOptions: { fake: { x: 1, y: 1 } } },
    })
    const signal = new AbortController().signal
    const settings = {
      temperature: 0.5,
      seed: 7,
      reasoning: 'low',
      toolChoice: { type: 'auto' },
      headers: { b: '2' },
      providerOptions: { fake: { y: 2 }, other: { z: 3 } },
    }
    await collect(port, ask([], { settings, tools: [{ name: 't', inputSchema: {} }] }), signal)
    expect(calls).toEqual([
      {
        prompt: [],
        temperature: 0.5,
        seed: 7,
        reasoning: 'low',
        tools: [{ type: 'function', name: 't', inputSchema: {} }],
        toolChoice: { type: 'auto' },
        headers: { a: '1', b: '2' },
        providerOptions: { fake: { x: 1, y: 2 }, other: { z: 3 } },
        abortSignal: signal,
      },
    ])
  })

  test('tools of the provider are named as the spec names them; a choice without tools is not sent', async () => {
    const tool = { type: 'provider', id: 'p.search', name: 'search', args: {} }
    for (const spec of SPECS) {
      const { calls, port } = fake(spec, [finish(spec)])
      await collect(port, ask([], { settings: { tools: [tool] } }))
      expect(calls[0]?.tools).toEqual([{ ...tool, type: spec === 'v2' ? 'provider-defined' : 'provider' }])
    }
    const { calls, port } = fake('v3', [finish('v3')])
    await collect(port, ask([], { settings: { toolChoice: 'required' } }))
    expect(calls[0]).not.toHaveProperty('toolChoice')
  })
})
