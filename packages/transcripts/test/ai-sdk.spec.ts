import { describe, expect, it } from 'vitest'
import { lines, type Opened, opened, script } from './opened.js'
import { written } from './written.js'

const stream = [
  { type: 'start', messageId: 'm' },
  { type: 'start-step' },
  { type: 'reasoning-start', id: 'r' },
  { type: 'reasoning-delta', id: 'r', delta: 'H' },
  { type: 'reasoning-delta', id: 'r', delta: 'm.' },
  { type: 'reasoning-end', id: 'r', providerMetadata: { anthropic: { signature: 's' } } },
  { type: 'tool-input-start', toolCallId: 'a', toolName: 'read' },
  { type: 'tool-input-delta', toolCallId: 'a', inputTextDelta: '{"p": ' },
  { type: 'tool-input-delta', toolCallId: 'a', inputTextDelta: '1}' },
  { type: 'tool-input-available', toolCallId: 'a', toolName: 'read', input: { p: 1 } },
  { type: 'tool-input-available', toolCallId: 'b', toolName: 'read', input: {} },
  { type: 'tool-output-available', toolCallId: 'a', output: 'soon', preliminary: true },
  { type: 'tool-output-available', toolCallId: 'a', output: 'milk' },
  { type: 'tool-output-error', toolCallId: 'b', errorText: 'gone' },
  { type: 'data-weather', data: {} },
  { type: 'finish-step' },
  { type: 'start-step' },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: 'Done.' },
  { type: 'text-end', id: 't' },
  { type: 'finish-step' },
  { type: 'finish' },
]
const folded = [
  'assistant: (Hm.) | a read {"p": 1} | b read {}',
  'tool: a text milk',
  'tool: b error-text gone',
  'assistant: Done.',
]

function read(document: unknown): Opened {
  return opened(JSON.stringify(document))
}

describe('a stream of the AI SDK', () => {
  it('is folded into the messages of its steps', () => {
    const { format, messages, events, places } = read(stream)
    expect(format).toBe('ai-sdk-stream')
    expect(script(messages)).toEqual(folded)
    expect(messages[0]!.content[0]).toMatchObject({ providerOptions: { anthropic: { signature: 's' } } })
    const place = places[events.findIndex(({ type }) => type === 'assistant/message')]!
    expect(place).toEqual({ where: 'messages[2]', parts: ['messages[2]', 'messages[6]', 'messages[10]'] })
    expect(events.map(({ type }) => type)).toContain('import/ai-sdk-stream.data-weather')
  })

  it('may have a chunk per line, or be sent as events', () => {
    expect(script(opened(lines(...stream)).messages)).toEqual(folded)
    const sent = opened(`${stream.map(chunk => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`)
    expect([sent.format, ...script(sent.messages)]).toEqual(['ai-sdk-stream', ...folded])
    expect(sent.told).toEqual([])
    expect(opened('data: {"type":"start"}\n\ndata: {"type":"te', { format: 'ai-sdk-stream' }).told).toEqual([
      'file.torn-record line 3',
    ])
  })

  it('keeps a second output of a call beside the first, where that was no preliminary one', () => {
    const again = { type: 'tool-output-available', toolCallId: 'a', output: 'eggs' }
    const { messages } = opened(JSON.stringify(stream.toSpliced(13, 0, again)))
    expect(script(messages).filter(line => line.startsWith('tool: a'))).toEqual([
      'tool: a text milk',
      'tool: a text eggs',
    ])
  })

  it('is recognised with chunks that are not known, which are kept as notes', () => {
    const { format, held } = opened(JSON.stringify(stream.toSpliced(2, 0, { type: 'hologram' })))
    expect(format).toBe('ai-sdk-stream')
    expect(held('import/ai-sdk-stream.hologram')).toHaveLength(1)
  })

  it('has outputs of calls that another request made', () => {
    const { messages } = read([
      { type: 'start' },
      { type: 'tool-output-available', toolCallId: 'x', output: { n: 1 } },
      { type: 'tool-output-denied', toolCallId: 'y' },
    ])
    expect(script(messages)).toEqual(['tool: x json {"n":1}', 'tool: y execution-denied '])
  })

  it('that broke off keeps what it showed', () => {
    const cut = read([...stream.slice(0, 8), { type: 'abort' }])
    expect(script(cut.messages)).toEqual(['assistant: (Hm.) | a read {"p": '])
    expect(cut.events.find(({ type }) => type === 'assistant/message')!.data).toMatchObject({ interrupted: true })
  })

  it('has what the provider ran itself in the answer', () => {
    const { messages } = read([
      { type: 'tool-input-available', toolCallId: 's', toolName: 'search', input: {}, providerExecuted: true },
      { type: 'tool-output-available', toolCallId: 's', output: 'found' },
      { type: 'text-delta', id: 't', delta: 'So.' },
    ])
    expect(script(messages)).toEqual(['assistant: s search {} | s text found | So.'])
  })
})

describe('messages of the AI SDK', () => {
  it('are read from UI messages, a step each', () => {
    const { format, messages } = read([
      { id: '1', role: 'system', parts: [{ type: 'text', text: 'S' }] },
      {
        id: '2',
        role: 'user',
        parts: [
          { type: 'text', text: 'Go.' },
          { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA' },
        ],
      },
      {
        id: '3',
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          { type: 'reasoning', text: 'Hm.', providerMetadata: { anthropic: { signature: 's' } } },
          { type: 'tool-read', toolCallId: 'a', state: 'output-available', input: { p: 1 }, output: 'milk' },
          { type: 'dynamic-tool', toolName: 'list', toolCallId: 'b', state: 'input-available', input: {} },
          { type: 'source-url', url: 'https://x.test' },
          { type: 'step-start' },
          { type: 'text', text: 'Done.' },
        ],
      },
    ])
    expect(format).toBe('ai-sdk-stream')
    expect(script(messages)).toEqual([
      'user: Go. | image',
      'assistant: (Hm.) | a read {"p":1} | b list {}',
      'tool: a text milk',
      'assistant: Done.',
    ])
  })

  it('are read from UI messages of version 4', () => {
    const call = { toolCallId: 'a', toolName: 'read', args: { p: 1 }, state: 'result', result: 'milk' }
    const expected = ['user: Go.', 'assistant: Yes. | a read {"p":1}', 'tool: a text milk']
    const user = { role: 'user', content: 'Go.', parts: [{ type: 'text', text: 'Go.' }] }
    const flat = read([
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: 'Yes.', toolInvocations: [call] },
    ])
    expect(script(flat.messages)).toEqual(expected)
    const nested = read([
      user,
      {
        role: 'assistant',
        content: 'Yes.',
        parts: [
          { type: 'text', text: 'Yes.' },
          { type: 'tool-invocation', toolInvocation: call },
        ],
      },
    ])
    expect(script(nested.messages)).toEqual(expected)
  })

  it('come back from their own file as they were', () => {
    const first = read([
      { role: 'system', content: 'S' },
      { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 's' } } },
          { type: 'tool-call', toolCallId: 'a', toolName: 'read', input: { p: 1 } },
        ],
        providerOptions: { palimpsest: { vendor: 'anthropic', model: 'claude-x' } },
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'read', output: { type: 'text', value: 'milk' } }],
      },
    ])
    const file = written(first, 'ai-sdk-messages')
    expect(file.loss).toEqual([])
    expect(JSON.parse(file.text)[0]).toEqual({ role: 'system', content: 'S' })
    const second = opened(file.text)
    expect(second.messages).toEqual(first.messages)
    expect(written(second, 'ai-sdk-messages').text).toBe(file.text)
  })

  it('are written with the digits of arguments, and with what has no place declared', () => {
    const call = (id: string, args: string) => ({ id, type: 'function', function: { name: 'f', arguments: args } })
    const chat = read({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: null, tool_calls: [call('a', '{"n":9007199254740993}'), call('b', '{"half')] },
      ],
      tools: [{ type: 'function', function: { name: 'f' } }],
    })
    const { text, loss } = written(chat, 'ai-sdk-messages')
    expect(text).toContain('{"n":9007199254740993}')
    expect(loss.map(({ kind, count }) => `${kind} ${count}`)).toEqual(['tool-schema 1', 'call 1'])
  })
})

describe('a file of the AI SDK that ends in the middle', () => {
  it('is read up to its last whole chunk', () => {
    const { told, messages } = opened(JSON.stringify(stream).slice(0, -30))
    expect(script(messages)).toEqual(folded)
    expect(told).toEqual([expect.stringMatching(/^file\.torn-record messages\[\d+\]$/)])
  })
})
