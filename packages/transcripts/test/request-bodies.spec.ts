import type { AssistantPart, JsonObject, Message, ToolOutput, UserPart } from '@palimpsest/session'
import { type Outgoing, REQUEST_TARGETS, type RequestBody, stringifyRaw, writeRequest } from '@palimpsest/transcripts'
import { describe, expect, it } from 'vitest'

const user = (...content: UserPart[]): Message => ({ role: 'user', content })
const assistant = (...content: AssistantPart[]): Message => ({ role: 'assistant', content })
const text = (text: string, openai?: object) => ({
  type: 'text' as const,
  text,
  ...(openai && { providerOptions: { openai } as never }),
})
const call = (toolCallId: string, more: object = {}) => ({
  type: 'tool-call' as const,
  toolCallId,
  toolName: 'read',
  input: { p: 1 },
  ...more,
})
const result = (toolCallId: string, output: ToolOutput | string, more: object = {}): Message => ({
  role: 'tool',
  content: [
    {
      type: 'tool-result',
      toolCallId,
      toolName: 'read',
      output: typeof output === 'string' ? { type: 'text', value: output } : output,
      ...more,
    },
  ],
})
const image = { type: 'image' as const, image: 'AAAA', mediaType: 'image/png' }
const tools = [{ name: 'read', description: 'd', inputSchema: { type: 'object' } }]

/** What would go over the wire. */
function body(target: string, messages: Message[], more: Partial<Outgoing> = {}): RequestBody {
  return JSON.parse(stringifyRaw(writeRequest(target, { messages, ...more })))
}

const talk = [user(text('Go.')), assistant(text('Yes.'), call('a')), result('a', 'milk'), user(text('More.'))]

describe('a request body', () => {
  it('is refused for an unknown target', () => {
    expect(() => writeRequest('oracle', { messages: [] })).toThrow(RangeError)
    expect(REQUEST_TARGETS).toEqual(['anthropic', 'openai-chat', 'openai-responses', 'gemini', 'deepseek'])
  })

  it.each(REQUEST_TARGETS)('keeps the digits of arguments for %s', target => {
    const messages = [
      user(text('x')),
      assistant(call('a', { input: { id: 9007199254740992 }, rawInput: '{"id":9007199254740993}' })),
      result('a', 'y'),
    ]
    expect(stringifyRaw(writeRequest(target, { messages })).replaceAll('\\', '')).toContain('{"id":9007199254740993}')
  })

  it.each(REQUEST_TARGETS)('has no member that is not asked for, for %s', target => {
    const members = { anthropic: ['messages'], gemini: ['contents'], 'openai-responses': ['input'] }[target] ?? [
      'messages',
    ]
    expect(Object.keys(body(target, [user(text('x'))]))).toEqual(members)
  })
})

describe('the body for Anthropic', () => {
  it('joins neighbours of one role, results first', () => {
    expect(body('anthropic', talk, { system: 'S', tools })).toEqual({
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Yes.' },
            { type: 'tool_use', id: 'a', name: 'read', input: { p: 1 } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: 'milk' },
            { type: 'text', text: 'More.' },
          ],
        },
      ],
      system: 'S',
      tools: [{ name: 'read', description: 'd', input_schema: { type: 'object' } }],
    })
  })

  it('says what thinking and tool choice are', () => {
    expect(body('anthropic', [user(text('x'))], { thinking: 'disabled', toolChoice: 'none' })).toMatchObject({
      thinking: { type: 'disabled' },
      tool_choice: { type: 'none' },
    })
    expect(body('anthropic', [user(text('x'))], { thinking: 'enabled' })).toMatchObject({
      thinking: { type: 'enabled' },
    })
  })

  it('sends thinking as it was signed, and what is redacted', () => {
    const signed = { type: 'reasoning' as const, text: 'Hm.', providerOptions: { anthropic: { signature: 's' } } }
    const redacted = { type: 'reasoning' as const, text: '', providerOptions: { anthropic: { redactedData: 'd' } } }
    expect(body('anthropic', [assistant(signed, redacted, text('x'))])).toMatchObject({
      messages: [
        {
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 's' },
            { type: 'redacted_thinking', data: 'd' },
            {},
          ],
        },
      ],
    })
  })

  it('tells failures, values and media of results', () => {
    const shown: ToolOutput = {
      type: 'content',
      value: [
        { type: 'text', text: 'one' },
        { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
      ],
    }
    const failed = { providerOptions: { palimpsest: { isError: true } } }
    const { messages } = body('anthropic', [
      result('a', { type: 'error-text', value: 'no' }),
      result('b', { type: 'json', value: { x: 1 } }),
      result('c', shown, failed),
      result('d', { type: 'execution-denied' }),
    ])
    expect(messages).toMatchObject([
      {
        content: [
          { tool_use_id: 'a', content: 'no', is_error: true },
          { tool_use_id: 'b', content: '{"x":1}' },
          {
            tool_use_id: 'c',
            content: [
              { type: 'text', text: 'one' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            ],
            is_error: true,
          },
          { tool_use_id: 'd', is_error: true },
        ],
      },
    ])
  })

  it('sends media by bytes or address, and own blocks whole', () => {
    const own = { type: 'container_upload', file_id: 'f' }
    const { messages } = body('anthropic', [
      user(
        image,
        { type: 'image', image: 'https://x.test/a' },
        { type: 'file', data: 'BBBB', mediaType: 'application/pdf', filename: 'a' },
        { ...text(''), providerOptions: { anthropic: { block: own } } },
      ),
    ])
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'image', source: { type: 'url', url: 'https://x.test/a' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' }, title: 'a' },
          own,
        ],
      },
    ])
  })
})

describe('the body for chat', () => {
  it('has the system first and keeps neighbours apart', () => {
    expect(body('openai-chat', [...talk, user(text('And.'))], { system: 'S', tools, toolChoice: 'none' })).toEqual({
      messages: [
        { role: 'system', content: 'S' },
        { role: 'user', content: 'Go.' },
        {
          role: 'assistant',
          content: 'Yes.',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'read', arguments: '{"p":1}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'milk' },
        { role: 'user', content: 'More.' },
        { role: 'user', content: 'And.' },
      ],
      tools: [{ type: 'function', function: { name: 'read', description: 'd', parameters: { type: 'object' } } }],
      tool_choice: 'none',
    })
  })

  it('keeps several texts apart and images as URLs', () => {
    const { messages } = body('openai-chat', [user(text('a'), image), assistant(text('b'), text('c'))])
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'b' },
          { type: 'text', text: 'c' },
        ],
      },
    ])
  })

  it('sends no reasoning, but for DeepSeek', () => {
    const messages = [assistant({ type: 'reasoning', text: 'Hm.' }, call('a')), result('a', 'x')]
    expect(body('openai-chat', messages)).not.toHaveProperty('messages.0.reasoning_content')
    expect(body('deepseek', messages)).toHaveProperty('messages.0.reasoning_content', 'Hm.')
  })

  it('knows custom tools of its own only', () => {
    const input = { input: { input: 'select' } }
    const own = call('a', { ...input, providerOptions: { openai: { type: 'custom', wire: 'chat' } } })
    const other = call('b', { ...input, toolName: 'run', providerOptions: { openai: { type: 'custom' } } })
    const two = [...tools, { name: 'run', inputSchema: { type: 'object' } }]
    expect(body('openai-chat', [assistant(own, other)], { tools: two })).toMatchObject({
      messages: [
        {
          tool_calls: [
            { type: 'custom', custom: { name: 'read', input: 'select' } },
            { type: 'function', function: { name: 'run', arguments: '{"input":"select"}' } },
          ],
        },
      ],
      tools: [{ type: 'custom' }, { type: 'function' }],
    })
    expect(body('deepseek', [assistant(own)], { tools: two })).toMatchObject({
      messages: [{ tool_calls: [{ type: 'function' }] }],
    })
  })
})

describe('the body for DeepSeek', () => {
  it('joins neighbours in thinking mode only', () => {
    const messages = [
      user(text('a')),
      user(text('b')),
      assistant(text('c')),
      assistant({ type: 'reasoning', text: 'Hm.' }, text('d')),
    ]
    expect(body('deepseek', messages)).toMatchObject({ messages: [{}, {}, {}, {}] })
    expect(body('deepseek', messages, { thinking: 'enabled' })).toEqual({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'c' },
            { type: 'text', text: 'd' },
          ],
          reasoning_content: 'Hm.',
        },
      ],
      thinking: { type: 'enabled' },
    })
  })
})

describe('the body for Responses', () => {
  it('has items in order, with ids and encrypted reasoning as they were kept', () => {
    const summary = [{ type: 'summary_text', text: 'Hm.' }]
    const reasoning = {
      type: 'reasoning' as const,
      text: 'Hm.',
      providerOptions: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'e', summary } },
    }
    const messages = [
      { ...user(text('Dev.')), providerOptions: { openai: { role: 'developer' } } } as Message,
      assistant(
        reasoning,
        text('a', { itemId: 'msg_1' }),
        text('b', { continues: true }),
        call('c', { providerOptions: { openai: { itemId: 'fc_1' } } }),
      ),
      result('c', {
        type: 'content',
        value: [
          { type: 'text', text: 'x' },
          { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
        ],
      }),
    ]
    expect(body('openai-responses', messages, { system: 'S', tools })).toEqual({
      instructions: 'S',
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Dev.' }] },
        { type: 'reasoning', id: 'rs_1', summary, encrypted_content: 'e' },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          content: [
            { type: 'output_text', text: 'a' },
            { type: 'output_text', text: 'b' },
          ],
        },
        { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'read', arguments: '{"p":1}' },
        {
          type: 'function_call_output',
          call_id: 'c',
          output: [
            { type: 'input_text', text: 'x' },
            { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          ],
        },
      ],
      tools: [{ type: 'function', name: 'read', description: 'd', parameters: { type: 'object' } }],
    })
  })

  it('answers each call in its own kind', () => {
    const custom = call('a', { input: { input: 'select' }, providerOptions: { openai: { type: 'custom' } } })
    const item = { type: 'local_shell_call', id: 'l', call_id: 'old', action: {} }
    const shell = call('b', { providerOptions: { openai: { itemId: 'l', item } } })
    expect(body('openai-responses', [assistant(custom, shell), result('a', '1'), result('b', '2')], { tools })).toEqual(
      {
        input: [
          { type: 'custom_tool_call', call_id: 'a', name: 'read', input: 'select' },
          { ...item, call_id: 'b' },
          { type: 'custom_tool_call_output', call_id: 'a', output: '1' },
          { type: 'local_shell_call_output', call_id: 'b', output: '2' },
        ],
        tools: [{ type: 'custom', name: 'read', description: 'd' }],
      },
    )
  })

  it('names no item twice', () => {
    const hosted = {
      ...call('a'),
      providerExecuted: true,
      providerOptions: { openai: { itemId: 'ws', item: { type: 'web_search_call', id: 'ws' } } },
    }
    expect(body('openai-responses', [assistant(hosted, hosted)])).toEqual({
      input: [{ type: 'web_search_call', id: 'ws' }, { type: 'web_search_call' }],
    })
  })
})

describe('the body for Gemini', () => {
  it('has a turn of responses and nothing else after each turn with calls', () => {
    const messages = [
      user(text('Go.')),
      assistant(text('a')),
      assistant(call('a'), call('b')),
      assistant(text('z')),
      result('a', '1'),
      result('b', { type: 'error-text', value: 'no' }),
      user(text('More.')),
    ]
    expect(body('gemini', messages, { system: 'S', tools })).toEqual({
      systemInstruction: { parts: [{ text: 'S' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Go.' }] },
        {
          role: 'model',
          parts: [
            { text: 'a' },
            { functionCall: { id: 'a', name: 'read', args: { p: 1 } } },
            { functionCall: { id: 'b', name: 'read', args: { p: 1 } } },
            { text: 'z' },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'a', name: 'read', response: { output: '1' } } },
            { functionResponse: { id: 'b', name: 'read', response: { error: 'no' } } },
          ],
        },
        { role: 'user', parts: [{ text: 'More.' }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'read', description: 'd', parametersJsonSchema: { type: 'object' } }] }],
    })
  })

  it('keeps signatures on their parts, and ids off where there were none', () => {
    const google = (state: JsonObject) => ({ providerOptions: { google: state } })
    const messages = [
      assistant(
        { type: 'reasoning', text: 'Hm.' },
        { ...text('a'), ...google({ thoughtSignature: 's' }) },
        call('x', google({ thoughtSignature: 't', withoutId: true })),
      ),
      result('x', { type: 'json', value: { n: 1 }, providerOptions: { palimpsest: { raw: '{"n":1.0}' } } }),
    ]
    expect(stringifyRaw(writeRequest('gemini', { messages }).contents)).toBe(
      '[{"role":"model","parts":[{"text":"Hm.","thought":true},{"text":"a","thoughtSignature":"s"},' +
        '{"functionCall":{"name":"read","args":{"p":1}},"thoughtSignature":"t"}]},' +
        '{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"n":1.0}}}]}]',
    )
  })

  it('shows media by bytes or address, in results too', () => {
    const shown: ToolOutput = {
      type: 'content',
      value: [
        { type: 'text', text: 'x' },
        { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
      ],
    }
    expect(
      body('gemini', [
        user(image, { type: 'file', data: 'https://x.test/a', mediaType: 'application/pdf' }),
        assistant(call('a')),
        result('a', shown),
      ]),
    ).toMatchObject({
      contents: [
        {
          parts: [
            { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
            { fileData: { mimeType: 'application/pdf', fileUri: 'https://x.test/a' } },
          ],
        },
        {},
        {
          parts: [
            {
              functionResponse: {
                response: { output: 'x' },
                parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
              },
            },
          ],
        },
      ],
    })
  })
})
