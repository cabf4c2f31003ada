import { retry } from '@palimpsest/agent-loop'
import { createHost } from '@palimpsest/host'
import type { Chunk } from '@palimpsest/session'
import { describe, expect, test, vi } from 'vitest'
import { call, deferred, finish, never, ofType, port, seen, setup, text, tool } from './harness.js'

const hangs = () =>
  port(async function* (): AsyncGenerator<Chunk> {
    yield text('shown')
    await never
  })

describe('cancel', () => {
  test('of an idle agent does nothing, and a send that waits for its turn stays', async () => {
    const { agent, log } = setup([{ text: 'ok' }])
    agent.cancel()
    agent.send('go')
    agent.cancel()
    await agent.idle()
    expect(log().at(-1)).toBe('} completed')
  })

  test('at turn/start: nothing was admitted, and the input runs next', async () => {
    const { agent, session, log } = setup([{ text: 'ok' }])
    session.on(event => event.type === 'turn/start' && event.data.turn === 1 && agent.cancel('no'))
    agent.send('go')
    await agent.idle()
    expect(log()).toEqual([
      'turn 1 {',
      '} aborted no',
      'turn 2 {',
      'user go',
      'step 1 (',
      'assistant ok',
      ')',
      '} completed',
    ])
  })

  test('does not wait for a turn/admit handler; its input is told', async () => {
    const host = createHost()
    const entered = deferred()
    await host.use({
      name: 'slow',
      setup: ctx => {
        ctx.around('turn/admit', () => {
          entered.resolve()
          return never
        })
      },
    })
    const { agent, log } = setup([], { host })
    const { admitted } = agent.send('go')
    await entered.promise
    agent.cancel()
    await agent.idle()
    await expect(admitted).rejects.toMatchObject({ code: 'INPUT_NOT_ADMITTED' })
    expect(log()).toEqual(['turn 1 {', '} aborted'])
  })

  test('while the flush before the request hangs: the model is not asked', async () => {
    const { model, requests } = hangs()
    const flushing = deferred()
    const { agent, log } = setup(model, {
      flush: () => {
        flushing.resolve()
        return never
      },
    })
    agent.send('go')
    await flushing.promise
    agent.cancel('stop')
    await agent.idle()
    expect(requests).toEqual([])
    expect(log()).toEqual(['turn 1 {', 'user go', 'step 1 (', ')', '} aborted stop'])
  })

  test('in a model/request handler that never asks', async () => {
    const host = createHost()
    const entered = deferred()
    await host.use({
      name: 'slow',
      setup: ctx => {
        ctx.around('model/request', () => {
          entered.resolve()
          return never
        })
      },
    })
    const { agent, log } = setup([], { host })
    agent.send('go')
    await entered.promise
    agent.cancel()
    await agent.idle()
    expect(log()).toEqual(['turn 1 {', 'user go', 'step 1 (', ')', '} aborted'])
  })

  test('in mid-stream keeps the shown prefix, cites its chunks, and leaves a deaf port behind', async () => {
    const { model } = hangs()
    const { agent, session, log } = setup(model)
    agent.send('go')
    await seen(session, event => event.type === 'assistant/chunk')
    agent.cancel('enough')
    await agent.idle()
    expect(log()).toEqual(['turn 1 {', 'user go', 'step 1 (', 'assistant shown interrupted', ')', '} aborted enough'])
    const [message] = ofType(session, 'assistant/message')
    expect(message).toMatchObject({ data: { interrupted: true, finishReason: 'other' } })
    expect(message?.sourceEventSeqs).toEqual(ofType(session, 'assistant/chunk').map(({ seq }) => seq))
  })

  test('with nothing shown leaves no assistant message', async () => {
    const { model } = port(async function* (): AsyncGenerator<Chunk> {
      yield { type: 'tool-input-delta', toolCallId: 'a', toolName: 'now', text: '{' }
      yield text('')
      await never
    })
    const { agent, session, log } = setup(model)
    agent.send('go')
    await seen(session, event => event.type === 'assistant/chunk' && event.data.chunk.type === 'text-delta')
    agent.cancel()
    await agent.idle()
    expect(log()).toEqual(['turn 1 {', 'user go', 'step 1 (', ')', '} aborted'])
  })

  test('answers the calls that were streamed and cannot start', async () => {
    const { model } = port(async function* (): AsyncGenerator<Chunk> {
      yield { type: 'tool-call', toolCallId: 'a', toolName: 'now', input: '{}' }
      yield { type: 'tool-call', toolCallId: 'p', toolName: 'search', input: '{}', providerExecuted: true }
      await never
    })
    const { agent, session, log } = setup(model, { tools: [tool('now', () => 1)] })
    agent.send('go')
    await seen(
      session,
      event =>
        event.type === 'assistant/chunk' &&
        event.data.chunk.type === 'tool-call' &&
        event.data.chunk.toolCallId === 'p',
    )
    agent.cancel()
    await agent.idle()
    expect(log().slice(3)).toEqual([
      'assistant a+p interrupted',
      'result a ABORTED_BEFORE_DISPATCH < assistant/message',
      ')',
      '} aborted',
    ])
  })

  test('what the port says after it is not logged, and the port hears the signal', async () => {
    const waiting = deferred()
    const stopped = deferred()
    const left = deferred()
    const { model } = port(async function* (_, signal): AsyncGenerator<Chunk> {
      signal.addEventListener('abort', () => stopped.resolve())
      try {
        yield text('shown')
        waiting.resolve()
        await stopped.promise
        yield text('late')
        yield finish
      } finally {
        left.resolve()
      }
    })
    const { agent, session } = setup(model)
    agent.send('go')
    await waiting.promise
    agent.cancel()
    await agent.idle()
    await left.promise
    expect(ofType(session, 'assistant/chunk')).toHaveLength(1)
  })

  test('at the final chunk keeps the whole answer, uninterrupted, and starts no call', async () => {
    const { agent, session, log } = setup([{ toolCalls: [call('now')] }], { tools: [tool('now', () => 1)] })
    session.on(event => event.type === 'assistant/chunk' && event.data.chunk.type === 'finish' && agent.cancel())
    agent.send('go')
    await agent.idle()
    expect(log().slice(3)).toEqual([
      'assistant call-1',
      'result call-1 ABORTED_BEFORE_DISPATCH < assistant/message',
      ')',
      '} aborted',
    ])
    expect(ofType(session, 'assistant/message')[0]?.data.finishReason).toBe('tool-calls')
  })

  test('before the first tool', async () => {
    const { agent, session, log } = setup([{ toolCalls: [call('now'), call('now')] }], {
      tools: [tool('now', () => 1)],
    })
    session.on(event => event.type === 'assistant/message' && agent.cancel())
    agent.send('go')
    await agent.idle()
    expect(log().slice(4)).toEqual([
      'result call-1 ABORTED_BEFORE_DISPATCH < assistant/message',
      'result call-2 ABORTED_BEFORE_DISPATCH < assistant/message',
      ')',
      '} aborted',
    ])
  })

  test('between two tools', async () => {
    const { agent, session, log } = setup([{ toolCalls: [call('now'), call('now')] }], {
      tools: [tool('now', () => 1)],
    })
    session.on(event => event.type === 'tool/result' && agent.cancel())
    agent.send('go')
    await agent.idle()
    expect(log().slice(4)).toEqual([
      'call call-1',
      'result call-1 1 < tool/call',
      'result call-2 ABORTED_BEFORE_DISPATCH < assistant/message',
      ')',
      '} aborted',
    ])
  })

  test('while the flush before a tool hangs: its body does not run', async () => {
    let ran = false
    const gate = deferred()
    const { agent, session, log } = setup([{ toolCalls: [call('now')] }], {
      flush: () => (session.events.some(event => event.type === 'tool/call') ? gate.promise : Promise.resolve()),
      tools: [tool('now', () => (ran = true))],
    })
    agent.send('go')
    await seen(session, event => event.type === 'tool/call')
    agent.cancel()
    await agent.idle()
    gate.resolve()
    await new Promise(resolve => setImmediate(resolve))
    expect(ran).toBe(false)
    expect(log().slice(4)).toEqual([
      'call call-1',
      'result call-1 ABORTED_BEFORE_DISPATCH < tool/call',
      ')',
      '} aborted',
    ])
  })

  const cancelInTool = async (answer: (signal: AbortSignal) => unknown, cancelGraceMs = 1000) => {
    const started = deferred()
    const { agent, log } = setup([{ toolCalls: [call('wait'), call('wait')] }], {
      cancelGraceMs,
      tools: [
        tool('wait', (_, { signal }) => {
          started.resolve()
          return answer(signal)
        }),
      ],
    })
    agent.send('go')
    await started.promise
    agent.cancel()
    await agent.idle()
    expect(log()[4]).toBe('call call-1')
    expect(log().slice(6)).toEqual(['result call-2 ABORTED_BEFORE_DISPATCH < assistant/message', ')', '} aborted'])
    return log()[5]
  }
  const onAbort = (signal: AbortSignal) =>
    new Promise<DOMException>(resolve => signal.addEventListener('abort', () => resolve(signal.reason)))

  test('in a tool that stops is TOOL_ABORTED', async () => {
    const stops = (signal: AbortSignal) => onAbort(signal).then(reason => Promise.reject(reason))
    expect(await cancelInTool(stops)).toBe('result call-1 TOOL_ABORTED < tool/call')
  })

  test('in a tool that finishes in its grace keeps the true result', async () => {
    const finishes = (signal: AbortSignal) => onAbort(signal).then(({ name }) => name)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    expect(await cancelInTool(finishes)).toBe('result call-1 "AbortError" < tool/call')
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()
  })

  test('does not reach the signal of a tool that had ended', async () => {
    const signals: AbortSignal[] = []
    const { agent, session } = setup([{ toolCalls: [call('now')] }, { text: 'ok' }], {
      tools: [tool('now', (_, { signal }) => signals.push(signal))],
    })
    session.on(event => event.type === 'step/start' && event.data.step === 2 && agent.cancel())
    agent.send('go')
    await agent.idle()
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  })

  test('in a tool that does not stop is TOOL_OUTCOME_UNKNOWN after the grace', async () => {
    for (const graceMs of [0, 5]) {
      expect(await cancelInTool(() => never, graceMs)).toBe('result call-1 TOOL_OUTCOME_UNKNOWN < tool/call')
    }
  })

  test('does not wait for a tool/execute handler, and what it does later begins nothing', async () => {
    const host = createHost()
    const entered = deferred()
    const gate = deferred()
    const late = deferred<unknown>()
    let ran = false
    await host.use({
      name: 'asks',
      setup: ctx => {
        ctx.around('tool/execute', async (_, next) => {
          entered.resolve()
          await gate.promise
          return next().catch(error => {
            late.resolve(error)
            throw error
          })
        })
      },
    })
    const { agent, session, log } = setup([{ toolCalls: [call('now')] }], {
      host,
      tools: [tool('now', () => (ran = true))],
    })
    agent.send('go')
    await entered.promise
    agent.cancel()
    await agent.idle()
    expect(log().slice(4)).toEqual(['result call-1 ABORTED_BEFORE_DISPATCH < assistant/message', ')', '} aborted'])
    const { length } = session
    gate.resolve()
    expect(await late.promise).toBeInstanceOf(Error)
    expect(session.length).toBe(length)
    expect(ran).toBe(false)
  })

  test('in a parallel group: each member has its own truth, in the model’s order', async () => {
    const started = [deferred(), deferred(), deferred()]
    const run = (index: number, answer: (signal: AbortSignal) => unknown) =>
      tool(
        `t${index}`,
        (_, { signal }) => {
          started[index]!.resolve()
          return answer(signal)
        },
        { parallelSafe: true },
      )
    const { agent, log } = setup(
      [{ toolCalls: [call('t0', 'a'), call('t1', 'b'), call('t2', 'c'), call('t2', 'd')] }],
      {
        cancelGraceMs: 5,
        maxParallelToolCalls: 3,
        tools: [
          run(0, () => never),
          run(1, signal => onAbort(signal).then(() => Promise.reject(new Error('stopped')))),
          run(2, signal => onAbort(signal).then(() => 'true')),
        ],
      },
    )
    agent.send('go')
    await Promise.all(started.map(({ promise }) => promise))
    agent.cancel()
    await agent.idle()
    expect(log().filter(line => line.startsWith('result'))).toEqual([
      'result a TOOL_OUTCOME_UNKNOWN < tool/call',
      'result b TOOL_ABORTED < tool/call',
      'result c "true" < tool/call',
      'result d ABORTED_BEFORE_DISPATCH < assistant/message',
    ])
  })

  test('in the back-off between attempts leaves nothing of the failed one', async () => {
    const host = createHost()
    const sleeping = deferred()
    const waits = (): Promise<void> => {
      sleeping.resolve()
      return never
    }
    await host.use(retry({ sleep: waits }))
    const failing = { text: 'half', error: { code: 'OVERLOADED', message: 'busy', retryable: true } }
    const { agent, session, log } = setup([failing, { text: 'ok' }], { host })
    agent.send('go')
    await sleeping.promise
    agent.cancel()
    await agent.idle()
    expect(log()).toEqual(['turn 1 {', 'user go', 'step 1 (', ')', '} aborted'])
    expect(ofType(session, 'assistant/chunk')).toHaveLength(2)
  })

  test('ends the running turn only: what was sent and steered meanwhile runs next', async () => {
    const { model } = port(async function* (_request, _signal, n): AsyncGenerator<Chunk> {
      yield text(`answer ${n}`)
      if (n === 0) await never
      yield finish
    })
    const { agent, session, log } = setup(model)
    agent.send('go')
    await seen(session, event => event.type === 'assistant/chunk')
    agent.send('next')
    agent.steer('really')
    agent.cancel()
    await agent.idle()
    expect(log().slice(5)).toEqual([
      '} aborted',
      'turn 2 {',
      'user next',
      'user really',
      'step 1 (',
      'assistant answer 1',
      ')',
      '} completed',
    ])
  })

  test('after the last step still counts, and twice is once', async () => {
    const { agent, session, log } = setup([{ text: 'ok' }])
    session.on(event => {
      if (event.type !== 'step/end') return
      agent.cancel('first')
      agent.cancel('second')
    })
    agent.send('go')
    await agent.idle()
    expect(log().at(-1)).toBe('} aborted first')
  })

  test('at step/start takes no steering: it runs next', async () => {
    const { agent, session, log } = setup([{ text: 'ok' }])
    session.on(event => {
      if (event.type !== 'step/start' || event.data.turn > 1) return
      agent.steer('wait')
      agent.cancel()
    })
    agent.send('go')
    await agent.idle()
    expect(log().slice(2, 7)).toEqual(['step 1 (', ')', '} aborted', 'turn 2 {', 'user wait'])
  })

  test('answers every later call alike, also one of a tool that there is not', async () => {
    const { agent, session, log } = setup([{ toolCalls: [call('now'), call('none')] }], {
      tools: [tool('now', () => 1)],
    })
    session.on(event => event.type === 'tool/result' && agent.cancel())
    agent.send('go')
    await agent.idle()
    expect(log()[6]).toBe('result call-2 ABORTED_BEFORE_DISPATCH < assistant/message')
  })

  test('at whatever moment: nothing is asked, begun or logged as a chunk after it, and the turn closes', async () => {
    const ends = new Set<string>()
    for (let moment = 0; moment < 160; moment++) {
      const after: string[] = []
      let isCancelled = false
      const note = (what: string) => isCancelled && after.push(what)
      const { model } = port(async function* (_request, _signal, n): AsyncGenerator<Chunk> {
        note('asked')
        yield text('a')
        yield { type: 'tool-call', toolCallId: `x${n}`, toolName: 'safe', input: '{}' }
        yield { type: 'tool-call', toolCallId: `y${n}`, toolName: 'safe', input: '{}' }
        yield finish
      })
      const host = createHost()
      await host.use({
        name: 'watch',
        setup(ctx) {
          ctx.on('model/request', () => void note('request'))
          ctx.around('tool/execute', (_, next) => next())
        },
      })
      const safe = tool('safe', async () => String(note('begun')), { parallelSafe: true })
      const { agent, session, log } = setup(model, { host, tools: [safe], maxSteps: 2, cancelGraceMs: 0 })
      session.on(({ type }) => ['assistant/chunk', 'tool/call', 'step/start'].includes(type) && note(type))
      agent.send('go')
      for (let i = 0; i < moment; i++) await Promise.resolve()
      agent.cancel()
      isCancelled = session.length > 0
      await agent.idle()
      expect(after, `cancelled after ${moment} microtasks`).toEqual([])
      const asked = log().flatMap(line => /^assistant.*/.exec(line)?.[0].match(/[xy]\d/g) ?? [])
      const answered = log().flatMap(line => /^result (\S+)/.exec(line)?.[1] ?? [])
      expect(answered).toEqual(asked)
      ends.add(log().at(-1)!)
    }
    expect(ends).toEqual(new Set(['} aborted', '} max-steps']))
  })

  test('at turn/end comes too late', async () => {
    const { agent, session, log } = setup([{ text: 'ok' }])
    session.on(event => event.type === 'turn/end' && agent.cancel())
    agent.send('go')
    await agent.idle()
    expect(log().at(-1)).toBe('} completed')
  })
})
