import { describe, expect, it } from 'vitest'
import { lines, type Opened, opened, script } from './opened.js'

const made = (name: string, kwargs: object) => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain_core', 'messages', name],
  kwargs,
})
const human = made('HumanMessage', { id: 'h', content: 'Go.' })
const chunk = (kwargs: object) => [
  'messages',
  [made('AIMessageChunk', { id: 'run-1', content: [], tool_calls: [], ...kwargs }), { langgraph_node: 'model' }],
]
const piece = (args: string, more: object = {}) => ({ type: 'tool_call_chunk', index: 0, args, ...more })
const tool = made('ToolMessage', { id: 't', tool_call_id: 'a', name: 'read', content: 'milk' })

function read(document: unknown): Opened {
  return opened(JSON.stringify(document))
}

describe('a LangChain list', () => {
  it('may have constructors in it', () => {
    const { format, messages, events } = read([
      made('SystemMessage', { content: 'S' }),
      human,
      made('AIMessage', {
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 's' },
          { type: 'text', text: 'Yes.' },
          { type: 'tool_use', id: 'a', name: 'read', input: {} },
        ],
        tool_calls: [{ id: 'a', name: 'read', args: { p: 1 } }],
        response_metadata: { model_provider: 'anthropic', model_name: 'claude-x' },
        usage_metadata: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      }),
      tool,
    ])
    expect(format).toBe('langchain')
    expect(script(messages)).toEqual(['user: Go.', 'assistant: (Hm.) | Yes. | a read {"p":1}', 'tool: a text milk'])
    expect(messages[1]!.providerOptions).toEqual({ palimpsest: { vendor: 'anthropic', model: 'claude-x' } })
    expect(events[0]!.data).toMatchObject({ model: 'claude-x', system: 'S' })
    expect(events.find(({ type }) => type === 'assistant/message')!.data).toMatchObject({
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    })
  })

  it('may have dicts in it, flat or with data', () => {
    const flat = read({
      messages: [
        { type: 'human', content: 'Go.' },
        { type: 'ai', content: 'Yes.', tool_calls: [] },
      ],
    })
    expect([flat.format, ...script(flat.messages)]).toEqual(['langchain', 'user: Go.', 'assistant: Yes.'])
    const nested = read([
      { type: 'human', data: { content: 'Go.' } },
      { type: 'ai', data: { content: 'Yes.' } },
    ])
    expect([nested.format, ...script(nested.messages)]).toEqual(['langchain', 'user: Go.', 'assistant: Yes.'])
  })

  it('keeps bad arguments, failed results and older calls', () => {
    const { messages } = read([
      {
        type: 'ai',
        content: '',
        tool_calls: [{ id: 'a', name: 'f', args: {} }],
        invalid_tool_calls: [{ id: 'b', name: 'f', args: '{"half' }],
      },
      { type: 'tool', tool_call_id: 'a', content: 'no', status: 'error' },
      {
        type: 'ai',
        content: '',
        additional_kwargs: { tool_calls: [{ id: 'c', function: { name: 'g', arguments: '{ }' } }] },
      },
    ])
    expect(script(messages)).toEqual(['assistant: a f {} | b f {"half', 'tool: a error-text no', 'assistant: c g { }'])
  })

  it('tells of blocks that it does not know', () => {
    const { messages, loss } = read([{ type: 'ai', content: [{ type: 'text', text: 'x' }, { type: 'hologram' }] }])
    expect(script(messages)).toEqual(['assistant: x'])
    expect(loss).toMatchObject([{ kind: 'record', where: 'messages[0]' }])
  })

  it('tells of a system message inside, and of what is no message', () => {
    const { told, loss } = read([{ type: 'human', content: 'x' }, { type: 'system', content: 'S' }, 5])
    expect(told).toEqual(['turn.system-not-first messages[1]'])
    expect(loss).toMatchObject([{ kind: 'record', where: 'messages[2]' }])
  })
})

describe('a LangGraph stream', () => {
  const pieces = [
    chunk({
      additional_kwargs: { reasoning: { id: 'rs_1', summary: [{ type: 'summary_text', text: 'H', index: 0 }] } },
    }),
    chunk({ additional_kwargs: { reasoning: { summary: [{ type: 'summary_text', text: 'm.', index: 0 }] } } }),
    chunk({ content: [{ type: 'text', text: 'Ye', index: 0 }] }),
    chunk({ content: [{ type: 'text', text: 's.', index: 0 }] }),
    chunk({ tool_call_chunks: [piece('', { id: 'a', name: 'read' })] }),
    chunk({ tool_call_chunks: [piece('{"p": ')] }),
    chunk({ tool_call_chunks: [piece('1}')] }),
  ]

  it('has chunks that go on with the message of their id', () => {
    const { messages, places, events } = read([['values', { messages: [human] }], ...pieces, ['messages', [tool, {}]]])
    expect(script(messages)).toEqual(['user: Go.', 'assistant: (Hm.) | Yes. | a read {"p": 1}', 'tool: a text milk'])
    expect(messages[1]!.content[0]).toMatchObject({
      providerOptions: { openai: { itemId: 'rs_1', summary: [{ text: 'Hm.' }] } },
    })
    expect(places[events.findIndex(({ type }) => type === 'assistant/message')]!.where).toBe('messages[1][1][0]')
  })

  it('has states that say what stands', () => {
    const whole = made('AIMessage', { id: 'run-1', content: 'Whole.' })
    const states = [['values', { messages: [human] }], ...pieces, ['values', { messages: [human, whole] }]]
    expect(script(read(states).messages)).toEqual(['user: Go.', 'assistant: Whole.'])
    expect(script(read([...states, ['values', { messages: [whole] }]]).messages)).toEqual(['assistant: Whole.'])
    const removed = [...states, ['updates', { prune: { messages: [made('RemoveMessage', { id: 'h', content: '' })] } }]]
    expect(script(read(removed).messages)).toEqual(['assistant: Whole.'])
  })

  it('sets apart what a graph inside it said, and keeps interrupts as notes', () => {
    const { messages, events } = read([
      ['values', { messages: [human] }],
      [['sub:1'], [made('AIMessage', { id: 'x', content: 'Inner.' }), {}]],
      ['values', { __interrupt__: [{ value: 1 }] }],
    ])
    expect(script(messages)).toEqual(['user: Go.'])
    const notes = events.map(({ type }) => type).filter(type => type.startsWith('import/'))
    expect(notes).toEqual(['import/langchain.subgraph', 'import/langchain.state'])
  })

  it('may have an entry per line', () => {
    const read = opened(lines(human, made('AIMessage', { content: 'Yes.' })))
    expect([read.format, ...script(read.messages)]).toEqual(['langchain', 'user: Go.', 'assistant: Yes.'])
  })
})

describe('a LangChain file that ends in the middle', () => {
  it('is read up to its last whole message', () => {
    const whole = JSON.stringify([human, tool])
    const { told, messages } = opened(whole.slice(0, -10))
    expect(script(messages).slice(0, 1)).toEqual(['user: Go.'])
    expect(told).toEqual(['file.torn-record messages[1]'])
  })
})

it('keeps the digits and doubled keys of a LangChain call', () => {
  const raw = '{"n":9007199254740993,"n":12345678901234567890}'
  const call = `{"type":"ai","data":{"content":"","tool_calls":[{"id":"a","name":"read","args":${raw}}]}}`
  for (const file of [`[${call}]`, `${call}\n${call.replace('"a"', '"b"')}\n`, `{"messages":[${call}]}`]) {
    expect(script(opened(file).messages)[0]).toBe(`assistant: a read ${raw}`)
  }
})
