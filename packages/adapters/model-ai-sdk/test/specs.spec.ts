import type { LanguageModelV3 } from '@ai-sdk/provider'
import { aiSdkModel } from '@palimpsest/model-ai-sdk'
import type { Chunk, ModelFailure, Usage } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { chunksOf, fake, finish, type Part, SPECS, type Spec } from './fake-model.js'
import { ask, collect } from './loopback.js'

const finalOf = async (spec: Spec, ...parts: Part[]) => (await chunksOf(spec, ...parts)).at(-1)
const failureOf = async (spec: Spec, ...parts: Part[]): Promise<ModelFailure | undefined> => {
  const final = await finalOf(spec, ...parts)
  return final?.type === 'error' ? final.error : undefined
}

test('the port carries the model’s id', () => {
  expect(fake('v3', []).port.model).toBe('fake-1')
})

test('a model of another spec is refused at once', () => {
  const old = { specificationVersion: 'v1', provider: 'p', modelId: 'm' } as unknown as LanguageModelV3
  expect(() => aiSdkModel(old)).toThrow(/specification v2, v3 or v4, found "v1"/)
  expect(() => aiSdkModel('gpt' as unknown as LanguageModelV3)).toThrow(TypeError)
})

describe('how a stream ends', () => {
  test.each(SPECS)('%s: the usual reasons', async spec => {
    for (const reason of ['stop', 'length', 'tool-calls', 'content-filter', 'other']) {
      expect(await finalOf(spec, finish(spec, reason))).toEqual({ type: 'finish', finishReason: reason })
    }
  })

  test.each(SPECS)('%s: a reason that nobody knows is other', async spec => {
    expect(await finalOf(spec, finish(spec, 'paused'))).toMatchObject({ finishReason: 'other' })
  })

  test.each(SPECS)('%s: error is a failure', async spec => {
    expect(await failureOf(spec, finish(spec, 'error'))).toMatchObject({ code: 'MODEL_STREAM_ERROR', retryable: true })
  })

  test.each<[Spec, unknown]>([
    ['v2', 'unknown'],
    ['v3', { unified: 'other', raw: undefined }],
    ['v4', { unified: 'other', raw: undefined }],
    ['v4', { unified: 'interrupted', raw: undefined }],
  ])('%s: a finish of the SDK’s own, %j, is a stream that broke off', async (spec, finishReason) => {
    const failure = await failureOf(spec, { type: 'finish', finishReason, usage: {} })
    expect(failure).toMatchObject({ code: 'MODEL_STREAM_TRUNCATED', retryable: true })
  })

  test.each(SPECS)('%s: no end at all is a stream that broke off', async spec => {
    expect(await failureOf(spec, { type: 'text-start', id: '1' })).toMatchObject({ code: 'MODEL_STREAM_TRUNCATED' })
  })

  test.each(SPECS)('%s: an error part is final, whatever follows', async spec => {
    const chunks = await chunksOf(
      spec,
      { type: 'text-delta', id: '1', delta: 'a' },
      { type: 'error', error: 'bad luck' },
      { type: 'text-delta', id: '1', delta: 'b' },
      finish(spec),
    )
    expect(chunks.map(chunk => chunk.type)).toEqual(['text-delta', 'error'])
    expect(chunks[1]).toMatchObject({ error: { code: 'MODEL_STREAM_ERROR', message: 'bad luck' } })
  })

  test.each<[string, unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('not today')
      },
      'MODEL_REQUEST_INVALID',
    ],
    ['rejects with nothing', () => Promise.reject(undefined), 'MODEL_REQUEST_INVALID'],
    ['gives no stream', async () => ({}), 'MODEL_REQUEST_INVALID'],
    ['rejects as a network does', () => Promise.reject(new TypeError('fetch failed')), 'MODEL_NETWORK_ERROR'],
  ])('a doStream that %s is a failure', async (_, doStream, code) => {
    const chunks = await collect(fake('v3', [], { doStream }).port)
    expect(chunks).toMatchObject([{ type: 'error', error: { code } }])
  })

  test('a part that is none is a failure', async () => {
    expect(await collect(fake('v3', [null]).port)).toMatchObject([{ type: 'error' }])
  })

  test('a model that ignores the signal is left behind, and its late stream closed', async () => {
    const abort = new AbortController()
    let bring = (_: unknown) => {}
    const late = new Promise(resolve => {
      bring = resolve
    })
    const { port } = fake('v3', [], { doStream: () => late })
    const pending = collect(port, ask(), abort.signal)
    abort.abort()
    expect(await pending).toMatchObject([{ type: 'error', error: { code: 'MODEL_ABORTED', retryable: false } }])
    const closed = new Promise<void>(resolve => bring({ stream: new ReadableStream({ cancel: () => resolve() }) }))
    await closed
  })

  test('so is a stream that ignores it', async () => {
    const abort = new AbortController()
    const stream = new ReadableStream({ pull: () => new Promise(() => {}) })
    const { port } = fake('v3', [], { doStream: async () => ({ stream }) })
    const pending = collect(port, ask(), abort.signal)
    setImmediate(() => abort.abort())
    expect(await pending).toMatchObject([{ error: { code: 'MODEL_ABORTED' } }])
  })
})

describe('usage', () => {
  const usageOf = async (
    spec: Spec,
    usage: unknown,
    provider?: string,
    providerMetadata?: unknown,
  ): Promise<unknown> => {
    const part = finish(spec, 'stop', { usage, ...(providerMetadata ? { providerMetadata } : {}) })
    const chunks = await collect(fake(spec, [part], provider === undefined ? {} : { provider }).port)
    return (chunks[0] as { usage?: Usage }).usage
  }
  const whole = { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 4, reasoningTokens: 2 }

  test('V2 is flat', async () => {
    expect(await usageOf('v2', whole)).toEqual(whole)
    expect(await usageOf('v2', { inputTokens: 1, outputTokens: undefined, totalTokens: Number.NaN })).toEqual({
      inputTokens: 1,
    })
    expect(await usageOf('v2', { inputTokens: 3, outputTokens: 4 })).toMatchObject({ totalTokens: 7 })
  })

  test('V2 of Anthropic counts cached tokens beside the input; here they are in it', async () => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 4 }
    const metadata = { anthropic: { cacheCreationInputTokens: 6 } }
    expect(await usageOf('v2', usage, 'anthropic.messages', metadata)).toEqual({
      inputTokens: 20,
      outputTokens: 5,
      totalTokens: 25,
      cachedInputTokens: 4,
    })
    expect(await usageOf('v2', usage, 'gate', metadata)).toMatchObject({ inputTokens: 20 })
    expect(await usageOf('v2', { ...usage, cachedInputTokens: 40 })).toMatchObject({ inputTokens: 50, totalTokens: 55 })
  })

  test.each<Spec>(['v3', 'v4'])('%s is nested', async spec => {
    const usage = {
      inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: undefined },
      outputTokens: { total: 5, text: 3, reasoning: 2 },
    }
    expect(await usageOf(spec, usage)).toEqual(whole)
    const parts = { inputTokens: { noCache: 6, cacheRead: 3, cacheWrite: 1 }, outputTokens: { text: 3, reasoning: 2 } }
    expect(await usageOf(spec, parts)).toMatchObject({ inputTokens: 10, outputTokens: 5, totalTokens: 15 })
  })

  test('none where nothing was counted', async () => {
    expect(await usageOf('v3', { inputTokens: {}, outputTokens: {} })).toBeUndefined()
    expect(await usageOf('v2', undefined)).toBeUndefined()
  })
})

describe('parts', () => {
  test.each(SPECS)('%s: metadata on start, delta and end is kept, with empty text as needed', async spec => {
    for (const kind of ['text', 'reasoning']) {
      const chunks = await chunksOf(
        spec,
        { type: `${kind}-start`, id: '1', providerMetadata: { p: { at: 'start', lost: undefined } } },
        { type: `${kind}-delta`, id: '1', delta: 'x', providerMetadata: { p: { at: 'delta' } } },
        { type: `${kind}-delta`, id: '1', delta: '' },
        { type: `${kind}-end`, id: '1', providerMetadata: { p: { at: 'end' } } },
        finish(spec),
      )
      expect(chunks.slice(0, -1)).toEqual([
        { type: `${kind}-delta`, id: '1', text: '', providerOptions: { p: { at: 'start' } } },
        { type: `${kind}-delta`, id: '1', text: 'x', providerOptions: { p: { at: 'delta' } } },
        { type: `${kind}-delta`, id: '1', text: '', providerOptions: { p: { at: 'end' } } },
      ])
    }
  })

  test('a second block with the id of an ended one is a block of its own', async () => {
    const block = (text: string): Part[] => [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: text },
      { type: 'text-end', id: '0' },
    ]
    const chunks = await chunksOf('v3', ...block('a'), ...block('b'), finish('v3'))
    expect(chunks.slice(0, -1)).toMatchObject([{ id: '0' }, { id: '0-2' }])
  })

  test('calls, their signatures, and results that the provider gave', async () => {
    const chunks = await chunksOf(
      'v3',
      { type: 'tool-input-start', id: 'c', toolName: 'look', providerMetadata: { g: { sig: 'early' } } },
      { type: 'tool-input-delta', id: 'c', delta: '{' },
      { type: 'tool-input-end', id: 'c' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{ }' },
      {
        type: 'tool-call',
        toolCallId: 'd',
        toolName: 'find',
        input: '{}',
        providerExecuted: true,
        providerMetadata: { g: { sig: 's' } },
      },
      { type: 'tool-result', toolCallId: 'd', toolName: 'find', result: { half: true }, preliminary: true },
      {
        type: 'tool-result',
        toolCallId: 'd',
        toolName: 'find',
        result: { at: new Date(0), no: undefined, raw: new Uint8Array([1, 2]) },
      },
      { type: 'tool-result', toolCallId: 'e', toolName: 'find', result: 'broken', isError: true },
      { type: 'source', sourceType: 'url', id: '1', url: 'https://example.org' },
      finish('v3', 'tool-calls'),
    )
    expect(chunks).toEqual([
      { type: 'tool-input-delta', toolCallId: 'c', toolName: 'look', text: '{' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{ }', providerOptions: { g: { sig: 'early' } } },
      {
        type: 'tool-call',
        toolCallId: 'd',
        toolName: 'find',
        input: '{}',
        providerExecuted: true,
        providerOptions: { g: { sig: 's' } },
      },
      {
        type: 'tool-result',
        toolCallId: 'd',
        toolName: 'find',
        output: { type: 'json', value: { at: '1970-01-01T00:00:00.000Z', raw: 'AQI=' } },
      },
      { type: 'tool-result', toolCallId: 'e', toolName: 'find', output: { type: 'error-json', value: 'broken' } },
      { type: 'finish', finishReason: 'tool-calls' },
    ])
  })

  test('files as bytes, as text and under V4’s tags', async () => {
    const bytes = new Uint8Array([0, 255]).subarray(1)
    const files = (list: Chunk[]) => list.flatMap(chunk => (chunk.type === 'file' ? [chunk.data] : []))
    const file = (data: unknown): Part => ({ type: 'file', mediaType: 'image/png', data })
    expect(files(await chunksOf('v2', file(bytes), file('AAAA'), finish('v2')))).toEqual(['/w==', 'AAAA'])
    const tagged = [
      { type: 'data', data: bytes },
      { type: 'data', data: 'AAAA' },
      { type: 'url', url: new URL('https://example.org/a.png') },
    ]
    expect(files(await chunksOf('v4', ...tagged.map(file), finish('v4')))).toEqual([
      '/w==',
      'AAAA',
      'https://example.org/a.png',
    ])
  })

  test('response and metadata stand in the finish', async () => {
    const note = { type: 'response-metadata', id: 'r', modelId: 'm-1', timestamp: new Date() }
    expect(await chunksOf('v3', note, finish('v3', 'stop', { providerMetadata: { p: { cost: 1 } } }))).toEqual([
      {
        type: 'finish',
        finishReason: 'stop',
        response: { id: 'r', model: 'm-1' },
        providerOptions: { p: { cost: 1 } },
      },
    ])
  })

  test('a provider that wants its own tool approved is refused', async () => {
    const wish = { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c' }
    expect(await failureOf('v3', wish, finish('v3'))).toMatchObject({
      code: 'MODEL_APPROVAL_UNSUPPORTED',
      retryable: false,
    })
  })

  test('a cycle in metadata is a failure, not a crash', async () => {
    const loop: Record<string, unknown> = {}
    loop.self = loop
    const chunks = await collect(fake('v3', [{ type: 'text-start', id: '1', providerMetadata: { p: loop } }]).port)
    expect(chunks).toMatchObject([{ type: 'error' }])
  })
})
