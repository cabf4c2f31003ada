import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { aiSdkModel, rawFetch } from '@palimpsest/model-ai-sdk'
import type { Message, ModelPort } from '@palimpsest/session'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { argumentSites } from '../src/argument-sites.js'
import { spliceRawTexts } from '../src/splice-raw-texts.js'
import { type Answer, anthropic, ask, collect, events, Loopback, messageOf, openAi, user } from './loopback.js'

let server: Loopback
beforeEach(async () => {
  server = await Loopback.start()
})
afterEach(() => server.stop())

interface Kit {
  name: string
  port(fetch?: typeof globalThis.fetch): ModelPort
  calls(...raws: string[]): Answer
  text: Answer
  /** How the body must read where a call's arguments stand. */
  written(raw: string): string
}

const kits: Kit[] = [
  {
    name: 'openai-compatible',
    port: fetch =>
      aiSdkModel(createOpenAICompatible({ name: 'x', baseURL: server.url, ...(fetch ? { fetch } : {}) })('m')),
    calls: (...raws) =>
      events(
        ...openAi.calls(...raws.map((raw, n) => ({ id: `call_${n}`, name: 'look', arguments: raw }))),
        openAi.delta({}, 'tool_calls'),
      ),
    text: events(openAi.delta({ content: 'ok' }, 'stop')),
    written: raw => `"arguments":${JSON.stringify(raw)}`,
  },
  {
    name: 'anthropic',
    port: fetch =>
      aiSdkModel(
        createAnthropic({ baseURL: server.url, apiKey: 'k', ...(fetch ? { fetch } : {}) })('claude-sonnet-4-5'),
      ),
    calls: (...raws) =>
      events(
        anthropic.start(),
        ...raws.flatMap((raw, n) => anthropic.call(n, `call_${n}`, 'look', raw)),
        ...anthropic.stop('tool_use'),
      ),
    text: events(anthropic.start(), ...anthropic.text(0, 'ok'), ...anthropic.stop('end_turn')),
    written: raw => `"input":${raw}`,
  },
]

const RAWS = [
  '{"n": 9007199254740993}',
  '{ "a" :\n\t1.50,  "b":[ ] }',
  '{"a":1e2,"b":-0,"c":0.1000}',
  '{"s":"\\u00e9\\/ \\ud83d\\ude00"}',
  '{"a":1,"a":2}',
  '{"10":1,"9":2}',
  ' {} ',
]

async function ended(port: ModelPort, messages: Message[]): Promise<string> {
  const chunks = await collect(port, ask(messages))
  expect(chunks.at(-1)).toMatchObject({ type: 'finish' })
  return server.seen.at(-1)?.body ?? ''
}

function withResults(message: Message): Message[] {
  const calls = message.role === 'assistant' ? message.content.filter(part => part.type === 'tool-call') : []
  const content = calls.map(({ toolCallId, toolName }) => ({
    type: 'tool-result' as const,
    toolCallId,
    toolName,
    output: { type: 'text' as const, value: 'seen' },
  }))
  return [user('hello'), message, { role: 'tool', content }]
}

describe.each(kits)('through $name', kit => {
  test('what the model wrote goes back digit for digit', async () => {
    server.answers.push(kit.calls(...RAWS), kit.text)
    const port = kit.port(rawFetch())
    const answer = await collect(port)
    expect(answer.filter(chunk => chunk.type === 'tool-call').map(chunk => chunk.input)).toEqual(RAWS)
    const body = await ended(port, withResults(messageOf(answer)))
    for (const raw of RAWS) expect(body).toContain(kit.written(raw))
  })

  test('without rawFetch the same values go out, written anew', async () => {
    server.answers.push(kit.calls(...RAWS), kit.text)
    const body = await ended(kit.port(), withResults(messageOf(await collect(kit.port()))))
    for (const raw of RAWS) expect(body).toContain(kit.written(JSON.stringify(JSON.parse(raw))))
  })

  test('raw text that is no JSON goes out as an empty object', async () => {
    server.answers.push(kit.calls('{"path": "/tm'), kit.text)
    const port = kit.port(rawFetch())
    const body = await ended(port, withResults(messageOf(await collect(port))))
    expect(body).toContain(kit.written('{}'))
    expect(body).not.toContain('/tm')
  })

  test('an input that was changed since is left as it is', async () => {
    server.answers.push(kit.text)
    const call = {
      type: 'tool-call',
      toolCallId: 'c',
      toolName: 'look',
      input: { key: '***' },
      rawInput: '{"key": "secret"}',
    }
    const message = { role: 'assistant', content: [call] } as Message
    const body = await ended(kit.port(rawFetch()), withResults(message))
    expect(body).toContain(kit.written('{"key":"***"}'))
    expect(body).not.toContain('secret')
  })

  test('an id that comes back in a later answer finds its own text', async () => {
    server.answers.push(kit.text)
    const turn = (rawInput: string) =>
      withResults({
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'look', input: JSON.parse(rawInput), rawInput }],
      })
    const body = await ended(kit.port(rawFetch()), [...turn('{"a": 1}'), ...turn('{"a":1 }'), ...turn('{ "a":1}')])
    const at = ['{"a": 1}', '{"a":1 }', '{ "a":1}'].map(raw => body.indexOf(kit.written(raw)))
    expect(at).toEqual([...at].sort((a, b) => a - b))
    expect(at).not.toContain(-1)
  })

  test('concurrent requests through one provider keep their own texts', async () => {
    const shared = kit.port(rawFetch())
    const raws = Array.from({ length: 12 }, (_, n) => `{"n":${' '.repeat(n + 1)}9007199254740993}`)
    const bodies = new Map<string, string>()
    for (const _ of raws) {
      server.answers.push((response, seen) => {
        bodies.set(/who-\d+/.exec(seen.body)?.[0] ?? '', seen.body)
        kit.text(response, seen)
      })
    }
    await Promise.all(
      raws.map((rawInput, n) => {
        const call = {
          type: 'tool-call' as const,
          toolCallId: 'same',
          toolName: 'look',
          input: JSON.parse(rawInput),
          rawInput,
        }
        const [, ...rest] = withResults({ role: 'assistant', content: [call] })
        return collect(shared, ask([user(`who-${n}.`), ...rest]))
      }),
    )
    raws.forEach((raw, n) => {
      expect(bodies.get(`who-${n}`)).toContain(kit.written(raw))
    })
  })
})

test('rawFetch outside a request passes everything through', async () => {
  server.answers.push((response, seen) => response.end(seen.body))
  const body = '{"id":"c","input":{"n":9007199254740992}}'
  const response = await rawFetch()(server.url, { method: 'POST', body })
  expect(await response.text()).toBe(body)
})

describe('splicing', () => {
  const call = { id: 'c', input: { n: 1 }, raw: '{"n": 1}' }

  test.each([
    ['an OpenAI call', '{"tool_calls":[{"id":"c","function":{"arguments":"{\\"n\\":1}"}}]}', '"{\\"n\\": 1}"'],
    ['the id after the value', '{"function":{"arguments":"{\\"n\\":1}"},"id":"c"}', '"{\\"n\\": 1}"'],
    ['a Responses item', '{"input":[{"call_id":"c","arguments":"{\\"n\\":1}"}]}', '"{\\"n\\": 1}"'],
    ['an Anthropic block', '{"content":[{"id":"c","input":{"n":1}}]}', '{"n": 1}'],
    ['a Bedrock block', '{"content":[{"toolUse":{"toolUseId":"c","input":{"n":1}}}]}', '{"n": 1}'],
    ['a body with white space', '{ "id" : "c" ,\n "input" : {"n" : 1} }', '{"n": 1}'],
  ])('finds %s', (_, body, written) => {
    const spliced = spliceRawTexts(body, [call])
    expect(spliced).not.toBe(body)
    expect(spliced).toContain(written)
    expect(JSON.parse(spliced.replace('\\"n\\": 1', '\\"n\\":1'))).toEqual(JSON.parse(body))
  })

  test.each([
    ['another id', '{"id":"d","input":{"n":1}}'],
    ['another value', '{"id":"c","input":{"n":2}}'],
    ['a result that echoes the input', '{"tool_use_id":"c","content":"{\\"n\\":1}"}'],
    ['an id two levels up', '{"id":"c","x":{"y":{"input":{"n":1}}}}'],
    ['a text that only looks so', '{"id":"c","text":"{\\"input\\":{\\"n\\":1}}"}'],
    ['no JSON', 'id=c&input={"n":1}'],
  ])('leaves %s alone', (_, body) => {
    expect(spliceRawTexts(body, [call])).toBe(body)
  })

  test('never reaches into the arguments of a call', () => {
    const outer = { id: 'o', input: { id: 'c', input: { n: 1 } } }
    const body = JSON.stringify({ content: [outer, { id: 'c', input: { n: 1 } }] })
    expect(spliceRawTexts(body, [outer, call])).toBe(
      '{"content":[{"id":"o","input":{"id":"c","input":{"n":1}}},{"id":"c","input":{"n": 1}}]}',
    )
  })

  test.each([
    ['under the same id', '{"id":"c","input":{"arguments":{"n":1}}}'],
    ['with the id after them', '{"input":{"arguments":{"n":1}},"id":"c"}'],
    ['with the same id again', '{"id":"c","input":{"id":"c","input":{"n":1}}}'],
    ['an object further out', '{"toolUse":{"input":{"id":"c","args":{"n":1}}},"id":"c"}'],
    ['in an array', '{"id":"c","input":[{"id":"c","input":{"n":1}}]}'],
  ])('never reaches into arguments that were changed, %s', (_, body) => {
    expect(spliceRawTexts(body, [call])).toBe(body)
  })

  test('a text that is no JSON keeps its place among the calls of one id', () => {
    const body = JSON.stringify([1, 2].map(() => ({ id: 'c', input: {} })))
    const cut = { id: 'c', input: {}, raw: '{"n":' }
    expect(spliceRawTexts(body, [cut, { id: 'c', input: {}, raw: '{ }' }])).toBe(
      '[{"id":"c","input":{}},{"id":"c","input":{ }}]',
    )
  })

  test('writes a lone surrogate so that UTF-8 can carry it', () => {
    const raw = '{"s": "\ud800 😀"}'
    const spliced = spliceRawTexts(JSON.stringify({ id: 'c', input: JSON.parse(raw) }), [{ id: 'c', input: {}, raw }])
    expect(spliced).toBe('{"id":"c","input":{"s": "\\ud800 😀"}}')
    expect(JSON.parse(new TextDecoder().decode(new TextEncoder().encode(spliced))).input).toEqual(JSON.parse(raw))
  })

  /** Values whose members are named as those of calls are, with the id of one. */
  const callLike = (id: string) => {
    const name = fc.constantFrom('arguments', 'input', 'args', 'id', 'call_id', 'function', 'n')
    return fc.letrec(tie => ({
      value: fc.oneof({ maxDepth: 4 }, fc.constantFrom<unknown>(id, false, 1, '{"n":1}'), tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 2 }),
      object: fc.dictionary(name, tie('value'), { maxKeys: 3 }),
    })).value
  }

  /** The input of the one call of a body is found, whole and alone, and written as the model wrote it. */
  function isSplicedAlone(noise: unknown, input: unknown, indent: number): void {
    const id = 'kör"per'
    const raw = ` ${JSON.stringify(input, null, indent + 1)}\n`
    const body = JSON.stringify({ noise, calls: [{ id, input }] }, null, indent)
    const [site, ...more] = argumentSites(body, text => text === id)
    expect(more).toEqual([])
    expect(JSON.parse(body.slice(site?.start, site?.end))).toEqual(input)
    const spliced = spliceRawTexts(body, [{ id, input, raw }])
    expect(JSON.parse(spliced)).toEqual(JSON.parse(body))
    expect(spliced).toContain(raw)
  }

  const anyJson = fc.json({ noUnicodeString: false }).map(text => JSON.parse(text) as unknown)

  test('any body keeps its meaning, and any site says where its value stands', () => {
    fc.assert(fc.property(anyJson, fc.oneof(anyJson, callLike('kör"per')), fc.nat(3), isSplicedAlone), {
      numRuns: 300,
      examples: [[{}, { arguments: false }, 0]],
    })
  })

  test('any number of calls whose inputs hold calls themselves are each written once, in order', () => {
    const call = fc.record({ id: fc.constantFrom('a', 'b'), input: fc.oneof(callLike('a'), callLike('b')) })
    /** Each a call of its own; one that `quotes` has the call behind it in its input. */
    const calls = fc
      .array(fc.tuple(call, fc.boolean()), { maxLength: 4 })
      .map(list =>
        list.map(([{ id, input }, quotes], n) => ({ id, input: quotes ? { quoted: list[n + 1]?.[0] ?? id } : input })),
      )
    fc.assert(
      fc.property(calls, fc.boolean(), (list, asText) => {
        const sent = list.map(({ id, input }, n) => ({ id, input, raw: ` ${JSON.stringify(input)}${' '.repeat(n)}` }))
        const written = (text = '') => (asText ? JSON.stringify(text) : text)
        const bodyOf = (texts: string[]) =>
          `{"calls":[${list.map(({ id }, n) => `{"id":"${id}","input":${written(texts[n])}}`).join()}]}`
        const body = bodyOf(list.map(({ input }) => JSON.stringify(input)))
        expect(spliceRawTexts(body, sent)).toBe(bodyOf(sent.map(({ raw }) => raw)))
      }),
      { numRuns: 300 },
    )
  })
})
