import { describe, expect, it } from 'vitest'
import { type Opened, opened, script } from './opened.js'

const user = (...content: unknown[]) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const text = (text: string) => ({ type: 'text', text })
const use = (id: string, input: unknown = {}) => ({ type: 'tool_use', id, name: 'read', input })
const result = (id: string, content: unknown, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})

function anthropic(document: unknown): Opened {
  return opened(JSON.stringify(document), { format: 'anthropic-messages' })
}

function outputs({ messages }: Opened): unknown[] {
  return messages.flatMap(({ content }) => content.flatMap(part => (part.type === 'tool-result' ? [part.output] : [])))
}

describe('Anthropic messages', () => {
  it('are told from chat messages by what they hold', () => {
    const formatOf = (document: unknown) => opened(JSON.stringify(document)).format
    expect(formatOf([user(text('x')), assistant(text('y'))])).toBe('anthropic-messages')
    expect(formatOf([user(text('x')), assistant(use('a'))])).toBe('anthropic-messages')
    expect(formatOf({ system: 's', messages: [{ role: 'user', content: 'x' }] })).toBe('anthropic-messages')
    expect(
      formatOf([
        { role: 'user', content: 'x' },
        { role: 'assistant', content: 'y' },
      ]),
    ).toBe('openai-chat')
    expect(formatOf([user({ type: 'image', source: { type: 'url', url: 'https://x.test/a' } })])).toBe(
      'anthropic-messages',
    )
  })

  it('have their results in the user messages', () => {
    const read = anthropic([
      user(text('Go.')),
      assistant(text('Yes.'), use('a', { p: 1 })),
      user(result('a', 'milk'), text('More.')),
    ])
    expect(script(read.messages)).toEqual([
      'user: Go.',
      'assistant: Yes. | a read {"p":1}',
      'tool: a text milk',
      'user: More.',
    ])
    expect(read.messages[2]!.content[0]).toMatchObject({ toolName: 'read' })
    const places = read.events.flatMap((event, i) => (event.surfaceOp ? [read.places[i]!] : []))
    expect(places.map(({ parts }) => parts)).toEqual([
      ['messages[0].content[0]'],
      ['messages[1].content[0]', 'messages[1].content[1]'],
      ['messages[2].content[0]'],
      ['messages[2].content[1]'],
    ])
  })

  it('have results that do not lead moved to the front, in stored order', () => {
    const read = anthropic([
      assistant(use('a'), use('b')),
      user(text('x'), result('b', '2'), text('y'), result('a', '1')),
    ])
    expect(script(read.messages).slice(1)).toEqual(['tool: b text 2', 'tool: a text 1', 'user: x | y'])
    expect(read.findings).toEqual([
      { code: 'order.result-not-leading', severity: 'error', where: 'messages[1]', ids: ['b', 'a'] },
    ])
  })

  it('keep thinking with its signature, and what is redacted of it', () => {
    const { messages } = anthropic([
      assistant(
        { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
        { type: 'redacted_thinking', data: 'xx' },
        text('y'),
      ),
    ])
    expect(messages[0]!.content.slice(0, 2)).toEqual([
      { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 'sig' } } },
      { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'xx' } } },
    ])
  })

  it('keep the digits of arguments', () => {
    const read = opened(
      '{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"id":9007199254740993}}]}]}',
    )
    expect(script(read.messages)).toEqual(['assistant: a f {"id":9007199254740993}'])
    expect(read.findings).toMatchObject([
      { code: 'number.unsafe', where: 'messages[0]', path: '/content/0/input/id', raw: '9007199254740993' },
    ])
  })

  it('say of a result whether it failed, and what it shows', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const failed = { is_error: true }
    const read = anthropic([
      user(
        result('a', 'no', failed),
        result('b', [text('one')]),
        result('c', [text('one'), image]),
        result('d', undefined),
        result('e', [image], failed),
      ),
    ])
    expect(outputs(read)).toEqual([
      { type: 'error-text', value: 'no' },
      { type: 'text', value: 'one' },
      { type: 'content', value: [text('one'), { type: 'image-data', data: 'AAAA', mediaType: 'image/png' }] },
      { type: 'text', value: '' },
      { type: 'content', value: [{ type: 'image-data', data: 'AAAA', mediaType: 'image/png' }] },
    ])
    expect(read.messages[4]!.content[0]).toMatchObject({ providerOptions: { palimpsest: { isError: true } } })
  })

  it('keep a block that only the provider reads whole', () => {
    const call = { type: 'server_tool_use', id: 's', name: 'web_search', input: { q: 'x' } }
    const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
    const upload = { type: 'container_upload', file_id: 'f' }
    const { messages } = anthropic([user(upload), assistant(call, found)])
    expect(messages[0]!.content).toEqual([
      { type: 'text', text: '', providerOptions: { anthropic: { block: upload } } },
    ])
    expect(messages[1]!.content).toMatchObject([
      {
        type: 'tool-call',
        toolName: 'web_search',
        providerExecuted: true,
        providerOptions: { anthropic: { block: call } },
      },
      { type: 'tool-result', toolCallId: 's', providerOptions: { anthropic: { block: found } } },
    ])
  })

  it('have the system text and the tools of their body', () => {
    const tool = { name: 'read', description: 'd', input_schema: { type: 'object' } }
    const hosted = { type: 'web_search_20250305', name: 'web_search' }
    const read = anthropic({
      model: 'claude-x',
      system: [text('A'), text('B')],
      tools: [tool, hosted],
      thinking: { type: 'adaptive' },
      messages: [user(text('x')), { role: 'system', content: 'C' }],
    })
    expect(read.events[0]!.data).toMatchObject({
      system: 'A\n\nB\n\nC',
      tools: [{ name: 'read', description: 'd', inputSchema: { type: 'object' } }],
    })
    expect(read.about).toMatchObject({ model: 'claude-x', vendor: 'anthropic', thinking: 'enabled' })
    expect(read.loss).toMatchObject([{ kind: 'tool-schema', where: 'tools[1]' }])
    expect(read.told).toEqual(['turn.system-not-first messages[1]'])
  })

  it('stand where they are empty', () => {
    const read = anthropic([{ role: 'user', content: [] }, assistant(text(''))])
    const places = read.events.flatMap((event, i) => (event.surfaceOp ? [read.places[i]!] : []))
    expect(places.map(({ where, parts }) => [where, parts])).toEqual([
      ['messages[0].content', []],
      ['messages[1]', ['messages[1].content[0]']],
    ])
  })
})

describe('blocks of Anthropic messages that stand where they cannot', () => {
  it('are results of an answer: they come after it', () => {
    const read = anthropic([assistant(use('a'), result('a', 'milk'), text('So.'))])
    expect(script(read.messages)).toEqual(['assistant: a read {} | So.', 'tool: a text milk'])
    expect(read.findings).toMatchObject([{ code: 'order.result-not-leading', where: 'messages[0]', ids: ['a'] }])
  })

  it('are kept as nobody’s', () => {
    const junk = { type: 'hologram' }
    const { messages } = anthropic([user(use('a'), junk), assistant(junk, text('x'))])
    const unknown = (block: object) => ({ type: 'text', text: '', providerOptions: { unknown: { block } } })
    expect(messages[0]!.content).toEqual([unknown(use('a')), unknown(junk)])
    expect(messages[1]!.content[0]).toEqual(unknown(junk))
  })

  it('are media that name nothing the API knows', () => {
    const images = [{ type: 'image' }, { type: 'image', source: { type: 'tape' } }, { type: 'document', source: null }]
    const stored = { type: 'image', source: { type: 'file', file_id: 'file_1' } }
    const { messages } = anthropic([user(...images, stored, use('a'))])
    expect(messages[0]!.content.map(({ providerOptions }) => Object.keys(providerOptions ?? {}))).toEqual([
      ['unknown'],
      ['unknown'],
      ['unknown'],
      ['anthropic'],
      ['unknown'],
    ])
  })
})

it.each(['null', '5', '{}', '[]', '{"kind":"x"}'])('%s, read as messages, is none', file => {
  const { about, messages } = opened(file, { format: 'anthropic-messages' })
  expect(about).toMatchObject({ unreadable: true, conversations: 1 })
  expect(messages).toEqual([])
})
