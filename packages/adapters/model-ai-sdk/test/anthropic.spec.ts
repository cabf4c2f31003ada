import { createAnthropic } from '@ai-sdk/anthropic'
import { aiSdkModel } from '@palimpsest/model-ai-sdk'
import type { Chunk, JsonObject, Message } from '@palimpsest/session'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  anthropic,
  ask,
  closeAfter,
  collect,
  events,
  Loopback,
  messageOf,
  resetAfter,
  status,
  user,
} from './loopback.js'

let server: Loopback
beforeEach(async () => {
  server = await Loopback.start()
})
afterEach(() => server.stop())

const port = () => aiSdkModel(createAnthropic({ baseURL: server.url, apiKey: 'k' })('claude-sonnet-4-5'))
const thinking: JsonObject = {
  maxOutputTokens: 4000,
  providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
}
const last = (chunks: Chunk[]) => chunks.at(-1)

/** Sends `messages` plus the answer just given and a new question; gives back the assistant's content as sent. */
async function replayed(answer: Chunk[], more: Parameters<typeof ask>[1] = {}, results: Message[] = []) {
  server.answers.push(events(anthropic.start(), ...anthropic.text(0, 'ok'), ...anthropic.stop('end_turn')))
  const after = results.length > 0 ? results : [user('again')]
  await collect(port(), ask([user('hello'), messageOf(answer), ...after], more))
  const assistant = server.sent(server.seen.length - 1).messages[1]
  expect(assistant?.role).toBe('assistant')
  return assistant?.content
}

describe('an answer', () => {
  test('of text, with usage that counts cached tokens as input', async () => {
    const usage = { input_tokens: 5, output_tokens: 1, cache_read_input_tokens: 20, cache_creation_input_tokens: 3 }
    server.answers.push(
      events(
        anthropic.start(usage),
        { type: 'ping' },
        ...anthropic.text(0, 'Hel', 'lo'),
        ...anthropic.stop('end_turn', { output_tokens: 7 }),
      ),
    )
    const chunks = await collect(port())
    expect(chunks.slice(0, -1)).toEqual([
      { type: 'text-delta', id: '0', text: 'Hel' },
      { type: 'text-delta', id: '0', text: 'lo' },
    ])
    expect(last(chunks)).toMatchObject({
      type: 'finish',
      finishReason: 'stop',
      usage: { inputTokens: 28, outputTokens: 7, totalTokens: 35, cachedInputTokens: 20 },
      response: { id: 'msg_1', model: 'claude-x-1' },
    })
    expect(JSON.parse(JSON.stringify(chunks))).toEqual(chunks)
  })

  test('with signed and redacted thinking goes back byte for byte', async () => {
    const signature = 'EqQBCgIYAhIM+/=é\u2028 and a "quote"'
    const hidden = 'EmwKAhgBEgy3va3pzix/LafPsn4a=='
    server.answers.push(
      events(
        anthropic.start(),
        ...anthropic.block(
          0,
          { type: 'thinking', thinking: '' },
          { type: 'thinking_delta', thinking: ' Let me ' },
          { type: 'thinking_delta', thinking: 'see.\n' },
          { type: 'signature_delta', signature },
        ),
        ...anthropic.block(1, { type: 'redacted_thinking', data: hidden }),
        ...anthropic.call(2, 'toolu_1', 'look', '{"at"', ':1}'),
        ...anthropic.stop('tool_use'),
      ),
    )
    const chunks = await collect(port(), ask([user('hello')], { settings: thinking }))
    expect(chunks).toContainEqual({
      type: 'reasoning-delta',
      id: '0',
      text: '',
      providerOptions: { anthropic: { signature } },
    })
    expect(chunks).toContainEqual({
      type: 'reasoning-delta',
      id: '1',
      text: '',
      providerOptions: { anthropic: { redactedData: hidden } },
    })
    expect(server.sent(0)).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 1024 } })
    const result: Message = {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'toolu_1', toolName: 'look', output: { type: 'error-text', value: 'no' } },
      ],
    }
    expect(await replayed(chunks, { settings: thinking }, [result])).toEqual([
      { type: 'thinking', thinking: ' Let me see.\n', signature },
      { type: 'redacted_thinking', data: hidden },
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
    ])
    expect(server.sent(1).messages[2]).toEqual({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'no', is_error: true }],
    })
  })

  test('with parallel calls gives each whole; their results go back in one message', async () => {
    server.answers.push(
      events(
        anthropic.start(),
        ...anthropic.text(0, 'Both.'),
        ...anthropic.call(1, 'toolu_1', 'look', '{"at": 1}'),
        ...anthropic.call(2, 'toolu_2', 'look'),
        ...anthropic.stop('tool_use'),
      ),
    )
    const chunks = await collect(port())
    expect(chunks.filter(chunk => chunk.type === 'tool-call')).toEqual([
      { type: 'tool-call', toolCallId: 'toolu_1', toolName: 'look', input: '{"at": 1}' },
      { type: 'tool-call', toolCallId: 'toolu_2', toolName: 'look', input: '{}' },
    ])
    expect(last(chunks)).toMatchObject({ finishReason: 'tool-calls' })
    const results = ['toolu_1', 'toolu_2'].map(
      (toolCallId): Message => ({
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId, toolName: 'look', output: { type: 'json', value: { toolCallId } } },
        ],
      }),
    )
    await replayed(chunks, {}, results)
    expect(server.sent(1).messages[2]).toMatchObject({
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: '{"toolCallId":"toolu_1"}' },
        { type: 'tool_result', tool_use_id: 'toolu_2', content: '{"toolCallId":"toolu_2"}' },
      ],
    })
  })

  test('with a tool that the provider ran goes back with its call, its result and its citations', async () => {
    const found = {
      type: 'web_search_result',
      url: 'https://example.org/',
      title: 'Example',
      encrypted_content: 'EqgfCioIARgB+/=',
      page_age: null,
    }
    const citation = {
      type: 'web_search_result_location',
      cited_text: 'It is.',
      url: 'https://example.org/',
      title: 'Example',
      encrypted_index: 'Eo8BCioIAhgB',
    }
    server.answers.push(
      events(
        anthropic.start(),
        ...anthropic.block(
          0,
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
          { type: 'input_json_delta', partial_json: '{"query":"is it"}' },
        ),
        ...anthropic.block(1, { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] }),
        ...anthropic.block(
          2,
          { type: 'text', text: '', citations: [] },
          { type: 'citations_delta', citation },
          { type: 'text_delta', text: 'It is.' },
        ),
        ...anthropic.stop('end_turn'),
      ),
    )
    const settings: JsonObject = {
      tools: [{ type: 'provider', id: 'anthropic.web_search_20250305', name: 'web_search', args: { maxUses: 2 } }],
    }
    const chunks = await collect(port(), ask([user('hello')], { settings }))
    expect(server.sent(0)).toMatchObject({ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }] })
    expect(chunks).toContainEqual({
      type: 'tool-call',
      toolCallId: 'srvtoolu_1',
      toolName: 'web_search',
      input: '{"query":"is it"}',
      providerExecuted: true,
    })
    expect(chunks.find(chunk => chunk.type === 'tool-result')).toMatchObject({
      toolCallId: 'srvtoolu_1',
      output: { type: 'json', value: [{ url: found.url, encryptedContent: found.encrypted_content, pageAge: null }] },
    })
    expect(await replayed(chunks, { settings })).toEqual([
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'is it' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] },
      { type: 'text', text: 'It is.', citations: [citation] },
    ])
  })

  test('whose provider-run tool failed says so, and goes back', async () => {
    const error = { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' }
    server.answers.push(
      events(
        anthropic.start(),
        ...anthropic.block(0, { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } }),
        ...anthropic.block(1, { type: 'web_search_tool_result', tool_use_id: 's1', content: error }),
        ...anthropic.stop('end_turn'),
      ),
    )
    const chunks = await collect(port())
    expect(chunks.find(chunk => chunk.type === 'tool-result')).toMatchObject({ output: { type: 'error-json' } })
    expect(await replayed(chunks)).toMatchObject([{ type: 'server_tool_use' }, { content: error }])
  })
})

describe('a failure is one final chunk', () => {
  const fails = async () => {
    const chunks = await collect(port())
    const end = last(chunks)
    expect(chunks.filter(chunk => chunk.type === 'finish' || chunk.type === 'error')).toEqual([end])
    return end?.type === 'error' ? end.error : undefined
  }
  const errorBody = (type: string) => ({ type: 'error', error: { type, message: `it is ${type}` } })

  test('429 with retry-after', async () => {
    server.answers.push(status(429, errorBody('rate_limit_error'), { 'retry-after': '12' }))
    expect(await fails()).toEqual({
      code: 'MODEL_HTTP_ERROR',
      message: 'it is rate_limit_error',
      retryable: true,
      status: 429,
      retryAfterMs: 12_000,
    })
    expect(server.seen).toHaveLength(1)
  })

  test('500 and 400', async () => {
    server.answers.push(status(500, errorBody('api_error')), status(400, errorBody('invalid_request_error')))
    expect(await fails()).toMatchObject({ status: 500, retryable: true })
    expect(await fails()).toMatchObject({ status: 400, retryable: false })
  })

  test('overloaded, said in the first event of a good answer, and later', async () => {
    server.answers.push(
      events(errorBody('overloaded_error')),
      events(anthropic.start(), ...anthropic.text(0, 'a'), errorBody('overloaded_error')),
      events(anthropic.start(), ...anthropic.text(0, 'a'), errorBody('invalid_request_error')),
    )
    expect(await fails()).toMatchObject({ status: 529, retryable: true })
    expect(await fails()).toMatchObject({ code: 'MODEL_STREAM_ERROR', status: 529, retryable: true })
    expect(await fails()).toMatchObject({ code: 'MODEL_STREAM_ERROR', status: 400, retryable: false })
  })

  test.each([
    ['within a block', [anthropic.start(), ...anthropic.text(0, 'half').slice(0, 2)]],
    ['after a whole call', [anthropic.start(), ...anthropic.call(0, 't', 'rm', '{}')]],
    [
      'after the stop reason',
      [anthropic.start(), ...anthropic.text(0, 'a'), ...anthropic.stop('end_turn').slice(0, 1)],
    ],
  ])('a reset and a close in mid-stream, %s', async (_, some) => {
    server.answers.push(resetAfter(...some), closeAfter(...some))
    expect(await fails()).toMatchObject({ code: 'MODEL_STREAM_TRUNCATED', retryable: true })
    expect(await fails()).toMatchObject({ code: 'MODEL_STREAM_TRUNCATED', retryable: true })
  })

  test('an empty answer', async () => {
    server.answers.push(closeAfter())
    expect(await fails()).toMatchObject({ code: 'MODEL_STREAM_TRUNCATED', retryable: true })
  })

  test('invalid JSON, and an event of no known shape, in the stream', async () => {
    server.answers.push(
      events(anthropic.start(), ...anthropic.text(0, 'a'), '{"type":"content_block_delta","ind'),
      events(anthropic.start(), { type: 'content_block_delta', index: 'no number' }),
    )
    expect(await fails()).toMatchObject({ code: 'MODEL_RESPONSE_INVALID', retryable: true })
    expect(await fails()).toMatchObject({ code: 'MODEL_RESPONSE_INVALID', retryable: true })
  })

  test('no key', async () => {
    const key = process.env.ANTHROPIC_API_KEY
    delete process.env.ANTHROPIC_API_KEY
    try {
      const chunks = await collect(aiSdkModel(createAnthropic({ baseURL: server.url })('claude-sonnet-4-5')))
      expect(last(chunks)).toMatchObject({ type: 'error', error: { code: 'MODEL_REQUEST_INVALID', retryable: false } })
    } finally {
      if (key !== undefined) process.env.ANTHROPIC_API_KEY = key
    }
  })
})
