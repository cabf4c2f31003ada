import { retry } from '@palimpsest/agent-loop'
import { createHost } from '@palimpsest/host'
import type { Chunk, ModelRequest } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { call, deferred, finish, never, ofType, port, setup, text, tool, transcript } from './harness.js'

const answers = () =>
  port(async function* (): AsyncGenerator<Chunk> {
    yield text('ok')
    yield finish
  })

describe('the request', () => {
  test('is the log’s own: requestAt of its prefix, frozen, the same object for listeners and the port', async () => {
    const host = createHost()
    const heard: { request: ModelRequest; length: number }[] = []
    await host.use({
      name: 'listens',
      setup: ctx => {
        ctx.on('model/request', (request, { length }) => {
          heard.push({ request, length })
        })
      },
    })
    const { model, requests } = answers()
    const { agent, session } = setup(model, { host, system: 'be kind', settings: { temperature: 0 } })
    agent.send('go')
    await agent.idle()
    agent.send('on')
    await agent.idle()
    expect(requests).toHaveLength(2)
    for (const [i, { request, length }] of heard.entries()) {
      expect(request).toBe(requests[i])
      expect(request).toEqual(session.requestAt(length))
      expect(Object.isFrozen(request) && Object.isFrozen(request.messages)).toBe(true)
    }
    expect(requests[0]).toEqual({
      model: 'port',
      settings: { temperature: 0 },
      system: 'be kind',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }],
    })
    expect(requests[1]?.messages).toHaveLength(3)
  })

  test('names the tools as they were when they were given', async () => {
    const { model, requests } = answers()
    const inputSchema = { type: 'object', properties: {} }
    const { agent } = setup(model, { tools: [{ name: 'plain', description: 'd', inputSchema, execute: () => 1 }] })
    inputSchema.type = 'string'
    agent.send('go')
    await agent.idle()
    expect(requests[0]?.tools).toEqual([
      { name: 'plain', description: 'd', inputSchema: { type: 'object', properties: {} } },
    ])
  })
})

describe('the request header', () => {
  test('is logged once, by a later agent too, and again where something differs', async () => {
    const { model } = answers()
    const first = setup(model, { system: 'a' })
    first.agent.send('1')
    await first.agent.idle()
    first.agent.send('2')
    await first.agent.idle()
    await first.agent.dispose()
    const { session } = first
    expect(ofType(session, 'request/header')).toHaveLength(1)
    const same = setup(model, { session, system: 'a' })
    same.agent.send('3')
    await same.agent.idle()
    await same.agent.dispose()
    expect(ofType(session, 'request/header')).toHaveLength(1)
    const other = setup(model, { session, system: 'b' })
    other.agent.send('4')
    await other.agent.idle()
    expect(ofType(session, 'request/header').map(({ data }) => data.system)).toEqual(['a', 'b'])
  })

  test('changes by configure from the next step on', async () => {
    const { agent, session } = setup([{ toolCalls: [call('now')] }, { text: 'a' }, { text: 'b' }], {
      tools: [tool('now', () => agent.configure({ system: 'new', tools: [] }))],
    })
    agent.send('1')
    await agent.idle()
    expect(ofType(session, 'request/header').map(({ data }) => [data.system, data.tools?.length])).toEqual([
      [undefined, 1],
      ['new', undefined],
    ])
    agent.configure({ system: '', settings: { topP: 1 } })
    agent.send('2')
    await agent.idle()
    expect(ofType(session, 'request/header').at(-1)?.data).toEqual({ model: 'scripted', settings: { topP: 1 } })
  })

  test('a configure that is refused changes nothing', async () => {
    const { agent, session } = setup([{ text: 'a' }], { system: 'kept' })
    expect(() => agent.configure({ system: 'lost', settings: { x: undefined } as never })).toThrow()
    agent.send('1')
    await agent.idle()
    expect(ofType(session, 'request/header').map(({ data }) => data.system)).toEqual(['kept'])
  })

  test('configure changes the model', async () => {
    const { model } = answers()
    const { agent, session } = setup([], {})
    agent.configure({ model })
    agent.send('1')
    await agent.idle()
    expect(ofType(session, 'request/header')[0]?.data.model).toBe('port')
    expect(transcript(session.events)).toContain('assistant ok')
  })
})

describe('a failure is data', () => {
  const failureOf = async (stream: () => unknown) => {
    const { model } = port(stream as never)
    const { agent, session, log } = setup(model)
    agent.send('go')
    await agent.idle()
    expect(log().slice(0, 4)).toEqual(['turn 1 {', 'user go', 'step 1 (', ')'])
    const { reason } = ofType(session, 'turn/end')[0]!.data
    return { reason, session }
  }
  const endingWith = (chunk: unknown) =>
    failureOf(async function* () {
      yield text('half')
      yield chunk
    })

  test.each([
    ['a stream that just ends', async function* () {}, 'MODEL_STREAM_TRUNCATED'],
    [
      'a stream that ends after some text',
      async function* () {
        yield text('half')
      },
      'MODEL_STREAM_TRUNCATED',
    ],
    [
      'stream() that throws',
      () => {
        throw new Error('no')
      },
      'MODEL_PORT_THREW',
    ],
    ['stream() that gives nothing', () => undefined, 'MODEL_PORT_THREW'],
    [
      'a generator that throws',
      async function* () {
        yield text('half')
        throw new Error('no')
      },
      'MODEL_PORT_THREW',
    ],
    [
      'an iterator that gives nonsense',
      () => ({ [Symbol.asyncIterator]: () => ({ next: () => undefined }) }),
      'MODEL_PORT_THREW',
    ],
  ])('%s', async (_, stream, code) => {
    const { reason } = await failureOf(stream)
    expect(reason).toMatchObject({ kind: 'error', error: { code } })
  })

  test.each([
    ['no object', 7],
    ['null', null],
    ['an array', []],
    ['no type', {}],
    ['an unknown type', { type: 'banana' }],
    ['a type of Object.prototype', { type: 'constructor' }],
    ['a member missing', { type: 'text-delta', text: 'x' }],
    ['a member of another type', { type: 'text-delta', id: 't', text: 7 }],
    ['undefined inside', { type: 'text-delta', id: 't', text: 'x', providerOptions: undefined, more: undefined }],
    ['a date inside', { type: 'text-delta', id: 't', text: 'x', providerOptions: { p: { at: new Date(0) } } }],
    ['options that are none', { type: 'text-delta', id: 't', text: 'x', providerOptions: { p: 1 } }],
    ['an unknown finish reason', { type: 'finish', finishReason: 'bored' }],
    ['an error without code', { type: 'error', error: { message: 'x', retryable: false } }],
    [
      'a getter that throws',
      {
        get type() {
          throw new Error('no')
        },
      },
    ],
  ])('a chunk with %s is MODEL_CHUNK_INVALID and is not logged', async (_, chunk) => {
    const { reason, session } = await endingWith(chunk)
    expect(reason).toMatchObject({ kind: 'error', error: { code: 'MODEL_CHUNK_INVALID' } })
    expect(ofType(session, 'assistant/chunk')).toHaveLength(1)
    expect(session.surface.size).toBe(1)
  })

  test('an error chunk is logged as it came, and its code ends the turn', async () => {
    const error = { code: 'RATE_LIMITED', message: 'slow down', retryable: true, status: 429, retryAfterMs: 10 }
    const { reason, session } = await endingWith({ type: 'error', error })
    expect(reason).toEqual({ kind: 'error', error: { code: 'RATE_LIMITED', message: 'slow down' } })
    expect(ofType(session, 'assistant/chunk').at(-1)?.data.chunk).toEqual({ type: 'error', error })
    expect(session.surface.size).toBe(1)
  })

  test('what comes after a final chunk is not logged', async () => {
    const { model } = port(async function* (): AsyncGenerator<Chunk> {
      yield text('ok')
      yield finish
      yield text('more')
    })
    const { agent, session } = setup(model)
    agent.send('go')
    await agent.idle()
    expect(ofType(session, 'assistant/chunk')).toHaveLength(2)
  })

  test('the session stays usable', async () => {
    const { agent, log } = setup([{ error: { code: 'DOWN', message: 'x' } }, { text: 'ok' }])
    agent.send('1')
    await agent.idle()
    agent.send('2')
    await agent.idle()
    expect(log()).toEqual([
      'turn 1 {',
      'user 1',
      'step 1 (',
      ')',
      '} error DOWN',
      'turn 2 {',
      'user 2',
      'step 1 (',
      'assistant ok',
      ')',
      '} completed',
    ])
  })

  test('a port that is left early hears the signal; one that finished does not', async () => {
    const signals: AbortSignal[] = []
    const { model } = port(async function* (_, signal, n): AsyncGenerator<Chunk> {
      signals.push(signal)
      if (n === 0) {
        yield { type: 'banana' } as never
        await never
      }
      yield finish
    })
    const { agent } = setup(model)
    agent.send('1')
    await agent.idle()
    agent.send('2')
    await agent.idle()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
  })
})

describe('the flush before a request', () => {
  test('comes after what the request is made of and before the model is asked', async () => {
    const order: string[] = []
    const { model } = port(async function* (): AsyncGenerator<Chunk> {
      order.push('asked')
      yield finish
    })
    const { agent, session } = setup(model, {
      flush: async () => {
        order.push(`flush ${session.length}`)
        await Promise.resolve()
        order.push('durable')
      },
    })
    agent.send('go')
    await agent.idle()
    expect(order).toEqual(['flush 4', 'durable', 'asked'])
  })

  test('that fails: the model is not asked, the turn ends with the store’s code', async () => {
    for (const [failure, code] of [
      [Object.assign(new Error('disk full'), { code: 'WRITE_FAILED' }), 'WRITE_FAILED'],
      [new Error('odd'), 'FLUSH_FAILED'],
    ] as const) {
      const { model, requests } = answers()
      const { agent, log } = setup(model, { flush: () => Promise.reject(failure) })
      agent.send('go')
      await agent.idle()
      expect(requests).toEqual([])
      expect(log().slice(3)).toEqual([')', `} error ${code}`])
    }
  })

  test('is the open session’s own', async () => {
    let flushed = 0
    const { session } = setup([])
    const open = {
      session,
      count: () => ++flushed,
      async flush() {
        this.count()
      },
    }
    const { agent } = setup([{ text: 'ok' }], { session: open })
    agent.send('go')
    await agent.idle()
    expect(flushed).toBe(1)
  })
})

describe('retry', () => {
  const busy = (retryAfterMs?: number): { chunks: Chunk[] } => ({
    chunks: [
      text('half'),
      {
        type: 'error',
        error: { code: 'BUSY', message: 'x', retryable: true, ...(retryAfterMs ? { retryAfterMs } : {}) },
      },
    ],
  })
  const run = async (script: Parameters<typeof setup>[0], options: Parameters<typeof retry>[0] = {}) => {
    const host = createHost()
    const slept: number[] = []
    await host.use(
      retry({
        baseDelayMs: 100,
        sleep: async ms => {
          slept.push(ms)
        },
        ...options,
      }),
    )
    const { agent, session, log } = setup(script, { host })
    agent.send('go')
    await agent.idle()
    return { session, log: log(), slept }
  }

  test('asks again with back-off; the message cites the attempt that counted', async () => {
    const { session, log, slept } = await run([busy(), busy(700), { text: 'ok' }])
    expect(log).toEqual(['turn 1 {', 'user go', 'step 1 (', 'assistant ok', ')', '} completed'])
    expect(slept).toEqual([100, 700])
    const chunks = ofType(session, 'assistant/chunk').map(({ seq }) => seq)
    expect(chunks).toHaveLength(6)
    expect(ofType(session, 'assistant/message')[0]?.sourceEventSeqs).toEqual(chunks.slice(4))
  })

  test('gives up after its attempts, at what is not retryable, and where it is told to wait too long', async () => {
    expect((await run([busy(), busy(), busy()], { attempts: 2 })).log.at(-1)).toBe('} error BUSY')
    const fatal = await run([{ error: { code: 'BAD_KEY', message: 'x' } }])
    expect(fatal.log.at(-1)).toBe('} error BAD_KEY')
    const long = await run([busy(61_000)])
    expect([long.log.at(-1), long.slept]).toEqual(['} error BUSY', []])
  })

  test('doubles up to its longest wait', async () => {
    const { slept } = await run([busy(), busy(), busy(), busy()], { attempts: 4, maxDelayMs: 250 })
    expect(slept).toEqual([100, 200, 250])
  })

  test('waits by the clock where nothing else is given', async () => {
    const { log } = await run([busy(), { text: 'ok' }], { baseDelayMs: 1, sleep: undefined as never })
    expect(log.at(-1)).toBe('} completed')
  })
})

describe('around model/request', () => {
  const withHandler = async (
    handler: Parameters<Parameters<Parameters<ReturnType<typeof createHost>['use']>[0]['setup']>[0]['around']>[1],
    script: Parameters<typeof setup>[0] = [{ text: 'ok' }, { text: 'second' }],
  ) => {
    const host = createHost()
    await host.use({ name: 'h', setup: ctx => void ctx.around('model/request', handler as never) })
    const made = setup(script, { host })
    made.agent.send('go')
    await made.agent.idle()
    return made
  }

  test('a handler that throws ends the turn with error, with its own code where it has one', async () => {
    const odd = await withHandler(async () => {
      throw new Error('no')
    })
    expect(odd.log().at(-1)).toBe('} error HANDLER_FAILED')
    const coded = await withHandler(async () => {
      throw Object.assign(new Error('no'), { code: 'BUDGET_SPENT' })
    })
    expect(coded.log().slice(3)).toEqual([')', '} error BUDGET_SPENT'])
  })

  test('an attempt sees what was appended before it', async () => {
    const { model, requests } = answers()
    await withHandler(async (value, next) => {
      await (next as () => Promise<unknown>)()
      const { session } = value as { session: ReturnType<typeof setup>['session'] }
      const [first] = session.surface.seqs()
      const message = { role: 'user' as const, content: [{ type: 'text' as const, text: 'short' }] }
      session.append(
        'user/message',
        { message },
        { surfaceOp: { op: 'replace', start: first!, end: first! }, sourceEventSeqs: [first!] },
      )
      return next() as never
    }, model)
    expect(requests.map(({ messages }) => messages)).toMatchObject([
      [{ content: [{ text: 'go' }] }],
      [{ content: [{ text: 'short' }] }],
    ])
  })

  test('the message is made from what the handler returns, and cites its seqs only', async () => {
    const { session, log } = await withHandler(async (_, next) => {
      const first = await (next as () => Promise<object>)()
      await next()
      return first as never
    })
    expect(log()[3]).toBe('assistant ok')
    expect(ofType(session, 'assistant/message')[0]?.sourceEventSeqs).toEqual([4, 5])
  })

  test('an answer of the handler’s own cites nothing', async () => {
    const { session, log } = await withHandler(
      async () => ({ chunks: [text('cached')], seqs: [], finishReason: 'stop' }) as never,
    )
    expect(log()[3]).toBe('assistant cached')
    expect(ofType(session, 'assistant/message')[0]).not.toHaveProperty('sourceEventSeqs')
  })

  test('next after the step is over asks nobody', async () => {
    const late = deferred<() => Promise<unknown>>()
    const { session } = await withHandler(async (_, next) => {
      late.resolve(next as () => Promise<unknown>)
      return next() as never
    })
    const { length } = session
    await expect((await late.promise)()).rejects.toThrow()
    expect(session.length).toBe(length)
  })

  test('an attempt that is still running when the handler answers logs no more', async () => {
    const gate = deferred()
    const { model } = port(async function* (_request, _signal, n): AsyncGenerator<Chunk> {
      yield text(`answer ${n}`)
      if (n === 0) await gate.promise
      yield finish
    })
    const { session, log } = await withHandler(async (_, next) => {
      const slow = (next as () => Promise<unknown>)()
      slow.catch(() => {})
      return next() as never
    }, model)
    expect(log()[3]).toBe('assistant answer 1')
    const { length } = session
    gate.resolve()
    await gate.promise
    await Promise.resolve()
    expect(session.length).toBe(length)
  })
})
