import type { Target } from '@palimpsest/provider-rules'
import type { ToolOutput } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { PNG } from './hostile.js'
import { assistant, call, found, healed, pair, reasoning, result, user } from './says.js'

describe('blank and empty texts', () => {
  it.each<[Target, string[]]>([
    ['anthropic', ['content.blank 1.0']],
    ['openai-chat', ['content.blank 1.0']],
    ['deepseek', ['content.blank 1.0']],
    ['openai-responses', []],
    ['gemini', []],
  ])('white space is sent where it may be, %s', (target, codes) => {
    const { request, changes } = healed(target, [user('go'), assistant(' \n'), user('and?')])
    expect(found({ changes })).toEqual(codes)
    expect(request.messages).toHaveLength(codes.length > 0 ? 2 : 3)
  })

  it('keeps white space inside a longer text', () => {
    const messages = [user('go'), assistant('\n  indented\n'), user('and?')]
    expect(healed('anthropic', messages).request.messages).toEqual(messages)
  })

  it('keeps the one white text beside the calls of a chat message', () => {
    const messages = [user('go'), assistant('\n\n', call('a')), result('a'), user('and?')]
    const { request, changes } = healed('openai-chat', messages)
    expect(request.messages).toEqual(messages)
    expect(found({ changes })).toEqual([])
  })

  it('says which block is empty', () => {
    const { request, changes } = healed('anthropic', [user('go', ''), assistant('', call('a')), result('a'), user('x')])
    expect(found({ changes })).toEqual([
      'content.empty 0.1 {"has":"an empty text"}',
      'content.empty 1.0 {"has":"an empty text"}',
    ])
    expect(request.messages).toEqual([user('go'), ...pair('a'), user('x')])
  })

  it('leaves a message of reasoning only out', () => {
    const { request, changes } = healed('openai-chat', [user('go'), assistant(reasoning('hm'), ''), user('and?')])
    expect(found({ changes })).toEqual(['content.empty 1 {"has":"reasoning only"}'])
    expect(request.messages).toEqual([user('go'), user('and?')])
  })

  it('leaves out a last answer that is nothing but signed thinking', () => {
    const thought = reasoning('hm', { anthropic: { signature: 'c2ln' } })
    const { request, changes } = healed('anthropic', [user('go'), assistant(thought)])
    expect(found({ changes })).toEqual(['content.empty 1 {"has":"reasoning only"}'])
    expect(request.messages).toEqual([user('go')])
  })

  it('sends no blank system text', () => {
    expect(healed('gemini', [user('go')], { system: ' ' }).request.system).toBeUndefined()
    expect(healed('gemini', [user('go')], { system: 'Be brief.' }).request.system).toBe('Be brief.')
  })

  it('has something to send whatever is left', () => {
    const { request } = healed('openai-responses', [assistant()])
    expect(request.messages).toMatchObject([{ role: 'user' }])
  })
})

it('an empty text that only carries a signature of Gemini is no damage elsewhere', () => {
  const signed = { type: 'text' as const, text: '', providerOptions: { google: { thoughtSignature: 'c2ln' } } }
  const { request, changes, loss } = healed('anthropic', [user('go'), assistant('A.', signed), user('x')])
  expect(changes).toEqual([])
  expect(loss).toEqual([{ kind: 'reasoning', count: 1, reason: 'signed by another model' }])
  expect(request.messages[1]!.content).toHaveLength(1)
})

describe('results', () => {
  const of = (target: Target, output: ToolOutput, options = {}) => {
    const { request, changes } = healed(target, [user('go'), assistant(call('a')), result('a', output), user('x')], {
      options,
    })
    const [part] = request.messages[2]!.content as { output: ToolOutput }[]
    return { output: part!.output, codes: found({ changes }) }
  }

  it('gives an empty one a stand-in, where the target refuses it', () => {
    const empty = { type: 'text', value: '' } as const
    expect(of('anthropic', empty)).toEqual({
      output: { type: 'text', value: '(no output)' },
      codes: ['content.empty 2.0 {"has":"nothing"}'],
    })
    expect(of('openai-responses', empty)).toEqual({ output: empty, codes: [] })
  })

  it('keeps a failed one failed', () => {
    expect(of('openai-chat', { type: 'error-text', value: ' ' }).output).toEqual({
      type: 'error-text',
      value: '(no output)',
    })
  })

  it('sends values as their JSON text, nothing as a text that says so', () => {
    const value: ToolOutput = { type: 'json', value: { a: [1] } }
    expect(of('anthropic', value)).toEqual({
      output: { type: 'text', value: '{"a":[1]}' },
      codes: ['value.non-string-result 2.0'],
    })
    expect(of('openai-chat', { type: 'json', value: null }).output).toEqual({ type: 'text', value: '(no output)' })
    expect(of('openai-chat', { type: 'content', value: [] }).codes).toEqual(['value.non-string-result 2.0'])
    expect(of('anthropic', value, { structuredResults: true }).codes).toEqual([])
    expect(of('gemini', value)).toEqual({ output: value, codes: [] })
  })

  it('sends text parts as their text, where only text is taken', () => {
    const parts = {
      type: 'content',
      value: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
    } as ToolOutput
    expect(of('openai-chat', parts)).toEqual({ output: { type: 'text', value: 'one\ntwo' }, codes: [] })
    expect(of('anthropic', parts)).toEqual({ output: parts, codes: [] })
  })

  it('takes empty texts out of mixed ones', () => {
    const image = { type: 'image-data', data: PNG, mediaType: 'image/png' } as const
    const { output } = of('anthropic', { type: 'content', value: [{ type: 'text', text: '' }, image] })
    expect(output).toEqual({ type: 'content', value: [image] })
  })
})

describe('arguments', () => {
  const of = (more: Parameters<typeof call>[1]) => {
    const { request, changes } = healed('openai-chat', [user('go'), ...pair('a', more), user('x')])
    const [part] = request.messages[1]!.content as { input: unknown; rawInput?: string }[]
    return { input: part!.input, rawInput: part!.rawInput, codes: found({ changes }, { all: true }) }
  }

  it('that are a JSON object go out in the very text', () => {
    const rawInput = '{"b": 1.0, "a": 9007199254740993}'
    expect(of({ input: { b: 1, a: 9007199254740992 }, rawInput })).toMatchObject({ rawInput, codes: [] })
  })

  it('that are none go out as an object that holds the text', () => {
    const { input, rawInput, codes } = of({ rawInput: '{"text":"half a sen' })
    expect(codes).toEqual(['args.invalid-json 1.0'])
    expect([input, rawInput]).toEqual([{ unparsed: '{"text":"half a sen' }, undefined])
    expect(of({ input: [1] as never }).input).toEqual({ unparsed: '[1]' })
  })

  it('that are empty are an empty object', () => {
    expect(of({ rawInput: '' })).toEqual({ input: {}, rawInput: undefined, codes: ['args.empty 1.0'] })
  })
})

describe('strings', () => {
  it('hold no half of a surrogate pair, in texts, keys, arguments and ids', () => {
    const input = { 'k\ud83d': ['v\udc00', '😀'] }
    const { request, changes } = healed('openai-chat', [
      user('a\ud83d b\udc00', '😀'),
      ...pair('x\ud83d', { input }),
      user('x'),
    ])
    expect(request.messages).toEqual([
      user('a\ufffd b\ufffd', '😀'),
      ...pair('x\ufffd', { input: { 'k\ufffd': ['v\ufffd', '😀'] } }).map(message =>
        message.role === 'tool' ? result('x\ufffd', 'of x\ufffd') : message,
      ),
      user('x'),
    ])
    expect(found({ changes })[0]).toBe('text.lone-surrogate 0.0 {"count":2}')
  })

  it('nor as an escape in the text of arguments; pairs and escaped backslashes stay', () => {
    const rawInput = '{"a":"\\ud83d","b":"\\ud83d\\ude00","c":"\\\\ud83d", "n":1.0}'
    const { request } = healed('anthropic', [user('go'), ...pair('a', { rawInput }), user('x')])
    const [part] = request.messages[1]!.content as { rawInput: string }[]
    expect(part!.rawInput).toBe('{"a":"\\ufffd","b":"\\ud83d\\ude00","c":"\\\\ud83d", "n":1.0}')
  })

  it('keep U+0000', () => {
    const messages = [user('a \u0000 b')]
    expect(healed('openai-chat', messages).request.messages).toEqual(messages)
  })

  it('keep keys that only look special', () => {
    const input = JSON.parse('{"__proto__":{"a":"\\ud83d"},"constructor":1}')
    const { request } = healed('openai-chat', [user('go'), ...pair('a', { input }), user('x')])
    const [part] = request.messages[1]!.content as { input: object }[]
    expect(JSON.stringify(part!.input)).toBe('{"__proto__":{"a":"\ufffd"},"constructor":1}')
  })
})

describe('turns', () => {
  const begun = [...pair('a'), user('and?')]

  it.each<[Target, string[]]>([
    ['anthropic', ['turn.starts-with-call 0']],
    ['gemini', ['turn.starts-with-call 0']],
    ['openai-chat', []],
    ['openai-responses', []],
    ['deepseek', []],
  ])('a history that begins with a call gets a lead where it needs one, %s', (target, codes) => {
    const { request, changes, origins } = healed(target, begun)
    expect(found({ changes })).toEqual(codes)
    expect(origins[0]).toBe(codes.length > 0 ? -1 : 0)
    expect(request.messages.slice(codes.length)).toEqual(begun)
  })

  it.each<[Target, boolean]>([
    ['anthropic', true],
    ['deepseek', true],
    ['openai-chat', false],
    ['openai-responses', false],
    ['gemini', false],
  ])('one that ends with the answer is told to go on where it needs it, %s', (target, goesOn) => {
    const { request, changes } = healed(target, [user('go'), assistant('Done.')])
    expect(found({ changes }, { all: true })).toEqual(goesOn ? ['turn.ends-with-assistant 1'] : [])
    expect(request.messages.at(-1)!.role).toBe(goesOn ? 'user' : 'assistant')
  })

  it('tells of neighbours that go out as one', () => {
    const messages = [user('go'), user('on'), assistant('Yes.'), user('x')]
    expect(found(healed('anthropic', messages), { all: true })).toEqual(['turn.same-role 1'])
    expect(found(healed('openai-chat', messages), { all: true })).toEqual([])
  })
})

describe('tools', () => {
  const tools = [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } }]
  const messages = [user('go'), ...pair('a'), user('x')]

  it('go out as they were recorded, or with a schema that permits anything', () => {
    expect(healed('openai-chat', messages, { tools })).toMatchObject({ request: { tools }, loss: [] })
    const { request, loss } = healed('openai-chat', messages)
    expect(request.tools).toEqual([{ name: 'look', inputSchema: { type: 'object' } }])
    expect(loss).toEqual([{ kind: 'tool-schema', count: 1, reason: 'not recorded' }])
  })

  it('are declared and switched off in a request for a summary', () => {
    const { request } = healed('anthropic', messages, { options: { purpose: 'summary' } })
    expect(request).toMatchObject({ tools: [{ name: 'look' }], toolChoice: 'none' })
    expect(healed('anthropic', [user('go')], { options: { purpose: 'summary' } }).request).not.toHaveProperty(
      'toolChoice',
    )
    expect(healed('anthropic', messages).request).not.toHaveProperty('toolChoice')
  })

  it.each(['openai-chat', 'openai-responses', 'gemini', 'deepseek'] as const)(
    'are not offered in a request to %s for a summary, which tells of calls in words',
    target => {
      const { request, loss } = healed(target, messages, { tools, options: { purpose: 'summary' } })
      expect(request).toMatchObject({ tools: [] })
      expect(request).not.toHaveProperty('toolChoice')
      expect(request.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
      expect(JSON.stringify(request.messages[1])).toContain('[Call of look: {}]')
      expect(JSON.stringify(request.messages[1])).toContain('Its result: ')
      expect(loss).toContainEqual({ kind: 'tool-schema', count: 1, reason: 'a request for a summary offers no tools' })
    },
  )

  it('have names that the target takes, the same at call, result and declaration', () => {
    const named = [user('go'), ...pair('a', { toolName: 'mcp.look' }), user('x')]
    const { request } = healed('openai-chat', named, { tools: [{ ...tools[0]!, name: 'mcp.look' }] })
    const [name] = request.tools.map(tool => tool.name)
    expect(name).toMatch(/^mcp_look_[0-9a-f]{16}$/)
    expect(request.messages[1]).toMatchObject({ content: [{ toolName: name }] })
    expect(request.messages[2]).toMatchObject({ content: [{ toolName: name }] })
    expect(healed('gemini', named).request.tools[0]!.name).toBe('mcp.look')
  })

  it('are at most as many as the target takes, the called ones first', () => {
    const many = Array.from({ length: 130 }, (_, i) => ({ name: `t${i}`, inputSchema: { type: 'object' } }))
    const { request, loss } = healed('openai-chat', messages, { tools: [...many, ...tools] })
    expect(request.tools).toHaveLength(128)
    expect(request.tools[0]!.name).toBe('look')
    expect(loss).toEqual([{ kind: 'tool-schema', count: 3, reason: 'more than 128 tools' }])
    expect(healed('anthropic', messages, { tools: [...many, ...tools] }).request.tools).toHaveLength(131)
  })
})
