import { describe, expect, it } from 'vitest'
import { lines, opened, script } from './opened.js'

const meta = { sessionId: 's-1', projectHash: 'p', startTime: '2026-01-05T09:00:00.000Z', kind: 'main' }

function says(id: string, type: string, content: unknown, more: object = {}): object {
  return { id, timestamp: '2026-01-05T09:00:01.000Z', type, content, ...more }
}

const gemini = (id: string, content: unknown, more: object = {}) =>
  says(id, 'gemini', content, { model: 'gemini-2.5-pro', ...more })

const response = (id: string, response: unknown) => ({ functionResponse: { id, name: 'ls', response } })

function tool(id: string, result: unknown, status = 'success'): object {
  return { id, name: 'ls', args: { p: id }, status, result }
}

const functionCall = (id: string, more: object = {}) => ({ functionCall: { id, name: 'ls', args: {} }, ...more })

describe('a Gemini CLI chat as a document', () => {
  it('has calls and results as one object, told apart', () => {
    const messages = [
      says('1', 'user', 'List it.'),
      gemini('2', '', { toolCalls: [tool('a', [response('a', { output: 'x.txt' })]), tool('b', null, 'cancelled')] }),
      says('3', 'info', 'Request cancelled.'),
      says('4', 'user', [{ text: 'And now?' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }]),
    ]
    const {
      format,
      messages: said,
      events,
      places,
      about,
      held,
    } = opened(JSON.stringify({ ...meta, messages }, null, 2))
    expect(format).toBe('gemini-cli')
    expect(script(said)).toEqual([
      'user: List it.',
      'assistant: a ls {"p":"a"} | b ls {"p":"b"}',
      'tool: a text x.txt',
      'user: And now? | image',
    ])
    expect(said[1]!.providerOptions).toEqual({ palimpsest: { vendor: 'google', model: 'gemini-2.5-pro' } })
    const answer = events.findIndex(({ type }) => type === 'assistant/message')
    expect(places[answer]!.parts).toEqual(['messages[1].toolCalls[0]', 'messages[1].toolCalls[1]'])
    expect(held('import/gemini-cli.info')).toHaveLength(1)
    expect(about).toMatchObject({ id: 's-1', model: 'gemini-2.5-pro', vendor: 'google' })
  })

  it('keeps each signature on its part, thoughts as reasoning, their display as a note', () => {
    const content = [{ text: 'Hm.', thought: true }, functionCall('a', { thoughtSignature: 'sig' }), functionCall('b')]
    const thoughts = [{ subject: 'S', description: 'D' }]
    const { messages, held } = opened(JSON.stringify({ ...meta, messages: [gemini('1', content, { thoughts })] }))
    expect(messages[0]!.content).toMatchObject([
      { type: 'reasoning', text: 'Hm.' },
      { toolCallId: 'a', providerOptions: { google: { thoughtSignature: 'sig' } } },
      { toolCallId: 'b' },
    ])
    expect(messages[0]!.content[2]).not.toHaveProperty('providerOptions')
    expect(held('import/gemini-cli.thoughts')).toEqual([{ thoughts }])
  })

  it('tells a failure from a result, and a value from a text', () => {
    const calls = [
      tool('a', [response('a', { error: 'no such file' })], 'error'),
      tool('b', [response('b', { rows: [1, 2] })]),
      tool('c', 'plain'),
      tool('d', [response('d', { output: 'see' }), { inlineData: { mimeType: 'image/png', data: 'AAAA' } }]),
    ]
    const { messages } = opened(JSON.stringify({ ...meta, messages: [gemini('1', '', { toolCalls: calls })] }))
    expect(script(messages).slice(1)).toEqual([
      'tool: a error-text no such file',
      'tool: b json {"rows":[1,2]}',
      'tool: c text plain',
      'tool: d content [{"type":"text","text":"see"},{"type":"image-data","data":"AAAA","mediaType":"image/png"}]',
    ])
  })

  it('may be one message, or a checkpoint of the history', () => {
    expect(opened(JSON.stringify(gemini('1', 'Hi.'))).format).toBe('gemini-cli')
    const history = [
      { role: 'user', parts: [{ text: 'Go.' }] },
      { role: 'model', parts: [functionCall('a')] },
      { role: 'user', parts: [response('a', { output: 'ok' })] },
    ]
    const { format, messages } = opened(JSON.stringify({ history, authType: 'x' }))
    expect(format).toBe('gemini-cli')
    expect(script(messages)).toEqual(['user: Go.', 'assistant: a ls {}', 'tool: a text ok'])
  })

  it('keeps the digits of arguments that a double would change', () => {
    const message = JSON.stringify(gemini('1', [functionCall('a')])).replace(
      '"args":{}',
      '"args":{"n":9007199254740993}',
    )
    const { messages } = opened(`{"sessionId":"s","projectHash":"p","messages":[${message}]}`)
    expect(messages[0]!.content[0]).toMatchObject({ rawInput: '{"n":9007199254740993}' })
  })
})

describe('a Gemini CLI chat as a log', () => {
  it('counts the result turn that was recorded before the copy beside the call', () => {
    const { findings, messages } = opened(
      lines(
        meta,
        says('1', 'user', [{ text: 'Go.' }]),
        gemini('2', [functionCall('a')], { toolCalls: [tool('a', [response('a', { output: 'copy' })])] }),
        says('3', 'user', [response('a', { output: 'recorded' })]),
      ),
    )
    expect(findings).toEqual([
      { code: 'result.duplicate', severity: 'error', where: 'line 3', id: 'a', kept: 'line 4' },
    ])
    expect(script(messages)).toEqual(['user: Go.', 'assistant: a ls {}', 'tool: a text recorded'])
  })

  it('puts a later state of a message in its place', () => {
    const { messages, held } = opened(
      lines(meta, says('1', 'user', 'Go.'), gemini('2', 'Hal'), says('3', 'user', 'On.'), gemini('2', 'Half done.')),
    )
    expect(script(messages)).toEqual(['user: Go.', 'assistant: Half done.', 'user: On.'])
    expect(held('import/gemini-cli.superseded')).toMatchObject([{ content: 'Hal' }])
  })

  it('lets the prompt after a rewind take the place of what was taken back', () => {
    const { messages, session } = opened(
      lines(
        meta,
        says('1', 'user', 'A.'),
        says('2', 'user', 'B.'),
        gemini('3', 'No.'),
        { $rewindTo: '2' },
        says('4', 'user', 'C.'),
      ),
    )
    expect(script(messages)).toEqual(['user: A.', 'user: C.'])
    expect(session.surface.shadowed(session.surface.last!)).toHaveLength(2)
  })

  it('shows nothing of what was taken back where nothing came after, and all of nothing for an unknown id', () => {
    const start = [meta, says('1', 'user', 'A.'), says('2', 'user', 'B.')]
    expect(script(opened(lines(...start, { $rewindTo: '2' })).messages)).toEqual(['user: A.'])
    const { messages, events } = opened(lines(...start, { $rewindTo: 'x' }))
    expect(messages).toEqual([])
    expect(events.map(({ type }) => type)).toEqual(['import/gemini-cli.rewound', 'import/gemini-cli.rewound'])
  })

  it('takes the list of a checkpoint for the whole one', () => {
    const kept = says('1', 'user', 'A.')
    const set = { $set: { messages: [kept, says('9', 'user', 'Z.')] } }
    const { messages } = opened(lines(meta, kept, says('2', 'user', 'B.'), set, gemini('3', 'Yes.')))
    expect(script(messages)).toEqual(['user: A.', 'user: Z.', 'assistant: Yes.'])
  })

  it('skips a bad line and says so', () => {
    const log = lines(meta, says('1', 'user', 'A.'), '{"id":"2","timesta', says('3', 'user', 'C.'))
    const { told, messages } = opened(log)
    expect(told).toEqual(['file.torn-record line 3'])
    expect(script(messages)).toEqual(['user: A.', 'user: C.'])
  })
})

it('says which results stand behind something else that was said', () => {
  const messages = [
    says('1', 'user', 'List it.'),
    gemini('2', [functionCall('a')]),
    says('3', 'user', [{ text: 'And quick.' }, response('a', { output: 'x' })]),
  ]
  const { findings } = opened(JSON.stringify({ ...meta, messages }))
  expect(findings).toEqual([{ code: 'order.result-not-leading', severity: 'error', where: 'messages[2]', ids: ['a'] }])
})

describe('calls and results without ids', () => {
  const call = (p: number, name = 'ls') => ({ functionCall: { name, args: { p } } })
  const given = (output: string, name = 'ls') => ({ functionResponse: { name, response: { output } } })

  it('pair by name and order, as the API has it', () => {
    const { messages, findings } = opened(
      lines(
        meta,
        gemini('1', [call(1), call(2), call(3, 'cat')]),
        says('2', 'user', [given('c', 'cat'), given('a'), given('b')]),
      ),
    )
    expect(findings).toEqual([])
    expect(script(messages)).toEqual([
      'assistant: call-1 ls {"p":1} | call-2 ls {"p":2} | call-3 cat {"p":3}',
      'tool: call-3 text c',
      'tool: call-1 text a',
      'tool: call-2 text b',
    ])
  })

  it('pair where the program gave an id to the result only', () => {
    const history = [
      { role: 'user', parts: [{ text: 'List it.' }] },
      { role: 'model', parts: [call(1)] },
      { role: 'user', parts: [response('ls-17-ab', { output: 'x.txt' })] },
    ]
    expect(script(opened(JSON.stringify({ history })).messages).slice(1)).toEqual([
      'assistant: call-1 ls {"p":1}',
      'tool: call-1 text x.txt',
    ])
  })

  it('are one with what the program recorded beside them', () => {
    const { messages } = opened(
      lines(
        meta,
        gemini('1', [call(1)], { toolCalls: [{ ...tool('a', [response('a', { output: 'x' })]), name: 'ls' }] }),
      ),
    )
    expect(script(messages)).toEqual(['assistant: a ls {"p":1}', 'tool: a text x'])
  })
})

describe('a chat that says more than is known', () => {
  it('tells of a message of another type, and of parts that the API does not have', () => {
    const { told, loss, messages } = opened(
      lines(meta, says('1', 'thinker', [{ text: 'From later.' }]), gemini('2', [{ text: 'Here.' }, { later: 1 }])),
    )
    expect(told).toEqual(['record.unknown-type line 2'])
    expect(loss.map(({ kind, where }) => [kind, where])).toEqual([
      ['record', 'line 2'],
      ['record', 'line 3'],
    ])
    expect(script(messages)).toEqual(['assistant: Here.'])
  })

  it('is known without its first line', () => {
    expect(opened(lines(says('1', 'user', 'Go.'), gemini('2', [{ text: 'Here.' }])))).toMatchObject({
      format: 'gemini-cli',
      messages: [{ role: 'user' }, { role: 'assistant' }],
    })
  })
})
