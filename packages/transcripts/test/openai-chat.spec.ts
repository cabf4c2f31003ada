import { describe, expect, it } from 'vitest'
import { lines, type Opened, opened, script } from './opened.js'

const call = (id: string, name: string, args: string) => ({ id, type: 'function', function: { name, arguments: args } })
const user = (content: unknown, more: object = {}) => ({ role: 'user', content, ...more })
const assistant = (content: unknown, more: object = {}) => ({ role: 'assistant', content, ...more })
const tool = (id: string | undefined, content: unknown) => ({ role: 'tool', tool_call_id: id, content })

function chat(document: unknown, options = {}): Opened {
  return opened(JSON.stringify(document), options)
}

function places({ events, places }: Opened, type: string) {
  return events.flatMap((event, i) => (event.type === type ? [places[i]!] : []))
}

describe('a list of chat messages', () => {
  it('has texts, calls and results, and knows where each stands', () => {
    const read = chat([
      user('Go.'),
      assistant(null, { tool_calls: [call('a', 'read', '{"p": 1}'), call('b', 'read', '{}')] }),
      tool('b', 'two'),
      tool('a', 'one'),
      assistant('Done.'),
    ])
    expect(read.format).toBe('openai-chat')
    expect(script(read.messages)).toEqual([
      'user: Go.',
      'assistant: a read {"p": 1} | b read {}',
      'tool: b text two',
      'tool: a text one',
      'assistant: Done.',
    ])
    expect(places(read, 'assistant/message')[0]).toEqual({
      where: 'messages[1]',
      parts: ['messages[1].tool_calls[0]', 'messages[1].tool_calls[1]'],
    })
    expect(places(read, 'tool/result').map(({ where }) => where)).toEqual(['messages[2]', 'messages[3]'])
  })

  it('leaves what is wrong with calls and results to whoever heals it', () => {
    const read = chat([
      tool('x', 'early'),
      assistant('', { tool_calls: [call('a', 'f', '{"half')] }),
      tool(undefined, 'y'),
    ])
    expect(script(read.messages)).toEqual(['tool: x text early', 'assistant: a f {"half', 'tool:  text y'])
    expect(read.told).toEqual([])
  })

  it('keeps an empty text only where it is all that a message has', () => {
    const read = chat([assistant(''), assistant('', { reasoning_content: 'Hm.' }), user('')])
    expect(script(read.messages)).toEqual(['assistant: ', 'assistant: (Hm.)', 'user: '])
    expect(places(read, 'assistant/message')[0]!.parts).toEqual(['messages[0].content'])
  })

  it('gathers system and developer texts, and tells of one inside the history', () => {
    const read = chat([
      { role: 'system', content: 'A' },
      { role: 'developer', content: [{ type: 'text', text: 'B' }] },
      user('x'),
      { role: 'system', content: 'C' },
    ])
    expect(read.events[0]!.data).toMatchObject({ system: 'A\n\nB\n\nC' })
    expect(read.told).toEqual(['turn.system-not-first messages[3]'])
  })

  it('reads calls of the older form, which have no ids', () => {
    const read = chat([
      user('x'),
      assistant(null, { function_call: { name: 'f', arguments: '{}' } }),
      { role: 'function', name: 'f', content: 'y' },
    ])
    expect(script(read.messages).slice(1)).toEqual(['assistant: call-1 f {}', 'tool: call-1 text y'])
    expect(places(read, 'assistant/message')[0]!.parts).toEqual(['messages[1].function_call'])
  })

  it('reads custom calls, refusals, audio and files', () => {
    const { messages } = chat([
      user([
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
        { type: 'input_audio', input_audio: { data: 'BBBB', format: 'mp3' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,CCCC' } },
        { type: 'file', file: { file_id: 'f' } },
      ]),
      assistant(null, {
        refusal: 'No.',
        tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'sql', input: 'select 1' } }],
      }),
      assistant(null, { audio: { id: 'au', transcript: 'Said.' } }),
    ])
    expect(messages[0]!.content).toMatchObject([
      { type: 'image', image: 'AAAA', mediaType: 'image/png', providerOptions: { openai: { imageDetail: 'low' } } },
      { type: 'file', data: 'BBBB', mediaType: 'audio/mpeg' },
      { type: 'file', data: 'CCCC', mediaType: 'application/pdf', filename: 'a.pdf' },
      { type: 'file', data: '', providerOptions: { openai: { part: { type: 'file', file: { file_id: 'f' } } } } },
    ])
    expect(messages[1]!.content).toMatchObject([
      { type: 'text', text: 'No.', providerOptions: { openai: { refusal: true } } },
      {
        type: 'tool-call',
        toolName: 'sql',
        input: { input: 'select 1' },
        providerOptions: { openai: { type: 'custom' } },
      },
    ])
    expect(messages[2]!.content).toMatchObject([{ type: 'text', text: 'Said.' }])
  })

  it('keeps results that are no text as what they are, with their digits', () => {
    const read = opened(
      '[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"a","content":{"n":9007199254740993}},{"role":"tool","tool_call_id":"b","content":null}]',
    )
    expect(read.messages.slice(1).map(({ content }) => (content[0] as { output: unknown }).output)).toEqual([
      {
        type: 'json',
        value: { n: 9007199254740992 },
        providerOptions: { palimpsest: { raw: '{"n":9007199254740993}' } },
      },
      { type: 'json', value: null },
    ])
    expect(read.findings).toEqual([
      { code: 'number.unsafe', severity: 'info', where: 'messages[1]', path: '/content/n', raw: '9007199254740993' },
    ])
  })

  it('tells of characters that providers trip over', () => {
    const read = opened(
      '[{"role":"user","content":"a\\u0000b"},{"role":"user","content":[{"type":"text","text":"\\ud83d"}]}]',
    )
    expect(read.told).toEqual(['text.nul messages[0].content', 'text.lone-surrogate messages[1].content[0]'])
  })
})

describe('a file with chat messages in it', () => {
  it('may be a request body, whose tools, model and thinking count', () => {
    const read = chat({
      model: 'deepseek-chat',
      thinking: { type: 'enabled' },
      messages: [user('x')],
      tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' } } }],
    })
    expect(read.about).toMatchObject({ model: 'deepseek-chat', vendor: 'deepseek', thinking: 'enabled' })
    expect(read.events[0]!.data).toMatchObject({
      tools: [{ name: 'f', description: 'd', inputSchema: { type: 'object' } }],
    })
    expect(places(read, 'user/message')[0]!.where).toBe('messages[0]')
  })

  it('may hold runs, each with a conversation', () => {
    const document = [{ traj: [user('one')] }, { traj: [user('two')] }]
    const first = chat(document)
    expect(first.about.conversations).toBe(2)
    expect(first.told).toEqual(['file.conversations file'])
    const second = chat(document, { conversation: 1 })
    expect(script(second.messages)).toEqual(['user: two'])
    expect(places(second, 'user/message')[0]!.where).toBe('messages[1].traj[0]')
    expect(places(chat({ traj: [user('x')] }), 'user/message')[0]!.where).toBe('traj[0]')
  })

  it('may have a body or a message on each line', () => {
    const bodies = opened(lines({ messages: [user('one')] }, { messages: [user('two')] }), { conversation: 1 })
    expect(script(bodies.messages)).toEqual(['user: two'])
    expect(places(bodies, 'user/message')[0]!.where).toBe('line 2')
    const messages = opened(lines(user('one'), assistant('two')))
    expect(messages.format).toBe('openai-chat')
    expect(script(messages.messages)).toEqual(['user: one', 'assistant: two'])
    expect(places(messages, 'assistant/message')[0]!.where).toBe('line 2')
  })

  it('may have lines that are longer than what is looked at first', () => {
    const long = Array.from({ length: 3000 }, (_, i) => user(`Number ${i} of many messages.`))
    const read = opened(lines({ messages: long }, { messages: [user('two')] }))
    expect([read.format, read.about.conversations, read.messages.length]).toEqual(['openai-chat', 2, 3000])
  })

  it('shows what an answer showed, and tells of lines without a conversation', () => {
    const shown = assistant([
      { type: 'text', text: 'x' },
      { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
    ])
    expect(chat([user('x'), shown]).messages[1]!.content).toMatchObject([
      { type: 'text' },
      { type: 'file', data: 'https://x.test/a.png' },
    ])
    const { loss } = opened(lines({ messages: [user('x')] }, { note: 1 }))
    expect(loss).toMatchObject([{ kind: 'record', where: 'line 2' }])
  })

  it('is told of by what it lost', () => {
    const { loss } = chat([user('x'), 'not a message', { role: 'wizard', content: 'y' }], { format: 'openai-chat' })
    expect(loss.map(({ kind, where }) => `${kind} ${where}`)).toEqual(['record messages[1]', 'record messages[2]'])
  })

  it('has no conversation behind its last one', () => {
    expect(chat([user('x')], { conversation: 3 }).messages).toEqual([])
  })
})
