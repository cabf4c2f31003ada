import { defineTool, type Tool, toolOutput } from '@palimpsest/agent-loop'
import { createHost, type Plugin } from '@palimpsest/host'
import { type JsonObject, type JsonValue, Session, type ToolOutput } from '@palimpsest/session'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { call, type Deferred, deferred, never, ofType, seen, setup, tool } from './harness.js'

const around = (handler: Parameters<Parameters<Plugin['setup']>[0]['around']>[1]): Plugin => ({
  name: 'around',
  setup: ctx => void ctx.around('tool/execute', handler as never),
})

/** One turn in which the model makes these calls, then stops. */
async function runCalls(calls: ReturnType<typeof call>[], options: Parameters<typeof setup>[1]) {
  const made = setup([{ toolCalls: calls }, { text: 'done' }], options)
  made.agent.send('go')
  await made.agent.idle()
  const results = ofType(made.session, 'tool/result').map(({ data }) => data)
  return { ...made, results, tools: made.log().filter(line => /^(call|settled|result)/.test(line)) }
}

async function resultOf(run: Tool['execute'], options: Partial<Tool> = {}) {
  const { results, log } = await runCalls([call('t')], { tools: [tool('t', run, options)] })
  expect(log().at(-1)).toBe('} completed')
  return results[0]!
}

describe('a result', () => {
  test.each<[string, unknown, ToolOutput]>([
    ['a string', 'x', { type: 'text', value: 'x' }],
    ['an object', { a: [1, null] }, { type: 'json', value: { a: [1, null] } }],
    ['null', null, { type: 'json', value: null }],
    ['an array', [], { type: 'json', value: [] }],
    ['false', false, { type: 'json', value: false }],
    ['what looks like an output', { type: 'text', value: 'x' }, { type: 'json', value: { type: 'text', value: 'x' } }],
    [
      'an output',
      toolOutput({ type: 'content', value: [{ type: 'media', data: 'AA==', mediaType: 'image/png' }] }),
      { type: 'content', value: [{ type: 'media', data: 'AA==', mediaType: 'image/png' }] },
    ],
    ['a denial of the tool’s own', toolOutput({ type: 'execution-denied' }), { type: 'execution-denied' }],
  ])('%s is passed on', async (_, returned, output) => {
    for (const run of [() => returned, async () => returned]) {
      const data = await resultOf(run)
      expect(data.message.content).toEqual([{ type: 'tool-result', toolCallId: 'call-1', toolName: 't', output }])
      expect(data).not.toHaveProperty('error')
    }
  })

  const cycle: unknown[] = []
  cycle.push(cycle)
  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['undefined inside', { a: undefined }],
    ['a function', () => 1],
    ['a date', new Date(0)],
    ['a bigint', 1n],
    ['NaN', Number.NaN],
    ['-0', -0],
    ['a cycle', cycle],
    ['an output of no known type', toolOutput({ type: 'banana' } as never)],
    ['an output without a value', toolOutput({ type: 'text' } as never)],
    ['an output that is none', toolOutput(7 as never)],
    ['a fault without a code', toolOutput({ type: 'text', value: 'x' }, { message: 'm' } as never)],
  ])('%s is TOOL_RESULT_INVALID', async (_, returned) => {
    const { error, message } = await resultOf(() => returned)
    expect(error?.code).toBe('TOOL_RESULT_INVALID')
    expect(message.content[0]?.output).toEqual({ type: 'error-text', value: error?.message })
  })

  test('may be a fault with a code of the tool’s own', async () => {
    const fault = { code: 'QUOTA_SPENT', message: 'no calls left today' }
    const { error, message } = await resultOf(() =>
      toolOutput({ type: 'error-text', value: 'come back tomorrow' }, fault),
    )
    expect(error).toEqual(fault)
    expect(message.content[0]?.output).toEqual({ type: 'error-text', value: 'come back tomorrow' })
  })

  test('of a tool that throws is TOOL_FAILED, in the words of what it threw', async () => {
    for (const run of [
      () => {
        throw new Error('no such file')
      },
      () => Promise.reject(new Error('no such file')),
      () => Promise.reject('no such file'),
    ]) {
      const { error, message } = await resultOf(run)
      expect(error).toEqual({ code: 'TOOL_FAILED', message: 'no such file' })
      expect(message.content[0]?.output).toEqual({ type: 'error-text', value: 'no such file' })
    }
    expect((await resultOf(() => Promise.reject(Object.create(null)))).error?.code).toBe('TOOL_FAILED')
  })

  test('of a tool past its time is TOOL_TIMED_OUT, whether it stops or not', async () => {
    const stops: Tool['execute'] = (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const answers: Tool['execute'] = (_, { signal }) =>
      new Promise(resolve => signal.addEventListener('abort', () => resolve('late')))
    for (const run of [stops, answers, () => never]) {
      const { results } = await runCalls([call('t')], { cancelGraceMs: 5, tools: [tool('t', run, { timeoutMs: 1 })] })
      expect(results[0]?.error?.code).toBe('TOOL_TIMED_OUT')
    }
  })

  test('in time is not touched by the limit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    expect((await resultOf(() => 'ok', { timeoutMs: 60_000 })).error).toBeUndefined()
    expect(vi.getTimerCount()).toBe(0)
    const started = deferred()
    const run = () => {
      started.resolve()
      return never
    }
    const deaf = tool('t', run, { timeoutMs: 60_000 })
    const { agent } = setup([{ toolCalls: [call('t')] }], { tools: [deaf], cancelGraceMs: 0 })
    agent.send('go')
    await started.promise
    agent.cancel()
    await agent.idle()
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()
    expect((await resultOf(() => Promise.reject(new Error('x')), { timeoutMs: 60_000 })).error?.code).toBe(
      'TOOL_FAILED',
    )
  })
})

describe('a call that never begins', () => {
  test('is answered, cites the message, and has no tool/call', async () => {
    let ran = 0
    const strict = tool('strict', () => ran++, {
      inputSchema: {
        type: 'object',
        properties: { n: { type: 'integer' } },
        required: ['n'],
        additionalProperties: false,
      },
    })
    const { tools, results } = await runCalls(
      [
        call('none', 'unknown'),
        call('constructor', 'prototype'),
        call('strict', 'missing', {}),
        call('strict', 'wrong', { n: '1' }),
        call('strict', 'extra', { n: 1, m: 2 }),
        call('strict', 'torn', '{"n":'),
        call('strict', 'huge', '{"n":1e999}'),
      ],
      { tools: [strict] },
    )
    expect(tools).toEqual([
      'result unknown TOOL_UNKNOWN < assistant/message',
      'result prototype TOOL_UNKNOWN < assistant/message',
      'result missing TOOL_ARGUMENTS_INVALID < assistant/message',
      'result wrong TOOL_ARGUMENTS_INVALID < assistant/message',
      'result extra TOOL_ARGUMENTS_INVALID < assistant/message',
      'result torn TOOL_ARGUMENTS_INVALID < assistant/message',
      'result huge TOOL_ARGUMENTS_INVALID < assistant/message',
    ])
    expect(ran).toBe(0)
    expect(results[0]?.error?.message).toContain('strict')
    expect(results[4]?.error?.message).toContain('(m)')
  })

  test('torn arguments are refused though {} would fit', async () => {
    const { tools } = await runCalls([call('t', 'a', '{"path": "/')], { tools: [tool('t', () => 1)] })
    expect(tools).toEqual(['result a TOOL_ARGUMENTS_INVALID < assistant/message'])
  })

  test('is denied by a handler that throws before next', async () => {
    const host = createHost()
    await host.use(
      around(() => {
        throw new Error('the user said no')
      }),
    )
    let ran = false
    const { tools, results } = await runCalls([call('t', 'a')], { host, tools: [tool('t', () => (ran = true))] })
    expect(tools).toEqual(['result a TOOL_DENIED < assistant/message'])
    expect(results[0]?.error?.message).toBe('the user said no')
    expect(ran).toBe(false)
  })

  test('may be answered by a handler', async () => {
    const host = createHost()
    await host.use(around(async () => 'from the cache'))
    const { tools } = await runCalls([call('t', 'a')], { host, tools: [tool('t', () => never)] })
    expect(tools).toEqual(['result a "from the cache" < assistant/message'])
  })
})

describe('around tool/execute', () => {
  test('sees the call, frozen, and the logged input, which nobody can change', async () => {
    const host = createHost()
    const values: Record<string, unknown>[] = []
    await host.use(
      around(async (value, next) => {
        values.push(value as never)
        expect(Object.isFrozen(value)).toBe(true)
        expect(() => {
          ;(value as unknown as { input: { path: string } }).input.path = '/etc/passwd'
        }).toThrow(TypeError)
        return (next as (value: unknown) => Promise<unknown>)({ ...value, input: { path: '/etc/passwd' } })
      }),
    )
    let input: unknown
    const spied = tool('t', given => {
      input = given
    })
    const { agent, session } = await runCalls([call('t', 'a', { path: 'a.txt' })], { host, tools: [spied] })
    expect(input).toEqual({ path: 'a.txt' })
    expect(values[0]).toMatchObject({
      agent,
      session,
      turn: 1,
      step: 1,
      toolCallId: 'a',
      toolName: 't',
      input: { path: 'a.txt' },
    })
    expect(values[0]?.tool).toBe(spied)
    expect(values[0]?.signal).toBeInstanceOf(AbortSignal)
  })

  test('begins the body once', async () => {
    const host = createHost()
    let ran = 0
    await host.use(
      around(async (_, next) => {
        await next()
        return next() as never
      }),
    )
    const { tools } = await runCalls([call('t', 'a')], { host, tools: [tool('t', () => ++ran)] })
    expect(ran).toBe(1)
    expect(tools).toEqual(['call a', 'result a TOOL_FAILED < tool/call'])
  })

  test('begins no body once it has answered', async () => {
    const host = createHost()
    const late = deferred<() => Promise<unknown>>()
    await host.use(
      around(async (_, next) => {
        late.resolve(next as () => Promise<unknown>)
        return 'cached'
      }),
    )
    let ran = false
    const { session } = await runCalls([call('t', 'a')], { host, tools: [tool('t', () => (ran = true))] })
    const { length } = session
    await expect((await late.promise)()).rejects.toThrow('once and in time')
    expect([session.length, ran]).toEqual([length, false])
  })

  test('may change what came out, also where the tool threw', async () => {
    const host = createHost()
    await host.use(around(async (_, next) => next().catch(error => `mended: ${error.message}`) as never))
    const { tools } = await runCalls([call('t', 'a')], {
      host,
      tools: [tool('t', () => Promise.reject(new Error('x')))],
    })
    expect(tools).toEqual(['call a', 'result a "mended: x" < tool/call'])
  })
})

describe('the order', () => {
  test('exclusive tools: call 1, result 1, call 2, result 2', async () => {
    const { tools } = await runCalls([call('t', 'a'), call('t', 'b')], {
      tools: [tool('t', (_, { toolCallId }) => toolCallId)],
    })
    expect(tools).toEqual(['call a', 'result a "a" < tool/call', 'call b', 'result b "b" < tool/call'])
  })

  const controlled = (maxParallelToolCalls: number, exclusive: string[] = []) => {
    const gates = new Map<string, Deferred<string>>()
    const gateOf = (id: string) => gates.get(id) ?? gates.set(id, deferred<string>()).get(id)!
    const safe = tool('safe', (_, { toolCallId }) => gateOf(toolCallId).promise, { parallelSafe: true })
    const alone = tool('alone', (_, { toolCallId }) => gateOf(toolCallId).promise)
    const ids = ['a', 'b', 'c', 'd']
    const made = setup(
      [{ toolCalls: ids.map(id => call(exclusive.includes(id) ? 'alone' : 'safe', id)) }, { text: 'done' }],
      {
        maxParallelToolCalls,
        tools: [safe, alone],
      },
    )
    made.agent.send('go')
    const begun = (id: string) =>
      seen(made.session, event => event.type === 'tool/call' && event.data.toolCallId === id)
    const safeIn = (id: string) =>
      seen(
        made.session,
        event => (event.type === 'tool/settled' || event.type === 'tool/result') && event.data.toolCallId === id,
      )
    const end = async (id: string) => {
      await begun(id)
      gateOf(id).resolve(id)
      await safeIn(id)
    }
    const tools = () => made.log().filter(line => /^(call|settled|result)/.test(line))
    return { ...made, begun, end, tools }
  }

  test('parallel ones begin together; an early one is settled, results follow in the model’s order', async () => {
    const { agent, begun, end, tools } = controlled(8)
    await begun('d')
    for (const id of ['c', 'b', 'a', 'd']) await end(id)
    await agent.idle()
    expect(tools()).toEqual([
      'call a',
      'call b',
      'call c',
      'call d',
      'settled c',
      'settled b',
      'result a "a" < tool/call',
      'result b "b" < tool/call',
      'result c "c" < tool/call',
      'result d "d" < tool/call',
    ])
  })

  test('a settled result is made durable at once, not when the slower call ends', async () => {
    const gate = deferred<string>()
    const safe = tool('safe', (_, { toolCallId }) => (toolCallId === 'a' ? gate.promise : 'b'), { parallelSafe: true })
    const session = Session.create()
    const flushed = deferred()
    const flush = async () => {
      if (session.events.some(({ type }) => type === 'tool/settled')) flushed.resolve()
    }
    const script = [{ toolCalls: [call('safe', 'a'), call('safe', 'b')] }, { text: 'done' }]
    const { agent } = setup(script, { session, flush, tools: [safe] })
    agent.send('go')
    await flushed.promise
    expect(session.events.some(({ type }) => type === 'tool/result')).toBe(false)
    gate.resolve('a')
    await agent.idle()
  })

  test('no more than maxParallelToolCalls at once', async () => {
    const { agent, end, tools } = controlled(2)
    for (const id of ['b', 'c', 'a', 'd']) await end(id)
    await agent.idle()
    expect(tools()).toEqual([
      'call a',
      'call b',
      'settled b',
      'call c',
      'settled c',
      'call d',
      'result a "a" < tool/call',
      'result b "b" < tool/call',
      'result c "c" < tool/call',
      'result d "d" < tool/call',
    ])
  })

  test('an exclusive one is a barrier', async () => {
    const { agent, end, tools } = controlled(8, ['c'])
    for (const id of ['b', 'a', 'c', 'd']) await end(id)
    await agent.idle()
    expect(tools()).toEqual([
      'call a',
      'call b',
      'settled b',
      'result a "a" < tool/call',
      'result b "b" < tool/call',
      'call c',
      'result c "c" < tool/call',
      'call d',
      'result d "d" < tool/call',
    ])
  })

  test('an early failure is settled with its error; one that never began leaves no record', async () => {
    const gate = deferred<string>()
    const slow = tool('slow', () => gate.promise, { parallelSafe: true })
    const fails = tool('fails', () => Promise.reject(new Error('x')), { parallelSafe: true })
    const strict = tool('strict', () => 1, { parallelSafe: true, inputSchema: { not: {} } })
    const failed = deferred<undefined>()
    const odd = tool('odd', () => failed.promise, { parallelSafe: true })
    const made = setup(
      [{ toolCalls: [call('slow', 'a'), call('fails', 'b'), call('strict', 'c'), call('odd', 'd')] }, {}],
      {
        tools: [slow, fails, strict, odd],
      },
    )
    made.agent.send('go')
    await seen(made.session, event => event.type === 'tool/settled' && event.data.toolCallId === 'b')
    failed.resolve(undefined)
    await seen(made.session, event => event.type === 'tool/settled' && event.data.toolCallId === 'd')
    gate.resolve('ok')
    await made.agent.idle()
    expect(made.log().slice(4, -4)).toEqual([
      'call a',
      'call b',
      'call d',
      'settled b TOOL_FAILED',
      'settled d TOOL_RESULT_INVALID',
      'result a "ok" < tool/call',
      'result b TOOL_FAILED < tool/call',
      'result c TOOL_ARGUMENTS_INVALID < assistant/message',
      'result d TOOL_RESULT_INVALID < tool/call',
      ')',
    ])
  })
})

describe('many at once', () => {
  test('warn of no leak', async () => {
    const warnings: Error[] = []
    const hear = (warning: Error) => warnings.push(warning)
    process.on('warning', hear)
    const gate = deferred<string>()
    const calls = Array.from({ length: 40 }, (_, i) => call('t', `c${i}`))
    const made = setup([{ toolCalls: calls }, {}], {
      maxParallelToolCalls: 40,
      tools: [tool('t', () => gate.promise, { parallelSafe: true })],
    })
    made.agent.send('go')
    await seen(made.session, event => event.type === 'tool/call' && event.data.toolCallId === 'c39')
    gate.resolve('ok')
    await made.agent.idle()
    await new Promise(resolve => setImmediate(resolve))
    process.off('warning', hear)
    expect(warnings).toEqual([])
    expect(made.log().filter(line => line.startsWith('result'))).toHaveLength(40)
  })
})

describe('the write-ahead', () => {
  test('a body starts when its tool/call is durable, and not before', async () => {
    const gates: Deferred<void>[] = []
    let durable = 0
    let lengthAtStart = -1
    const made = setup([{ toolCalls: [call('t', 'a')] }, {}], {
      tools: [
        tool('t', () => {
          lengthAtStart = durable
          return 'ok'
        }),
      ],
      flush: async () => {
        const { length } = made.session
        const gate = deferred()
        gates.push(gate)
        if (gates.length === 2) await gate.promise
        durable = length
      },
    })
    made.agent.send('go')
    const begun = await seen(made.session, event => event.type === 'tool/call')
    await Promise.resolve()
    expect(lengthAtStart).toBe(-1)
    gates[1]!.resolve()
    await made.agent.idle()
    expect(lengthAtStart).toBe(begun.seq + 1)
  })

  test('a flush that fails before a tool: it and the later ones do not run, and the turn ends with error', async () => {
    let ran = 0
    const made = setup([{ toolCalls: [call('t', 'a'), call('t', 'b')] }], {
      tools: [tool('t', () => ++ran)],
      flush: async () => {
        if (made.session.events.some(({ type }) => type === 'tool/call'))
          throw Object.assign(new Error('disk full'), { code: 'WRITE_FAILED' })
      },
    })
    made.agent.send('go')
    await made.agent.idle()
    expect(ran).toBe(0)
    expect(made.log().slice(4)).toEqual([
      'call a',
      'result a ABORTED_BEFORE_DISPATCH < tool/call',
      'result b ABORTED_BEFORE_DISPATCH < assistant/message',
      ')',
      '} error WRITE_FAILED',
    ])
  })

  test('a flush that failed asks no handler about the later calls', async () => {
    const host = createHost()
    const asked: unknown[] = []
    await host.use(
      around((value, next) => {
        asked.push((value as { toolCallId: string }).toolCallId)
        return next() as never
      }),
    )
    const made = setup([{ toolCalls: [call('t', 'a'), call('t', 'b')] }], {
      host,
      tools: [tool('t', () => 1)],
      flush: async () => {
        if (made.session.events.some(({ type }) => type === 'tool/call')) throw new Error('disk full')
      },
    })
    made.agent.send('go')
    await made.agent.idle()
    expect(asked).toEqual(['a'])
  })

  test('a handler cannot pass off as a result what was not made durable', async () => {
    const host = createHost()
    await host.use(around(async (_, next) => next().catch(() => 'all is well') as never))
    const made = setup([{ toolCalls: [call('t', 'a')] }], {
      host,
      tools: [tool('t', () => 1)],
      flush: async () => {
        if (made.session.events.some(({ type }) => type === 'tool/call')) throw new Error('disk full')
      },
    })
    made.agent.send('go')
    await made.agent.idle()
    expect(made.log().slice(5)).toEqual(['result a ABORTED_BEFORE_DISPATCH < tool/call', ')', '} error FLUSH_FAILED'])
  })

  test('in a group the one whose flush failed takes the later ones with it; those that run keep their truth', async () => {
    const gate = deferred<string>()
    let calls = 0
    const made = setup([{ toolCalls: [call('t', 'a'), call('t', 'b'), call('t', 'c')] }], {
      maxParallelToolCalls: 2,
      tools: [tool('t', () => gate.promise, { parallelSafe: true })],
      flush: async () => {
        if (calls++ === 2) throw new Error('disk full')
      },
    })
    made.agent.send('go')
    await seen(made.session, event => event.type === 'tool/call' && event.data.toolCallId === 'b')
    gate.resolve('true')
    await made.agent.idle()
    expect(made.log().filter(line => line.startsWith('result'))).toEqual([
      'result a "true" < tool/call',
      'result b ABORTED_BEFORE_DISPATCH < tool/call',
      'result c ABORTED_BEFORE_DISPATCH < assistant/message',
    ])
    expect(made.log().at(-1)).toBe('} error FLUSH_FAILED')
  })
})

describe('the input', () => {
  const inputOf = async (inputSchema: Tool['inputSchema'], input: unknown) => {
    const given: unknown[] = []
    const { results, session } = await runCalls([call('t', 'a', input)], {
      tools: [tool('t', value => void given.push(value), { inputSchema })],
    })
    return { given, code: results[0]?.error?.code, session }
  }

  test('is a copy of what was logged: a tool that writes to it changes no history', async () => {
    const { session, tools } = await runCalls([call('t', 'a', { list: [1] })], {
      tools: [
        tool('t', input => {
          ;(input as { list: number[] }).list.push(2)
          return 'ok'
        }),
      ],
    })
    expect(tools[1]).toBe('result a "ok" < tool/call')
    expect(ofType(session, 'assistant/message')[0]?.data.message.content[0]).toMatchObject({ input: { list: [1] } })
  })

  test('of a JSON Schema is neither filled in, nor coerced, nor trimmed', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer', default: 7 }, m: { type: 'integer' } } }
    expect((await inputOf(schema, {})).given).toEqual([{}])
    expect((await inputOf(schema, { x: 1 })).given).toEqual([{ x: 1 }])
    expect((await inputOf(schema, { m: '1' })).code).toBe('TOOL_ARGUMENTS_INVALID')
  })

  test('keys of Object.prototype count only where they are the input’s own', async () => {
    const schema = { type: 'object', required: ['constructor'] }
    expect((await inputOf(schema, {})).code).toBe('TOOL_ARGUMENTS_INVALID')
    const { given } = await inputOf(schema, '{"constructor":1,"__proto__":{"a":1}}')
    expect(Object.keys(given[0] as object)).toEqual(['constructor', '__proto__'])
  })

  test('every draft in use is really checked, unknown words and formats do no harm', async () => {
    const tuple07 = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{ type: 'string' }] }
    const tuple2020 = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'array',
      prefixItems: [{ type: 'string' }],
    }
    const tuple2019 = {
      $schema: 'https://json-schema.org/draft/2019-09/schema',
      type: 'array',
      items: [{ type: 'string' }],
    }
    const untold = { type: 'array', items: [{ type: 'string' }], format: 'odd', 'x-word': 1 }
    const old = { $schema: 'http://json-schema.org/draft-04/schema#', type: 'array', items: { type: 'string' } }
    const awaited = { $async: true, type: 'array', items: { type: 'string' } }
    for (const schema of [tuple07, tuple2019, tuple2020, untold, old, awaited]) {
      expect((await inputOf(schema, ['a'])).given).toEqual([['a']])
      expect((await inputOf(schema, [1])).code).toBe('TOOL_ARGUMENTS_INVALID')
    }
  })

  test('two tools may share an $id', async () => {
    const inputSchema = () => ({ $id: 'https://example.org/x', type: 'object' })
    const { tools } = await runCalls([call('a', 'a'), call('b', 'b')], {
      tools: [tool('a', () => 1, { inputSchema: inputSchema() }), tool('b', () => 2, { inputSchema: inputSchema() })],
    })
    expect(tools).toHaveLength(4)
  })

  test('of a Standard Schema is what the schema makes of it; the log keeps the model’s', async () => {
    const schema = z.object({ at: z.string().transform(async text => new Date(text)), n: z.number().default(3) })
    const { given, session } = await inputOf(schema as never, { at: '2020-01-01' })
    expect(given).toEqual([{ at: new Date('2020-01-01'), n: 3 }])
    expect(ofType(session, 'assistant/message')[0]?.data.message.content[0]).toMatchObject({
      input: { at: '2020-01-01' },
    })
    const refused = await inputOf(schema as never, { at: 7 })
    expect(refused.code).toBe('TOOL_ARGUMENTS_INVALID')
  })

  test('a schema that throws refuses', async () => {
    const broken = {
      '~standard': {
        version: 1 as const,
        vendor: 'x',
        validate: () => {
          throw new Error('no')
        },
      },
    }
    expect((await inputOf(broken, {})).code).toBe('TOOL_ARGUMENTS_INVALID')
  })

  test('a schema whose check overflows the stack refuses', async () => {
    const recursive = { $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } }, $ref: '#/$defs/list' }
    const deep = `${'['.repeat(990)}${']'.repeat(990)}`
    expect((await inputOf(recursive, deep)).given).toHaveLength(1)
    const endless = { $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' }
    expect((await inputOf(endless, {})).code).toBe('TOOL_ARGUMENTS_INVALID')
  })

  test('a check that never ends does not hold a cancel', async () => {
    const checking = deferred()
    const slow = {
      '~standard': {
        version: 1 as const,
        vendor: 'x',
        validate: () => {
          checking.resolve()
          return never
        },
      },
    }
    const made = setup([{ toolCalls: [call('t', 'a')] }], { tools: [tool('t', () => 1, { inputSchema: slow })] })
    made.agent.send('go')
    await checking.promise
    made.agent.cancel()
    await made.agent.idle()
    expect(made.log().slice(4)).toEqual(['result a ABORTED_BEFORE_DISPATCH < assistant/message', ')', '} aborted'])
  })

  test('raw arguments are logged as the model wrote them', async () => {
    const raw = '{ "n": 12345678901234567890 }'
    const { session, given } = await inputOf({ type: 'object' }, raw)
    expect(ofType(session, 'tool/call')[0]?.data.arguments).toBe(raw)
    expect(given).toEqual([JSON.parse(raw)])
    expect(ofType((await inputOf({ type: 'object' }, '')).session, 'tool/call')[0]?.data.arguments).toBe('{}')
  })
})

describe('what the model is told of a schema', () => {
  const toldOf = async (options: Partial<Tool>) => {
    const { session } = await runCalls([], { tools: [tool('t', () => 1, options)] })
    return ofType(session, 'request/header')[0]?.data.tools?.[0]?.inputSchema
  }
  const silent = { '~standard': { version: 1 as const, vendor: 'x', validate: (value: unknown) => ({ value }) } }

  test('is what the schema says of itself, what is said for it, or any object', async () => {
    expect(await toldOf({ inputSchema: z.object({ a: z.number() }) as never })).toMatchObject({
      type: 'object',
      properties: { a: { type: 'number' } },
      required: ['a'],
    })
    expect(await toldOf({ inputSchema: z.object({ a: z.number().transform(String) }) as never })).toMatchObject({
      properties: { a: { type: 'number' } },
    })
    expect(await toldOf({ inputSchema: silent })).toEqual({ type: 'object' })
    const said = { type: 'object', properties: { a: {} } }
    expect(await toldOf({ inputSchema: silent, inputJsonSchema: said })).toEqual(said)
  })
})

describe('the context', () => {
  test('names the call and its place', async () => {
    let context: Parameters<Tool['execute']>[1] | undefined
    const { agent, session } = await runCalls([call('t', 'a')], {
      tools: [
        tool('t', (_, given) => {
          context = given
          return 'ok'
        }),
      ],
    })
    expect(context).toMatchObject({ toolCallId: 'a', turn: 1, step: 1 })
    expect(context?.agent).toBe(agent)
    expect(context?.session).toBe(session)
    expect(context?.signal.aborted).toBe(false)
  })
})

describe('defineTool', () => {
  test('fills in the cautious defaults', () => {
    const defined = defineTool({ name: 't', inputSchema: {}, execute: () => 1 })
    expect(defined).toMatchObject({ effect: 'execute', parallelSafe: false })
  })

  test('refuses what is no tool', () => {
    const execute = () => 1
    expect(() => defineTool({ name: 't', inputSchema: { type: 'banana' }, execute })).toThrow(TypeError)
    expect(() => defineTool({ name: '', inputSchema: {}, execute })).toThrow(TypeError)
    expect(() => defineTool({ name: 't', inputSchema: {} } as never)).toThrow(TypeError)
    expect(() => defineTool({ name: 't', execute } as never)).toThrow(TypeError)
  })

  test('types the input as JSON where a JSON Schema says nothing to the compiler', () => {
    const inputSchema = { type: 'object', properties: { a: { type: 'number' } } }
    defineTool({ name: 't', inputSchema, execute: ({ a }) => a satisfies JsonValue | undefined })
    defineTool({ name: 't', inputSchema, execute: input => input satisfies JsonObject })
    // @ts-expect-error a member is any JSON, or not there
    defineTool({ name: 't', inputSchema, execute: ({ a }) => a satisfies number })
    // @ts-expect-error a member is not any
    defineTool({ name: 't', inputSchema, execute: ({ a, b }) => a * b })
    // @ts-expect-error the input is not any
    defineTool({ name: 't', inputSchema, execute: input => input.a.b })
  })

  test('types the input by what the author names', () => {
    interface Input {
      a: number
    }
    const inputSchema = { type: 'object' }
    defineTool<{ a: number }>({ name: 't', inputSchema, execute: ({ a }) => a satisfies number })
    defineTool<Input>({ name: 't', inputSchema, execute: ({ a }, { signal }) => [a satisfies number, signal.aborted] })
    defineTool({ name: 't', inputSchema, execute: ({ a }: { a: number }) => a satisfies number })
    defineTool({ name: 't', inputSchema, execute: ({ a }: Input) => a satisfies number })
    defineTool<Input>({ name: 't', inputSchema: z.object({ a: z.number() }), execute: ({ a }) => a satisfies number })
    // @ts-expect-error the schema gives another type than the one that is named
    defineTool<Input>({ name: 't', inputSchema: z.object({ a: z.string() }), execute: ({ a }) => a })
    // @ts-expect-error there is no b
    defineTool<{ a: number }>({ name: 't', inputSchema, execute: ({ b }) => b })
    const made: Tool = defineTool(defineTool({ name: 't', inputSchema, execute: () => 1 }))
    expect(made.name).toBe('t')
  })

  test('types the input by a Standard Schema', () => {
    defineTool({
      name: 't',
      inputSchema: z.object({ a: z.string().transform(Number) }),
      execute(input) {
        const { a }: { a: number } = input
        // @ts-expect-error the transformed value is a number
        const wrong: string = input.a
        return [a, wrong]
      },
    })
    defineTool({ name: 't', inputSchema: z.object({ a: z.number() }), execute: ({ a }) => a satisfies number })
    // @ts-expect-error there is no b
    defineTool({ name: 't', inputSchema: z.object({ a: z.number() }), execute: ({ b }) => b })
    // @ts-expect-error an effect is one of three
    defineTool({ name: 't', inputSchema: {}, effect: 'none', execute: () => 1 })
  })
})
