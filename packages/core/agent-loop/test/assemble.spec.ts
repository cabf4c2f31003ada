import { assemble, parseArguments } from '@palimpsest/agent-loop'
import { type Chunk, Session } from '@palimpsest/session'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { finish, text } from './harness.js'

const reasoning = (value: string, id = 't', providerOptions?: object): Chunk =>
  ({ type: 'reasoning-delta', id, text: value, ...(providerOptions ? { providerOptions } : {}) }) as Chunk
const toolCall = (toolCallId: string, input = '{}', more: object = {}): Chunk =>
  ({ type: 'tool-call', toolCallId, toolName: 'n', input, ...more }) as Chunk
const contentOf = (...chunks: Chunk[]) => assemble(chunks).content

describe('parts', () => {
  test('are made by kind and id, and stand in the order in which they began', () => {
    expect(
      contentOf(reasoning('a'), text('1'), reasoning('b'), text('2', 'u'), toolCall('c'), text('3'), finish),
    ).toEqual([
      { type: 'reasoning', text: 'ab' },
      { type: 'text', text: '13' },
      { type: 'text', text: '2' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'n', input: {} },
    ])
  })

  test('that stay empty are left out, unless they have providerOptions', () => {
    expect(contentOf(text(''), reasoning('', 'a'), reasoning('', 'b', { p: { sealed: 'x' } }))).toEqual([
      { type: 'reasoning', text: '', providerOptions: { p: { sealed: 'x' } } },
    ])
  })

  test('merge later providerOptions over earlier ones', () => {
    expect(
      contentOf(
        reasoning('a', 't', { p: { x: 1, y: 1 }, q: { z: 1 } }),
        reasoning('b'),
        reasoning('', 't', { p: { y: 2, signature: 's' }, r: {} }),
      ),
    ).toEqual([
      { type: 'reasoning', text: 'ab', providerOptions: { p: { x: 1, y: 2, signature: 's' }, q: { z: 1 }, r: {} } },
    ])
  })

  test('keep a provider that is called like a member of Object.prototype', () => {
    const one = JSON.parse('{"__proto__":{"a":1},"constructor":{"b":1}}')
    const two = JSON.parse('{"__proto__":{"c":1}}')
    const [part] = contentOf(reasoning('', 't', one), reasoning('', 't', two))
    expect(JSON.stringify(part?.providerOptions)).toBe('{"__proto__":{"a":1,"c":1},"constructor":{"b":1}}')
  })

  test('come from files and from the provider’s own tools too; input deltas are for the viewer', () => {
    const providerOptions = { p: { a: 1 } }
    expect(
      contentOf(
        { type: 'file', mediaType: 'image/png', data: 'AA==', providerOptions },
        { type: 'tool-input-delta', toolCallId: 'c', toolName: 'n', text: '{}' },
        toolCall('c', '{}', { providerExecuted: true, providerOptions }),
        { type: 'tool-result', toolCallId: 'c', toolName: 'n', output: { type: 'text', value: 'x' }, providerOptions },
      ),
    ).toEqual([
      { type: 'file', mediaType: 'image/png', data: 'AA==', providerOptions },
      { type: 'tool-call', toolCallId: 'c', toolName: 'n', input: {}, providerExecuted: true, providerOptions },
      { type: 'tool-result', toolCallId: 'c', toolName: 'n', output: { type: 'text', value: 'x' }, providerOptions },
    ])
  })

  test('of a message, whose own options come with the end', () => {
    const providerOptions = { p: { id: 'm' } }
    expect(assemble([text('x'), { type: 'finish', finishReason: 'stop', providerOptions }])).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'x' }],
      providerOptions,
    })
  })
})

describe('call ids', () => {
  test('that come twice are made unique', () => {
    const ids = contentOf(...['a', 'a-2', 'a', 'a', 'b'].map(id => toolCall(id))).map(
      part => 'toolCallId' in part && part.toolCallId,
    )
    expect(ids).toEqual(['a', 'a-2', 'a-3', 'a-4', 'b'])
  })

  test('of a provider’s result follow the youngest call of that id', () => {
    const result: Chunk = { type: 'tool-result', toolCallId: 'a', toolName: 'n', output: { type: 'text', value: 'x' } }
    const ids = contentOf(toolCall('a'), toolCall('a'), result).map(part => 'toolCallId' in part && part.toolCallId)
    expect(ids).toEqual(['a', 'a-2', 'a-2'])
  })
})

describe('arguments', () => {
  test.each<[string, unknown, boolean]>([
    ['{}', {}, false],
    ['', {}, false],
    ['{"a":1}', { a: 1 }, false],
    ['{"a": 1}', { a: 1 }, true],
    [' {}', {}, true],
    ['{"n":12345678901234567890}', { n: 12345678901234567000 }, true],
    ['{"n":1.0}', { n: 1 }, true],
    ['{"n":-0}', { n: 0 }, true],
    ['[-0,{"a":[-0.0]}]', [0, { a: [0] }], true],
    ['{"a":1,"a":2}', { a: 2 }, true],
    ['"x"', 'x', false],
    ['null', null, false],
    ['{"n":1e999}', {}, true],
    ['{"n":[-1e999]}', {}, true],
    ['{"a":', {}, true],
    ['no', {}, true],
    [' ', {}, true],
  ])('%s', (raw, input, keepsRaw) => {
    const parsed = parseArguments(raw)
    expect(parsed.input).toEqual(input)
    expect(parsed.rawInput).toBe(keepsRaw ? raw : undefined)
    expect(JSON.stringify(parsed.input)).not.toContain('-0')
  })

  test('say what is wrong only where they must not run', () => {
    expect(parseArguments('{"a": 1}').problem).toBeUndefined()
    for (const raw of ['{', '1e999', `${'['.repeat(2000)}${']'.repeat(2000)}`])
      expect(parseArguments(raw).problem).toBeTruthy()
  })

  test('keep own keys called like members of Object.prototype, with -0 in them too', () => {
    const { input } = parseArguments('{"__proto__":-0,"constructor":{"__proto__":1}}')
    expect(JSON.stringify(input)).toBe('{"__proto__":0,"constructor":{"__proto__":1}}')
  })

  test('may nest as deep as the kernel admits in a message, and no deeper', () => {
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
    const admit = (raw: string) => {
      const message = assemble([toolCall('a', raw)])
      Session.create().append(
        'assistant/message',
        { turn: 1, step: 1, message, finishReason: 'stop' },
        { surfaceOp: 'append' },
      )
      return message.content[0]
    }
    expect(admit(nested(996))).not.toHaveProperty('rawInput')
    expect(admit(nested(997))).toMatchObject({ input: {}, rawInput: nested(997) })
    expect(admit(nested(100_000))).toMatchObject({ input: {} })
  })

  test('give a message that the kernel admits, whatever JSON a model writes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), raw => {
        const message = assemble([toolCall('a', raw)])
        const session = Session.create()
        session.append(
          'assistant/message',
          { turn: 1, step: 1, message, finishReason: 'stop' },
          { surfaceOp: 'append' },
        )
        const part = message.content[0] as { input: unknown; rawInput?: string }
        if (raw !== '' && part.rawInput === undefined) expect(JSON.stringify(part.input)).toBe(raw)
        if (part.rawInput !== undefined) expect(part.rawInput).toBe(raw)
      }),
    )
  })
})
