import { createAgent } from '@palimpsest/agent-loop'
import { createHost, type Plugin } from '@palimpsest/host'
import { scriptedModel } from '@palimpsest/model-scripted'
import { Session, type UserMessage } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { call, deferred, seen, setup, tool } from './harness.js'

const say = (text: string): UserMessage => ({ role: 'user', content: [{ type: 'text', text }] })

describe('an agent on a host', () => {
  test('is announced, moves idle → running → idle → disposed, and goes; its session stays', async () => {
    const host = createHost()
    const heard: string[] = []
    await host.use({
      name: 'listens',
      setup(ctx) {
        ctx.on('session/adopted', session => heard.push(`adopted ${session.id}`))
        ctx.on('agent/created', agent => heard.push(`created ${agent.id} ${agent.status}`))
        ctx.on('agent/status', (status, agent) => heard.push(`${status} ${agent.id}`))
        ctx.on('agent/disposed', agent => heard.push(`disposed ${host.agents.has(agent.id)}`))
      },
    })
    const { agent, session } = setup([{ text: 'ok' }], { host })
    expect(host.agents.get(agent.id)).toBe(agent)
    expect(host.sessions.get('s')).toBe(session)
    agent.send('go')
    await agent.idle()
    await agent.dispose()
    expect(heard).toEqual(['adopted s', 'created s idle', 'running s', 'idle s', 'disposed s', 'disposed false'])
    expect(host.agents.size).toBe(0)
    expect(host.sessions.get('s')).toBe(session)
  })

  test('tells its status in order, also to whoever listens behind one that sends', async () => {
    const host = createHost()
    const heard: string[] = []
    await host.use({
      name: 'sends',
      setup(ctx) {
        let again = true
        ctx.on('agent/status', (status, agent) => {
          if (status === 'idle' && again) agent.send('again')
          if (status === 'idle') again = false
        })
        ctx.on('agent/status', status => heard.push(status))
      },
    })
    const { agent } = setup([{ text: 'a' }, { text: 'b' }], { host })
    agent.send('go')
    await agent.idle()
    expect(heard).toEqual(['running', 'idle', 'running', 'idle'])
  })

  test('a second agent of a session has a name of its own', () => {
    const host = createHost()
    const session = Session.create({ id: 's' })
    const model = scriptedModel([])
    const ids = [createAgent({ session, model, host }), createAgent({ session, model, host })].map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)
    expect(host.agents.size).toBe(2)
    expect(host.sessions.size).toBe(1)
  })

  test('a listener that fails stops nothing', async () => {
    const errors: [unknown, string][] = []
    const host = createHost({ onError: (error, source) => errors.push([(error as Error).message, source]) })
    const fails: Plugin = {
      name: 'fails',
      setup(ctx) {
        ctx.on('session/event', ({ type }) => {
          if (type === 'turn/start') throw new Error('thrown')
        })
        ctx.on('model/request', async () => {
          throw new Error('rejected')
        })
      },
    }
    await host.use(fails)
    const { agent, log } = setup([{ text: 'ok' }], { host })
    agent.send('go')
    await agent.idle()
    expect(log().at(-1)).toBe('} completed')
    expect(errors).toEqual([
      ['thrown', 'fails'],
      ['rejected', 'fails'],
    ])
  })

  test('a plugin disposed in mid-turn hears and holds nothing more', async () => {
    const host = createHost()
    const heard: string[] = []
    const plugin = await host.use({
      name: 'goes',
      setup(ctx) {
        ctx.on('session/event', ({ type }) => heard.push(type))
        ctx.around('tool/execute', () => {
          throw new Error('denied')
        })
      },
    })
    const { agent, session, log } = setup([{ toolCalls: [call('t')] }, { toolCalls: [call('t')] }, {}], {
      host,
      tools: [tool('t', () => 'ok')],
    })
    const off = session.on(event => {
      if (event.type !== 'step/start' || event.data.step !== 2) return
      off()
      plugin.dispose()
    })
    agent.send('go')
    await agent.idle()
    expect(log().filter(line => line.startsWith('result'))).toEqual([
      'result call-1 TOOL_DENIED < assistant/message',
      'result call-2 "ok" < tool/call',
    ])
    expect(heard.filter(type => type === 'step/start').length).toBeLessThan(3)
    expect(heard).not.toContain('turn/end')
  })
})

describe('turn/admit', () => {
  const withAdmit = async (admit: (messages: readonly UserMessage[]) => unknown, sends: string[]) => {
    const host = createHost()
    await host.use({
      name: 'admits',
      setup: ctx => void ctx.around('turn/admit', async ({ messages }) => admit(messages) as never),
    })
    const made = setup([{ text: 'ok' }], { host })
    const admissions = sends.map(content => made.agent.send(content).admitted)
    await made.agent.idle()
    return { ...made, admissions }
  }

  test('logs what comes out', async () => {
    const { log, session, admissions } = await withAdmit(() => ({ messages: [say('changed')] }), ['a'])
    expect(log()[1]).toBe('user changed')
    expect(session.at((await admissions[0])!)?.type).toBe('user/message')
  })

  test('tells each sender what became of the message', async () => {
    const { log, admissions } = await withAdmit(messages => ({ messages: [messages[1]] }), ['a', 'b'])
    expect(log().slice(0, 3)).toEqual(['turn 1 {', 'user b', 'step 1 ('])
    await expect(admissions[0]).rejects.toMatchObject({ code: 'INPUT_NOT_ADMITTED' })
    expect(await admissions[1]).toBe(1)
  })

  test('that lets nothing through closes the turn as completed, without a step', async () => {
    const { log, admissions } = await withAdmit(() => ({ messages: [] }), ['a'])
    expect(log()).toEqual(['turn 1 {', '} completed'])
    await expect(admissions[0]).rejects.toMatchObject({ code: 'INPUT_NOT_ADMITTED' })
  })

  test('that throws or answers nonsense ends the turn with error', async () => {
    const thrown = await withAdmit(() => {
      throw Object.assign(new Error('no'), { code: 'BLOCKED' })
    }, ['a'])
    expect(thrown.log()).toEqual(['turn 1 {', '} error BLOCKED'])
    await expect(thrown.admissions[0]).rejects.toMatchObject({ code: 'BLOCKED' })
    expect((await withAdmit(() => undefined, ['a'])).log().at(-1)).toBe('} error HANDLER_FAILED')
    const unlogged = await withAdmit(() => ({ messages: [{ role: 'user', content: 'x' }] }), ['a'])
    expect(unlogged.log()).toEqual(['turn 1 {', '} error EVENT_DATA_INVALID'])
  })

  test('that adds what is no message logs none of them, and refuses them all', async () => {
    const { log, admissions } = await withAdmit(messages => ({ messages: [...messages, null] }), ['a'])
    expect(log()).toEqual(['turn 1 {', '} error EVENT_DATA_INVALID'])
    await expect(admissions[0]).rejects.toMatchObject({ code: 'EVENT_DATA_INVALID' })
  })

  test('passes the messages from handler to handler', async () => {
    const host = createHost()
    await host.use({
      name: 'outer',
      setup: ctx =>
        void ctx.around('turn/admit', (value, next) => next({ ...value, messages: [...value.messages, say('outer')] })),
    })
    await host.use({
      name: 'inner',
      setup: ctx =>
        void ctx.around('turn/admit', async (_, next) => {
          const { messages } = await next()
          return { messages: [...messages, say('inner')] }
        }),
    })
    const { agent, log } = setup([{ text: 'ok' }], { host })
    agent.send('a')
    await agent.idle()
    expect(log().slice(1, 4)).toEqual(['user a', 'user outer', 'user inner'])
  })

  test('an input in admission when the agent is disposed is given back', async () => {
    const host = createHost()
    const entered = deferred()
    await host.use({
      name: 'hangs',
      setup: ctx =>
        void ctx.around('turn/admit', () => {
          entered.resolve()
          return new Promise(() => {})
        }),
    })
    const { agent, log } = setup([], { host })
    agent.send('a')
    await entered.promise
    expect(await agent.dispose()).toEqual([{ kind: 'send', content: [{ type: 'text', text: 'a' }] }])
    expect(log()).toEqual(['turn 1 {', '} disposed'])
  })

  test('what is sent meanwhile is the next turn', async () => {
    const host = createHost()
    const gate = deferred()
    await host.use({
      name: 'waits',
      setup: ctx =>
        void ctx.around('turn/admit', async (_, next) => {
          await gate.promise
          return next()
        }),
    })
    const { agent, session, log } = setup([{ text: '1' }, { text: '2' }], { host })
    agent.send('a')
    await seen(session, event => event.type === 'turn/start')
    agent.send('b')
    gate.resolve()
    await agent.idle()
    expect(log().filter(line => /^(turn|user)/.test(line))).toEqual(['turn 1 {', 'user a', 'turn 2 {', 'user b'])
  })
})
