import { AgentError, createAgent } from '@palimpsest/agent-loop'
import { Session, type SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { call, deferred, finish, ofType, port, seen, setup, text, tool } from './harness.js'

describe('a turn', () => {
  test('is one request where the model asks for nothing', async () => {
    const { agent, log } = setup([{ text: 'hello' }])
    agent.send('hi')
    expect(agent.status).toBe('running')
    await agent.idle()
    expect(agent.status).toBe('idle')
    expect(log()).toEqual(['turn 1 {', 'user hi', 'step 1 (', 'assistant hello', ')', '} completed'])
  })

  test('goes on while the model asks for tools', async () => {
    const { agent, log } = setup([{ toolCalls: [call('now')] }, { text: 'noon' }], { tools: [tool('now', () => '12')] })
    agent.send('time?')
    await agent.idle()
    expect(log()).toEqual([
      'turn 1 {',
      'user time?',
      'step 1 (',
      'assistant call-1',
      'call call-1',
      'result call-1 "12" < tool/call',
      ')',
      'step 2 (',
      'assistant noon',
      ')',
      '} completed',
    ])
  })

  test('logs every event of one step in its place, the header before the chunks', async () => {
    const { agent, session } = setup([{ text: 'hello', usage: { inputTokens: 3 } }], { system: 'be kind' })
    agent.send('hi')
    await agent.idle()
    expect(session.events.map(({ type }) => type)).toEqual([
      'turn/start',
      'user/message',
      'step/start',
      'request/header',
      'assistant/chunk',
      'assistant/chunk',
      'assistant/message',
      'step/end',
      'turn/end',
    ])
    expect(session.at(6)).toMatchObject({
      sourceEventSeqs: [4, 5],
      surfaceOp: 'append',
      data: { turn: 1, step: 1, finishReason: 'stop', usage: { inputTokens: 3 } },
    })
    expect(session.at(5)?.data).toMatchObject({ chunk: { type: 'finish', finishReason: 'stop' } })
  })

  test('drains all that was sent so far; what comes later is the next turn', async () => {
    const { agent, session, log } = setup([{ text: 'one' }, { text: 'two' }])
    session.on(event => {
      if (event.type === 'step/start' && event.data.turn === 1) agent.send('c')
    })
    agent.send('a')
    agent.send('b')
    await agent.idle()
    expect(log()).toEqual([
      'turn 1 {',
      'user a',
      'user b',
      'step 1 (',
      'assistant one',
      ')',
      '} completed',
      'turn 2 {',
      'user c',
      'step 1 (',
      'assistant two',
      ')',
      '} completed',
    ])
  })

  test('ends with max-steps where the model never stops asking, and the next send goes on', async () => {
    const replies = Array.from({ length: 3 }, () => ({ toolCalls: [call('again')] }))
    const { agent, log } = setup(replies, { maxSteps: 2, tools: [tool('again', () => 'ok')] })
    agent.send('go')
    await agent.idle()
    expect(log().at(-1)).toBe('} max-steps')
    expect(log().filter(line => line.startsWith('step'))).toEqual(['step 1 (', 'step 2 ('])
    agent.send('on')
    await agent.idle()
    expect(log()).toContain('turn 2 {')
  })

  test('completes where the last allowed step asks for nothing', async () => {
    const { agent, log } = setup([{ text: 'x' }], { maxSteps: 1 })
    agent.send('go')
    await agent.idle()
    expect(log().at(-1)).toBe('} completed')
  })

  test('runs the calls whatever the finish reason, and none that the provider ran', async () => {
    const { agent, log } = setup(
      [
        {
          chunks: [
            { type: 'tool-call', toolCallId: 'p', toolName: 'search', input: '{}', providerExecuted: true },
            { type: 'tool-result', toolCallId: 'p', toolName: 'search', output: { type: 'text', value: 'found' } },
            { type: 'tool-call', toolCallId: 'a', toolName: 'now', input: '{}' },
            { type: 'finish', finishReason: 'length' },
          ],
        },
        { text: 'done' },
      ],
      { tools: [tool('now', () => 1)] },
    )
    agent.send('go')
    await agent.idle()
    expect(log().filter(line => /^(call|result)/.test(line))).toEqual(['call a', 'result a 1 < tool/call'])
  })

  test('of calls that the provider ran itself needs no further step', async () => {
    const { agent, log } = setup([
      {
        chunks: [
          { type: 'tool-call', toolCallId: 'p', toolName: 'search', input: '{}', providerExecuted: true },
          { type: 'tool-result', toolCallId: 'p', toolName: 'search', output: { type: 'text', value: 'found' } },
          { type: 'finish', finishReason: 'tool-calls' },
        ],
      },
    ])
    agent.send('go')
    await agent.idle()
    expect(log().at(-1)).toBe('} completed')
  })

  test('logs an answer of nothing, so that its end is known', async () => {
    const { agent, session } = setup([{}])
    agent.send('go')
    await agent.idle()
    expect(ofType(session, 'assistant/message')[0]?.data).toMatchObject({
      message: { content: [] },
      finishReason: 'stop',
    })
  })
})

describe('numbers', () => {
  test('of turns go on from the log', async () => {
    const { session, agent } = setup([{ text: 'a' }])
    agent.send('1')
    await agent.idle()
    const next = setup([{ text: 'b' }], { session: session.fork() })
    next.agent.send('2')
    await next.agent.idle()
    expect(next.log().filter(line => line.startsWith('turn'))).toEqual(['turn 1 {', 'turn 2 {'])
  })

  test.each([undefined, '7', 1.5, null])('of turns begin anew behind one whose number is %j', async turn => {
    const data = turn === undefined ? {} : { turn }
    const session = Session.create({ seed: [{ seq: 0, time: 0, type: 'turn/start', data } as SessionEvent] })
    const { agent, log } = setup([{ text: 'ok' }], { session })
    agent.send('go')
    await agent.idle()
    expect(log().slice(1)).toEqual([
      '} interrupted',
      'turn 1 {',
      'user go',
      'step 1 (',
      'assistant ok',
      ')',
      '} completed',
    ])
  })

  test('a turn left open in the middle is closed as recovery does it before the next begins', async () => {
    const { session, agent } = setup([{ toolCalls: [call('now')] }, { text: 'b' }], { tools: [tool('now', () => 1)] })
    agent.send('1')
    await agent.idle()
    const open = session.events.find(event => event.type === 'tool/call')!
    const next = setup([{ text: 'b' }], { session: session.fork({ length: open.seq + 1 }) })
    next.agent.send('2')
    await next.agent.idle()
    expect(next.log().slice(4)).toEqual([
      'call call-1',
      'result call-1 TOOL_OUTCOME_UNKNOWN < tool/call',
      ')',
      '} interrupted',
      'turn 2 {',
      'user 2',
      'step 1 (',
      'assistant b',
      ')',
      '} completed',
    ])
  })
})

describe('steer', () => {
  test('enters the running turn before its next step', async () => {
    const { agent, session, log } = setup([{ toolCalls: [call('now')] }, { text: 'ok' }], {
      tools: [tool('now', () => '12')],
    })
    session.on(event => event.type === 'tool/call' && agent.steer('hurry'))
    agent.send('go')
    await agent.idle()
    expect(log().slice(6)).toEqual([')', 'step 2 (', 'steering hurry', 'assistant ok', ')', '} completed'])
  })

  test('while the last answer streams makes one more step', async () => {
    const { agent, session, log } = setup([{ text: 'bye' }, { text: 'ok then' }])
    session.on(
      event =>
        event.type === 'assistant/chunk' &&
        event.data.step === 1 &&
        event.data.chunk.type === 'text-delta' &&
        agent.steer('wait'),
    )
    agent.send('go')
    await agent.idle()
    expect(log()).toEqual([
      'turn 1 {',
      'user go',
      'step 1 (',
      'assistant bye',
      ')',
      'step 2 (',
      'steering wait',
      'assistant ok then',
      ')',
      '} completed',
    ])
  })

  test('on an idle agent is send', async () => {
    const { agent, log } = setup([{ text: 'ok' }])
    agent.steer('hello')
    await agent.idle()
    expect(log().slice(0, 2)).toEqual(['turn 1 {', 'user hello'])
    agent.steer('more')
    expect(await agent.dispose()).toMatchObject([{ kind: 'send' }])
  })

  test('left at max-steps enters the next turn', async () => {
    const { agent, session, log } = setup([{ text: 'one' }, { text: 'two' }], { maxSteps: 1 })
    session.on(event => event.type === 'assistant/message' && event.data.turn === 1 && agent.steer('more'))
    agent.send('go')
    await agent.idle()
    expect(log()).toEqual([
      'turn 1 {',
      'user go',
      'step 1 (',
      'assistant one',
      ')',
      '} max-steps',
      'turn 2 {',
      'user more',
      'step 1 (',
      'assistant two',
      ')',
      '} completed',
    ])
  })

  test('from the observer of turn/end is the next turn', async () => {
    const { agent, session, log } = setup([{ text: 'one' }, { text: 'two' }])
    session.on(event => event.type === 'turn/end' && event.data.turn === 1 && agent.steer('more'))
    agent.send('go')
    await agent.idle()
    expect(log().slice(6, 8)).toEqual(['turn 2 {', 'user more'])
  })
})

describe('inject', () => {
  test('does not wake, and waits for the next step', async () => {
    const { agent, log } = setup([{ text: 'ok' }])
    agent.inject('the sky is blue', 'sky')
    expect(agent.status).toBe('idle')
    await agent.idle()
    expect(log()).toEqual([])
    agent.send('go')
    await agent.idle()
    expect(log()).toEqual([
      'turn 1 {',
      'user go',
      'step 1 (',
      'context the sky is blue from sky',
      'assistant ok',
      ')',
      '} completed',
    ])
  })

  test('makes no step by itself', async () => {
    const { agent, session, log } = setup([{ text: 'one' }, { text: 'two' }])
    session.on(event => event.type === 'assistant/message' && event.data.turn === 1 && agent.inject('late', 'x'))
    agent.send('go')
    await agent.idle()
    expect(log().at(-1)).toBe('} completed')
    expect(log()).not.toContain('context late from x')
    agent.send('again')
    await agent.idle()
    expect(log().slice(8, 10)).toEqual(['step 1 (', 'context late from x'])
  })
})

describe('admitted', () => {
  test('is the seq of the message, once a flush has made it durable', async () => {
    const gate = deferred()
    const { agent, session } = setup([{ text: 'ok' }], { flush: () => gate.promise })
    const { admitted } = agent.send('hi')
    let isSettled = false
    admitted.then(() => {
      isSettled = true
    })
    await seen(session, event => event.type === 'request/header')
    expect(isSettled).toBe(false)
    gate.resolve()
    expect(session.at(await admitted)).toMatchObject({
      type: 'user/message',
      data: { message: { content: [{ text: 'hi' }] } },
    })
    await agent.idle()
  })

  test('of steering and of context too', async () => {
    const { agent, session } = setup([{ toolCalls: [call('now')] }, { text: 'ok' }], { tools: [tool('now', () => 1)] })
    const context = agent.inject('c', 'x')
    agent.send('go')
    await seen(session, event => event.type === 'tool/call')
    const steering = agent.steer('s')
    expect(session.at(await context.admitted)?.type).toBe('context/message')
    expect(session.at(await steering.admitted)?.type).toBe('steering/message')
    await agent.idle()
  })

  test('rejects with what the store threw', async () => {
    const failure = Object.assign(new Error('disk full'), { code: 'WRITE_FAILED' })
    const { agent } = setup([{ text: 'ok' }], { flush: () => Promise.reject(failure) })
    await expect(agent.send('hi').admitted).rejects.toBe(failure)
    await agent.idle()
  })

  test('settles though the turn ends before any request', async () => {
    const { agent, session } = setup([])
    session.on(event => event.type === 'user/message' && agent.cancel())
    const { admitted } = agent.send('hi')
    expect(session.at(await admitted)?.type).toBe('user/message')
  })
})

describe('input', () => {
  test('that is logged is admitted, though the session refuses what comes next', async () => {
    const { agent, session } = setup([{ text: 'ok' }])
    session.on(event => event.type === 'user/message' && session.makeReadOnly('it is closed'))
    expect(session.at(await agent.send('go').admitted)?.type).toBe('user/message')
    await agent.idle()
    expect(agent.status).toBe('idle')
  })

  test('is taken as it is now, and refused at once where JSON would lose some of it', async () => {
    const { agent, session, log } = setup([{ text: 'ok' }])
    const part = { type: 'text' as const, text: 'before' }
    agent.send([part])
    part.text = 'after'
    for (const verb of [agent.send, agent.steer, (content: never) => agent.inject(content, 'x')]) {
      expect(() => verb([{ type: 'text', text: undefined }] as never)).toThrow(
        expect.objectContaining({ code: 'NOT_LOSSLESS_JSON' }),
      )
      for (const [content, message] of [
        [7, 'content: expected a string or an array of parts, found 7; '],
        [undefined, 'content: expected a string or an array of parts, found undefined; '],
        [{ type: 'text', text: 'x' }, 'found an object; '],
        [['x'], "content[0]: expected a part, found 'x'; give the text, or parts such as { type: 'text'"],
      ] as const) {
        const refusal = { code: 'EVENT_DATA_INVALID', message: expect.stringContaining(message) }
        expect(() => verb(content as never)).toThrow(expect.objectContaining(refusal))
      }
    }
    expect(() => agent.inject('x', 5 as never)).toThrow(/^origin: expected a string.*, found 5; /)
    expect(session.length).toBe(0)
    await agent.idle()
    expect(log()[1]).toBe('user before')
  })

  test('from an observer is taken, as nothing is appended then', async () => {
    const { agent, session, log } = setup([{ text: 'a' }, { text: 'b' }])
    session.on(event => {
      if (event.type !== 'step/start' || event.data.turn > 1) return
      agent.send('send')
      agent.steer('steer')
      agent.inject('inject', 'x')
    })
    agent.send('go')
    await agent.idle()
    expect(log()).toContain('steering steer')
    expect(log()).toContain('context inject from x')
    expect(log()).toContain('user send')
  })
})

describe('dispose', () => {
  test('gives back what was never admitted, and refuses more', async () => {
    const { agent, session } = setup([{ text: 'ok' }])
    const context = agent.inject('c', 'x')
    const sent = agent.send('a')
    const left = await agent.dispose()
    expect(left).toEqual([
      { kind: 'inject', content: [{ type: 'text', text: 'c' }], origin: 'x' },
      { kind: 'send', content: [{ type: 'text', text: 'a' }] },
    ])
    expect(session.length).toBe(0)
    expect(agent.status).toBe('disposed')
    for (const { admitted } of [context, sent]) await expect(admitted).rejects.toMatchObject({ code: 'AGENT_DISPOSED' })
    for (const verb of [
      () => agent.send('x'),
      () => agent.steer('x'),
      () => agent.inject('x', 'y'),
      () => agent.configure({}),
    ]) {
      expect(verb).toThrow(AgentError)
      expect(verb).toThrow(expect.objectContaining({ code: 'AGENT_DISPOSED' }))
    }
    await agent.idle()
  })

  test('in mid-turn closes the turn with what was shown, and leaves the session to the next agent', async () => {
    const { model } = port(async function* () {
      yield text('half')
      await new Promise(() => {})
    })
    const { agent, session, log } = setup(model)
    agent.send('go')
    await seen(session, event => event.type === 'assistant/chunk')
    agent.send('later')
    const closing = agent.dispose()
    expect(agent.status).toBe('disposed')
    await agent.idle()
    expect(await closing).toEqual([{ kind: 'send', content: [{ type: 'text', text: 'later' }] }])
    expect(await agent.dispose()).toEqual(await closing)
    expect(log()).toEqual(['turn 1 {', 'user go', 'step 1 (', 'assistant half interrupted', ')', '} disposed'])
    agent.cancel()
    const next = setup([{ text: 'ok' }], { session })
    next.agent.send('again')
    await next.agent.idle()
    expect(next.log().at(-1)).toBe('} completed')
  })
})

describe('a session that refuses', () => {
  test('ends the turn in memory, tells the sender, and leaves the agent idle', async () => {
    const { agent, session } = setup([{ text: 'ok' }])
    session.makeReadOnly('it is closed')
    await expect(agent.send('go').admitted).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' })
    await agent.idle()
    expect(agent.status).toBe('idle')
  })

  test('at the start of a step tells whoever had injected', async () => {
    const { agent, session } = setup([{ text: 'ok' }])
    session.on(event => event.type === 'step/start' && session.makeReadOnly('it is closed'))
    const { admitted } = agent.inject('c', 'x')
    agent.send('go')
    await expect(admitted).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' })
    await agent.idle()
  })

  test('in mid-turn leaves the agent idle too', async () => {
    const { model } = port(async function* () {
      yield text('a')
      session.makeReadOnly('it is closed')
      yield finish
    })
    const { agent, session } = setup(model)
    agent.send('go')
    await agent.idle()
    expect(session.events.at(-1)?.type).toBe('assistant/chunk')
  })
})

describe('options', () => {
  const session = Session.create()
  const { model } = port(() => (async function* () {})())

  test('a session with its own flush takes none beside', () => {
    const open = { session, flush: async () => {} }
    expect(createAgent({ session: open, model }).session).toBe(session)
    expect(() => createAgent({ session: open, model, flush: async () => {} })).toThrow(TypeError)
  })

  test('limits are whole numbers', () => {
    for (const bad of [
      { maxSteps: 0 },
      { maxParallelToolCalls: 1.5 },
      { cancelGraceMs: -1 },
      { cancelGraceMs: Infinity },
    ]) {
      expect(() => createAgent({ session, model, ...bad })).toThrow(RangeError)
    }
  })

  test('what cannot be is refused in the words of the option, with what was found and what to do', async () => {
    const create = (changes: object) => () => createAgent({ session, model, ...changes } as never)
    const open = { session, flush: async () => {} }
    for (const [changes, message] of [
      [{ model: undefined }, /^model: expected a model port .*, found undefined; give/],
      [{ model: 'gpt' }, /^model: .*found 'gpt'/],
      [{ model: { model: 'm', doStream() {} } }, /^model: .*aiSdkModel/],
      [{ session: undefined }, /^session: expected a Session.*, found undefined; /],
      [{ session: Promise.resolve(open) }, /^session: .*found a promise; await it/],
      [{ session: { session } }, /^session: .*found an object/],
      [{ system: 5 }, /^system: expected a string, found 5; /],
      [{ settings: 5 }, /^settings: expected an object.*, found 5; /],
      [{ settings: [] }, /^settings: .*found an array/],
      [{ tools: { t: tool('t', () => 1) } }, /^tools: expected an array of tools, found an object; /],
      [{ tools: [undefined] }, /a tool: expected/],
      [{ host: { name: 'p', setup() {} } }, /^host: .*host\.use/],
      [{ flush: true }, /^flush: expected a function.*, found true; /],
    ] as const) {
      expect(create(changes)).toThrow(TypeError)
      expect(create(changes)).toThrow(message)
    }
    for (const none of [undefined, null, 5]) expect(() => createAgent(none as never)).toThrow(/^createAgent: expected/)
    expect(session.length).toBe(0)
  })

  test('configure refuses the same, and nothing has changed', async () => {
    const { model, requests } = port(async function* () {
      yield finish
    })
    const { agent } = setup(model, { system: 'Be brief.' })
    expect(() => agent.configure({ system: 5 } as never)).toThrow(/^system: expected a string, found 5/)
    expect(() => agent.configure({ model: {} } as never)).toThrow(/^model: expected a model port/)
    expect(() => agent.configure({ system: 'Be long.', tools: {} } as never)).toThrow(/^tools: expected/)
    expect(() => agent.configure(undefined as never)).toThrow(/^configure: expected/)
    agent.configure({ model: undefined } as never)
    agent.send('go')
    await agent.idle()
    expect(requests).toMatchObject([{ model: 'port', system: 'Be brief.' }])
  })

  test('settings are lossless JSON, tool names differ', () => {
    expect(() => createAgent({ session, model, settings: { at: new Date() } as never })).toThrow(
      expect.objectContaining({ code: 'NOT_LOSSLESS_JSON' }),
    )
    const twice = [tool('a', () => 1), tool('a', () => 2)]
    expect(() => createAgent({ session, model, tools: twice })).toThrow(TypeError)
  })
})
