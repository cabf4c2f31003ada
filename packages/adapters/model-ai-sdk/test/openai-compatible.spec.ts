import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { aiSdkModel } from '@palimpsest/model-ai-sdk'
import type { Chunk, ModelFailure } from '@palimpsest/session'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  ask,
  closeAfter,
  collect,
  events,
  eventText,
  Loopback,
  messageOf,
  openAi,
  resetAfter,
  status,
  user,
} from './loopback.js'

let server: Loopback
beforeEach(async () => {
  server = await Loopback.start()
})
afterEach(() => server.stop())

const port = () =>
  aiSdkModel(createOpenAICompatible({ name: 'local', baseURL: server.url, includeUsage: true })('m'), {
    headers: { 'x-team': 'red' },
  })

function failureIn(chunks: Chunk[]): ModelFailure {
  const last = chunks.at(-1)
  if (last?.type !== 'error') throw new Error(`expected a final error chunk, found ${JSON.stringify(last)}`)
  expect(chunks.filter(chunk => chunk.type === 'error' || chunk.type === 'finish')).toHaveLength(1)
  return last.error
}

describe('an answer', () => {
  test('of text becomes deltas and a finish with usage and response', async () => {
    server.answers.push(
      events(
        openAi.delta({ role: 'assistant', content: 'Hel' }),
        openAi.delta({ content: 'lo' }),
        openAi.delta({}, 'stop'),
        openAi.usage({
          prompt_tokens: 10,
          completion_tokens: 4,
          total_tokens: 14,
          prompt_tokens_details: { cached_tokens: 6 },
          completion_tokens_details: { reasoning_tokens: 1 },
        }),
        openAi.done,
      ),
    )
    const chunks = await collect(port())
    expect(chunks.slice(0, 2)).toEqual([
      { type: 'text-delta', id: 'txt-0', text: 'Hel' },
      { type: 'text-delta', id: 'txt-0', text: 'lo' },
    ])
    expect(chunks[2]).toEqual({
      type: 'finish',
      finishReason: 'stop',
      usage: { inputTokens: 10, outputTokens: 4, totalTokens: 14, cachedInputTokens: 6, reasoningTokens: 1 },
      response: { id: 'chatcmpl-1', model: 'm-2025' },
    })
    expect(JSON.parse(JSON.stringify(chunks))).toEqual(chunks)
  })

  test('with settings, tools, system text and headers sends them by the SDK’s names', async () => {
    server.answers.push(events(openAi.delta({ content: 'ok' }, 'length'), openAi.done))
    const tool = { name: 'look', description: 'Looks.', inputSchema: { type: 'object' as const, properties: {} } }
    const chunks = await collect(
      port(),
      ask([user('go')], {
        system: 'Be brief.',
        settings: { maxOutputTokens: 99, temperature: 0, toolChoice: 'required', headers: { 'x-run': '7' } },
        tools: [tool],
      }),
    )
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'length' })
    expect(server.sent(0)).toMatchObject({
      max_tokens: 99,
      temperature: 0,
      tool_choice: 'required',
      tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: tool.inputSchema } }],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'go' },
      ],
    })
    expect(server.seen[0]?.headers).toMatchObject({ 'x-team': 'red', 'x-run': '7' })
  })

  test('of reasoning, text, reasoning, text keeps four parts, and goes back', async () => {
    const turn = (kind: string, text: string) => openAi.delta({ [kind]: text })
    server.answers.push(
      events(
        turn('reasoning_content', 'think 1'),
        turn('content', 'say 1'),
        turn('reasoning_content', 'think 2'),
        turn('content', 'say 2'),
        openAi.delta({}, 'stop'),
      ),
      events(openAi.delta({ content: 'ok' }, 'stop')),
    )
    const message = messageOf(await collect(port()))
    expect(message.content.map(part => (part as { text: string }).text)).toEqual([
      'think 1',
      'say 1',
      'think 2',
      'say 2',
    ])
    await collect(port(), ask([user('hello'), message, user('again')]))
    expect(server.sent(1).messages[1]).toMatchObject({ content: 'say 1say 2', reasoning_content: 'think 1think 2' })
  })

  test('with parallel calls gives each whole, and the next request carries calls and results', async () => {
    server.answers.push(
      events(
        ...openAi.calls({ id: 'a', name: 'add', arguments: '{"x"' }, { id: 'b', name: 'add', arguments: '{"x":2}' }),
        openAi.delta({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
        openAi.delta({}, 'tool_calls'),
        openAi.done,
      ),
      events(openAi.delta({ content: 'done' }, 'stop')),
    )
    const chunks = await collect(port())
    expect(chunks.filter(chunk => chunk.type === 'tool-call')).toEqual([
      { type: 'tool-call', toolCallId: 'a', toolName: 'add', input: '{"x":1}' },
      { type: 'tool-call', toolCallId: 'b', toolName: 'add', input: '{"x":2}' },
    ])
    expect(chunks.find(chunk => chunk.type === 'tool-input-delta')).toEqual({
      type: 'tool-input-delta',
      toolCallId: 'a',
      toolName: 'add',
      text: '{"x"',
    })
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' })
    const results = (['a', 'b'] as const).map(toolCallId => ({
      role: 'tool' as const,
      content: [
        {
          type: 'tool-result' as const,
          toolCallId,
          toolName: 'add',
          output: { type: 'text' as const, value: `r${toolCallId}` },
        },
      ],
    }))
    await collect(port(), ask([user('hello'), messageOf(chunks), ...results]))
    expect(server.sent(1).messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'add', arguments: '{"x":1}' } },
          { id: 'b', type: 'function', function: { name: 'add', arguments: '{"x":2}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'ra' },
      { role: 'tool', tool_call_id: 'b', content: 'rb' },
    ])
  })
})

describe('a failure is one final chunk', () => {
  test('429 with retry-after in seconds and in milliseconds', async () => {
    const body = { error: { message: 'slow down', type: 'rate_limit' } }
    server.answers.push(status(429, body, { 'retry-after': '3' }), status(429, body, { 'retry-after-ms': '250' }))
    expect(failureIn(await collect(port()))).toEqual({
      code: 'MODEL_HTTP_ERROR',
      message: 'slow down',
      retryable: true,
      status: 429,
      retryAfterMs: 3000,
    })
    expect(failureIn(await collect(port()))).toMatchObject({ status: 429, retryAfterMs: 250 })
  })

  test('retry-after as a date is a wait from now', async () => {
    const date = new Date(Date.now() + 3_600_000).toUTCString()
    server.answers.push(status(503, { error: { message: 'busy' } }, { 'retry-after': date }))
    const { retryAfterMs = 0 } = failureIn(await collect(port()))
    expect(retryAfterMs).toBeGreaterThan(3_000_000)
    expect(retryAfterMs).toBeLessThanOrEqual(3_600_000)
  })

  test.each([
    [400, false],
    [401, false],
    [404, false],
    [408, true],
    [409, true],
    [500, true],
    [503, true],
  ])('status %i: retryable %s, asked once', async (code, retryable) => {
    server.answers.push(status(code, { error: { message: 'no' } }))
    expect(failureIn(await collect(port()))).toMatchObject({ code: 'MODEL_HTTP_ERROR', status: code, retryable })
    expect(server.seen).toHaveLength(1)
  })

  test('a body of another shape is shown', async () => {
    server.answers.push(status(500, '<html>oops</html>'), status(422, { detail: 'max_tokens is too large' }))
    const failure = failureIn(await collect(port()))
    expect(failure).toMatchObject({ status: 500, retryable: true })
    expect(failure.message).toContain('<html>oops</html>')
    expect(failureIn(await collect(port())).message).toContain('max_tokens is too large')
  })

  test('nobody listens', async () => {
    const gone = await Loopback.start()
    const lost = aiSdkModel(createOpenAICompatible({ name: 'local', baseURL: gone.url })('m'))
    await gone.stop()
    expect(failureIn(await collect(lost))).toMatchObject({ code: 'MODEL_NETWORK_ERROR', retryable: true })
  })

  test('a reset before any answer', async () => {
    server.answers.push(response => response.socket?.resetAndDestroy())
    expect(failureIn(await collect(port()))).toMatchObject({ code: 'MODEL_NETWORK_ERROR', retryable: true })
  })

  test('a reset in mid-stream keeps what came before', async () => {
    server.answers.push(resetAfter(openAi.delta({ content: 'half' })))
    const chunks = await collect(port())
    expect(failureIn(chunks)).toMatchObject({ code: 'MODEL_STREAM_TRUNCATED', retryable: true })
    expect(chunks[0]).toMatchObject({ type: 'text-delta', text: 'half' })
  })

  test('a stream that ends in good order without a finish reason', async () => {
    server.answers.push(closeAfter(openAi.delta({ content: 'half' })))
    expect(failureIn(await collect(port()))).toMatchObject({ code: 'MODEL_STREAM_TRUNCATED', retryable: true })
  })

  test('a stream that ends within a call', async () => {
    server.answers.push(closeAfter(...openAi.calls({ id: 'a', name: 'rm', arguments: '{"path":"/tm' })))
    expect(failureIn(await collect(port()))).toMatchObject({ code: 'MODEL_STREAM_TRUNCATED', retryable: true })
  })

  test('an empty answer', async () => {
    server.answers.push(closeAfter())
    expect(failureIn(await collect(port()))).toMatchObject({ code: 'MODEL_STREAM_TRUNCATED', retryable: true })
  })

  test('invalid JSON in the stream', async () => {
    server.answers.push(events(openAi.delta({ content: 'a' }), '{"choices":[{"del', openAi.delta({}, 'stop')))
    expect(failureIn(await collect(port()))).toMatchObject({ code: 'MODEL_RESPONSE_INVALID', retryable: true })
  })

  test('an error object in the stream', async () => {
    server.answers.push(
      events(openAi.delta({ content: 'a' }), { error: { message: 'too long', code: 'context_length_exceeded' } }),
      events({ error: { message: 'our fault', type: 'server_error' } }),
    )
    expect(failureIn(await collect(port()))).toMatchObject({
      code: 'MODEL_STREAM_ERROR',
      message: 'too long',
      retryable: false,
    })
    expect(failureIn(await collect(port()))).toMatchObject({ message: 'our fault', retryable: true, status: 500 })
  })

  test('a file that the provider cannot take', async () => {
    const file = { type: 'file' as const, data: 'AAAA', mediaType: 'application/x-unknown' }
    const chunks = await collect(port(), ask([{ role: 'user', content: [file] }]))
    expect(failureIn(chunks)).toMatchObject({ code: 'MODEL_REQUEST_INVALID', retryable: false })
    expect(server.seen).toHaveLength(0)
  })
})

describe('abort', () => {
  test('in mid-stream ends with one final chunk and closes the connection', async () => {
    const closed = new Promise<void>(resolve => {
      server.answers.push(response => {
        response.on('close', resolve)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(eventText([openAi.delta({ content: 'first' })]))
      })
    })
    const abort = new AbortController()
    const chunks: Chunk[] = []
    for await (const chunk of port().stream(ask(), abort.signal)) {
      chunks.push(chunk)
      abort.abort('enough')
    }
    expect(failureIn(chunks)).toEqual({
      code: 'MODEL_ABORTED',
      message: 'the request was cancelled',
      retryable: false,
    })
    await closed
  })

  test('before the answer begins', async () => {
    const abort = new AbortController()
    server.answers.push(() => abort.abort())
    expect(failureIn(await collect(port(), ask(), abort.signal))).toMatchObject({ code: 'MODEL_ABORTED' })
  })

  test('before the request is sent', async () => {
    expect(failureIn(await collect(port(), ask(), AbortSignal.abort()))).toMatchObject({ code: 'MODEL_ABORTED' })
    expect(server.seen).toHaveLength(0)
  })

  test('a reader that walks away closes the connection', async () => {
    const closed = new Promise<void>(resolve => {
      server.answers.push(response => {
        response.on('close', resolve)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(eventText([openAi.delta({ content: 'first' })]))
      })
    })
    for await (const _ of port().stream(ask(), new AbortController().signal)) break
    await closed
  })
})
