import { describe, expect, it } from 'vitest'
import { type Opened, opened, script } from './opened.js'

const user = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
const said = (text: string, id?: string) => ({
  type: 'message',
  role: 'assistant',
  ...(id && { id }),
  content: [{ type: 'output_text', text }],
})
const call = (id: string, args = '{}', more: object = {}) => ({
  type: 'function_call',
  call_id: id,
  name: 'read',
  arguments: args,
  ...more,
})
const output = (id: string, output: unknown) => ({ type: 'function_call_output', call_id: id, output })
const thought = (encrypted: string | null, more: object = {}) => ({
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'Hm.' }],
  encrypted_content: encrypted,
  ...more,
})

function responses(document: unknown): Opened {
  return opened(JSON.stringify(document), { format: 'openai-responses' })
}

describe('Responses items', () => {
  it('are told from chat messages by what they hold', () => {
    const formatOf = (document: unknown) => opened(JSON.stringify(document)).format
    expect(formatOf([user('x')])).toBe('openai-responses')
    expect(formatOf({ input: 'x' })).toBe('openai-responses')
    expect(formatOf([{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }])).toBe('openai-responses')
    expect(formatOf([{ role: 'user', content: 'x' }])).toBe('openai-chat')
  })

  it('of one answer are one message; the next begins after its text or an output', () => {
    const read = responses([
      user('Go.'),
      thought('e'),
      call('a', '{"p": 1}'),
      call('b'),
      output('a', '1'),
      output('b', '2'),
      said('One.'),
      said('Two.'),
    ])
    expect(script(read.messages)).toEqual([
      'user: Go.',
      'assistant: (Hm.) | a read {"p": 1} | b read {}',
      'tool: a text 1',
      'tool: b text 2',
      'assistant: One.',
      'assistant: Two.',
    ])
    const answer = read.events.findIndex(({ type }) => type === 'assistant/message')
    expect(read.places[answer]!.parts).toEqual(['messages[1]', 'messages[2]', 'messages[3]'])
  })

  it('are not cut between a call and its output', () => {
    const read = responses([call('a'), said('One.'), said('Two.'), output('a', '1')])
    expect(script(read.messages)).toEqual(['assistant: a read {} | One. | Two.', 'tool: a text 1'])
  })

  it('keep ids, encrypted reasoning and what else only the provider reads', () => {
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' }
    const { messages } = responses([
      thought('enc', { id: 'rs_1' }),
      search,
      said('x', 'msg_1'),
      call('a', '{}', { id: 'fc_1' }),
      output('a', '1'),
    ])
    expect(messages[0]!.content).toEqual([
      {
        type: 'reasoning',
        text: 'Hm.',
        providerOptions: {
          openai: {
            itemId: 'rs_1',
            reasoningEncryptedContent: 'enc',
            summary: [{ type: 'summary_text', text: 'Hm.' }],
          },
        },
      },
      expect.objectContaining({
        providerExecuted: true,
        providerOptions: { openai: { itemId: 'ws_1', item: search } },
      }),
      { type: 'text', text: 'x', providerOptions: { openai: { itemId: 'msg_1' } } },
      {
        type: 'tool-call',
        toolCallId: 'a',
        toolName: 'read',
        input: {},
        providerOptions: { openai: { itemId: 'fc_1' } },
      },
    ])
  })

  it('keep readable reasoning where there is no summary', () => {
    const content = [{ type: 'reasoning_text', text: 'plain' }]
    const { messages } = responses([{ type: 'reasoning', summary: [], content, encrypted_content: null }, said('x')])
    expect(messages[0]!.content[0]).toEqual({
      type: 'reasoning',
      text: 'plain',
      providerOptions: { openai: { summary: [], content } },
    })
  })

  it('have custom and local calls with outputs of their own', () => {
    const shell = { type: 'local_shell_call', id: 'l', call_id: 'b', action: { type: 'exec' } }
    const { messages } = responses([
      { type: 'custom_tool_call', call_id: 'a', name: 'sql', input: 'select' },
      { type: 'custom_tool_call_output', call_id: 'a', output: '1' },
      shell,
      { type: 'local_shell_call_output', call_id: 'b', output: '2' },
    ])
    expect(script(messages)).toEqual([
      'assistant: a sql {"input":"select"}',
      'tool: a text 1',
      'assistant: b local_shell {"type":"exec"}',
      'tool: b text 2',
    ])
    expect(messages[0]!.content[0]).toMatchObject({ providerOptions: { openai: { type: 'custom' } } })
    expect(messages[2]!.content[0]).toMatchObject({ providerOptions: { openai: { item: shell } } })
  })

  it('have custom calls whose text came as a value', () => {
    const { messages } = responses([
      { type: 'custom_tool_call', call_id: 'a', name: 'sql', input: { query: 'select' } },
      { type: 'custom_tool_call', call_id: 'b', name: 'sql' },
    ])
    expect(messages.flatMap(({ content }): readonly object[] => content)).toMatchObject([
      { input: { input: '{"query":"select"}' } },
      { input: { input: '' } },
    ])
  })

  it('have images whose address stands as the chat protocol has it', () => {
    const image = { type: 'input_image', image_url: { url: 'data:image/png;base64,AAAA' } }
    const { messages } = responses([{ type: 'message', role: 'user', content: [image] }])
    expect(messages[0]!.content[0]).toMatchObject({ type: 'image', image: 'AAAA', mediaType: 'image/png' })
  })

  it('have no image where neither an address nor a file is named', () => {
    const content = [{ type: 'input_image' }, { type: 'input_image', file_id: 'file_1' }]
    const { messages } = responses([{ type: 'message', role: 'user', content }])
    expect(messages[0]!.content).toMatchObject([{ type: 'text', text: '' }, { type: 'file' }])
  })

  it('have outputs of parts, and of values', () => {
    const parts = [
      { type: 'input_text', text: 'one' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
    ]
    const { messages } = responses([call('a'), output('a', parts), output('b', { x: 1 })])
    expect(messages.slice(1).map(({ content }) => (content[0] as { output: unknown }).output)).toEqual([
      {
        type: 'content',
        value: [
          { type: 'text', text: 'one' },
          { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
        ],
      },
      { type: 'json', value: { x: 1 } },
    ])
  })

  it('say of developers that they are, and gather what the system says', () => {
    const read = responses({
      model: 'gpt-x',
      instructions: 'A',
      input: [
        { type: 'message', role: 'system', content: 'B' },
        { type: 'message', role: 'developer', content: 'Dev.' },
        { role: 'user', content: 'x' },
        { type: 'message', role: 'system', content: 'C' },
      ],
      tools: [
        { type: 'function', name: 'f', parameters: { type: 'object' } },
        { type: 'custom', name: 'sql', format: { type: 'grammar' } },
        { type: 'web_search' },
      ],
    })
    expect(read.events[0]!.data).toMatchObject({
      model: 'gpt-x',
      system: 'A\n\nB\n\nC',
      tools: [{ name: 'f' }, { name: 'sql' }],
    })
    expect(read.messages[0]).toMatchObject({ role: 'user', providerOptions: { openai: { role: 'developer' } } })
    expect(read.told).toEqual(['turn.system-not-first input[3]'])
    expect(read.loss).toMatchObject([{ kind: 'tool-schema', where: 'tools[2]' }])
  })

  it('that only the server has are told of as lost', () => {
    const read = responses({
      previous_response_id: 'resp_1',
      input: [
        user('x'),
        { type: 'item_reference', id: 'msg_9' },
        said('y', 'msg_1'),
        { type: 'item_reference', id: 'msg_1' },
      ],
    })
    expect(read.told).toEqual(['item.reference input[1]'])
    expect(read.loss.map(({ kind, where }) => `${kind} ${where}`)).toEqual([
      'record previous_response_id',
      'record input[1]',
    ])
  })

  it('of an unknown kind are kept beside the history', () => {
    const read = responses([user('x'), { type: 'hologram', id: 'h' }])
    expect(read.events.map(({ type }) => type)).toContain('import/openai-responses.item')
    expect(read.loss).toMatchObject([{ kind: 'record', where: 'messages[1]' }])
  })
})
