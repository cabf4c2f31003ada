import { describe, expect, it } from 'vitest'
import { type Opened, opened, script } from './opened.js'

const user = (...parts: object[]) => ({ role: 'user', parts })
const model = (...parts: object[]) => ({ role: 'model', parts })
const call = (name: string, args: object = {}, id?: string) => ({ functionCall: { ...(id && { id }), name, args } })
const response = (name: string, response: unknown, id?: string) => ({
  functionResponse: { ...(id && { id }), name, response },
})

function gemini(document: unknown): Opened {
  return opened(JSON.stringify(document), { format: 'gemini-contents' })
}

describe('Gemini contents', () => {
  it('are recognised, bare and in a body', () => {
    expect(opened(JSON.stringify([user({ text: 'x' })])).format).toBe('gemini-contents')
    expect(opened(JSON.stringify({ contents: [{ parts: [{ text: 'x' }] }] })).format).toBe('gemini-contents')
  })

  it('have calls and responses with ids', () => {
    const read = gemini([
      user({ text: 'Go.' }),
      model({ text: 'Yes.' }, call('read', { p: 1 }, 'a')),
      user(response('read', { output: 'milk' }, 'a')),
    ])
    expect(script(read.messages)).toEqual(['user: Go.', 'assistant: Yes. | a read {"p":1}', 'tool: a text milk'])
    const place = read.places[read.events.findIndex(({ type }) => type === 'assistant/message')]!
    expect(place.parts).toEqual(['messages[1].parts[0]', 'messages[1].parts[1]'])
  })

  it('pair calls without ids by name and order', () => {
    const read = gemini([
      user({ text: 'x' }),
      model(call('read', { n: 1 }), call('list'), call('read', { n: 2 })),
      user(response('read', { output: '1' }), response('read', { output: '2' }), response('list', { error: 'no' })),
    ])
    expect(script(read.messages).slice(1)).toEqual([
      'assistant: call-1-0 read {"n":1} | call-1-1 list {} | call-1-2 read {"n":2}',
      'tool: call-1-0 text 1',
      'tool: call-1-2 text 2',
      'tool: call-1-1 error-text no',
    ])
    expect(read.messages[1]!.content[0]).toMatchObject({ providerOptions: { google: { withoutId: true } } })
  })

  it('keep thoughts and signatures on their parts', () => {
    const { messages } = gemini([
      model(
        { text: 'Hm.', thought: true },
        { text: '', thoughtSignature: 'c2ln' },
        { ...call('f', {}, 'a'), thought_signature: 'c2ln' },
      ),
    ])
    expect(messages[0]!.content).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: '', providerOptions: { google: { thoughtSignature: 'c2ln' } } },
      expect.objectContaining({ type: 'tool-call', providerOptions: { google: { thoughtSignature: 'c2ln' } } }),
    ])
  })

  it('may have their members in snake case', () => {
    const read = gemini({
      model: 'models/gemini-x',
      system_instruction: { parts: [{ text: 'S' }] },
      tools: [
        {
          function_declarations: [
            { name: 'f', parameters: { type: 'OBJECT', properties: { type: { type: 'STRING' } } } },
          ],
        },
        { google_search: {} },
      ],
      contents: [
        user(
          { inline_data: { mime_type: 'image/png', data: 'AAAA' } },
          { file_data: { mime_type: 'application/pdf', file_uri: 'https://x.test/a' } },
        ),
        model({ function_call: { id: 'a', name: 'f', args: {} } }),
        user({ function_response: { id: 'a', name: 'f', response: { output: '1' } } }),
      ],
    })
    expect(read.about).toMatchObject({ model: 'gemini-x', vendor: 'google' })
    expect(read.events[0]!.data).toMatchObject({
      system: 'S',
      tools: [{ name: 'f', inputSchema: { type: 'object', properties: { type: { type: 'string' } } } }],
    })
    expect(read.messages[0]!.content).toEqual([
      { type: 'image', image: 'AAAA', mediaType: 'image/png' },
      { type: 'file', data: 'https://x.test/a', mediaType: 'application/pdf' },
    ])
    expect(script(read.messages).slice(1)).toEqual(['assistant: a f {}', 'tool: a text 1'])
    expect(read.loss).toMatchObject([{ kind: 'tool-schema', where: 'tools[1].googleSearch' }])
    expect(read.places.at(-1)!.where).toBe('contents[2]')
  })

  it('keep responses that are objects, with their digits and what they show', () => {
    const read = opened(
      '[{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"n":9007199254740993}}},{"functionResponse":{"id":"b","name":"f","response":{"output":"seen"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}}]}]',
    )
    expect(read.messages.map(({ content }) => (content[0] as { output: unknown }).output)).toEqual([
      {
        type: 'json',
        value: { n: 9007199254740992 },
        providerOptions: { palimpsest: { raw: '{"n":9007199254740993}' } },
      },
      {
        type: 'content',
        value: [
          { type: 'text', text: 'seen' },
          { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
        ],
      },
    ])
  })

  it('have responses that do not lead moved to the front', () => {
    const read = gemini([model(call('f', {}, 'a')), user({ text: 'x' }, response('f', { output: '1' }, 'a'))])
    expect(script(read.messages).slice(1)).toEqual(['tool: a text 1', 'user: x'])
    expect(read.findings).toMatchObject([{ code: 'order.result-not-leading', where: 'messages[1]', ids: ['a'] }])
  })

  it('lose what stands on the wrong side, and say so', () => {
    const { loss } = gemini([user(call('f')), model(response('f', {}))])
    expect(loss.map(({ kind, where }) => `${kind} ${where}`)).toEqual([
      'call messages[0].parts[0]',
      'result messages[1].parts[0]',
    ])
  })

  it('keep a part that only the provider reads whole', () => {
    const code = { executableCode: { language: 'PYTHON', code: '1' } }
    expect(gemini([model(code)]).messages[0]!.content).toMatchObject([
      { type: 'tool-call', providerExecuted: true, providerOptions: { google: { part: code } } },
    ])
  })
})

describe('parts of Gemini contents that hold', () => {
  it('a text beside a call are two', () => {
    const read = gemini([user({ text: 'Go.' }), model({ text: 'So.', ...call('read') })])
    expect(script(read.messages)[1]).toMatch(/^assistant: So\. \| \S+ read \{\}$/)
  })

  it('no data are none, whatever they are called', () => {
    const { messages } = gemini([user({ inlineData: null }, { text: 5 }), model({ fileData: null }, { text: {} })])
    for (const part of messages.flatMap(({ content }): readonly object[] => content)) {
      expect(part).toMatchObject({ type: 'text', text: '' })
      expect(part).not.toHaveProperty('providerOptions.google')
    }
  })
})
