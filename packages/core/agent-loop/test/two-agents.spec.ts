import { createAgent } from '@palimpsest/agent-loop'
import { createHost } from '@palimpsest/host'
import { scriptedModel } from '@palimpsest/model-scripted'
import { Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { call, deferred, never, ofType, seen, setup, text, tool, transcript } from './harness.js'

const BUSY = expect.objectContaining({ code: 'SESSION_BUSY' })

/** Two agents on one session; the first is in the middle of a tool until `release`. */
async function twoAgents() {
  const begun = deferred()
  const body = deferred<string>()
  const waits = tool('t', () => {
    begun.resolve()
    return body.promise
  })
  const { session, agent: first, log } = setup([{ toolCalls: [call('t')] }, { text: 'first' }], { tools: [waits] })
  const second = createAgent({ session, model: scriptedModel([{ text: 'second' }]) })
  first.send('one')
  await begun.promise
  return { session, first, second, log, release: () => body.resolve('done') }
}

describe('two agents on one session', () => {
  test('the second may not begin a turn in the midst of the first: it is told, and the log is one turn', async () => {
    const { session, first, second, log, release } = await twoAgents()
    const { length } = session
    expect(() => second.send('two')).toThrow(BUSY)
    expect(() => second.steer('two')).toThrow(BUSY)
    expect(session.length).toBe(length)
    expect(second.status).toBe('idle')
    release()
    await first.idle()
    expect(log()).toEqual([
      'turn 1 {',
      'user one',
      'step 1 (',
      'assistant call-1',
      'call call-1',
      'result call-1 "done" < tool/call',
      ')',
      'step 2 (',
      'assistant first',
      ')',
      '} completed',
    ])
  })

  test('one after the other they share it, and what was refused can be sent then', async () => {
    const { session, first, second, release } = await twoAgents()
    expect(() => second.send('two')).toThrow(BUSY)
    second.inject('the sky is blue', 'sky')
    release()
    await first.idle()
    second.send('two')
    expect(() => first.send('three')).toThrow(BUSY)
    await second.idle()
    expect(transcript(session.events).slice(-7)).toEqual([
      'turn 2 {',
      'user two',
      'step 1 (',
      'context the sky is blue from sky',
      'assistant second',
      ')',
      '} completed',
    ])
    first.send('three')
    await first.idle()
    expect(ofType(session, 'turn/end')).toHaveLength(3)
  })

  test('it counts from the send on, before anything is logged', async () => {
    const session = Session.create()
    const [first, second] = [setup([{ text: 'a' }], { session }), setup([{ text: 'b' }], { session })]
    first.agent.send('one')
    expect(session.length).toBe(0)
    expect(() => second.agent.send('two')).toThrow(BUSY)
    await first.agent.idle()
    expect(ofType(session, 'user/message')).toHaveLength(1)
  })

  test('input that is refused for itself claims nothing', () => {
    const session = Session.create()
    const [first, second] = [setup([{ text: 'a' }], { session }), setup([{ text: 'b' }], { session })]
    expect(() => first.agent.send(5 as never)).toThrow(expect.objectContaining({ code: 'EVENT_DATA_INVALID' }))
    expect(() => second.agent.send('two')).not.toThrow()
  })

  test('a disposed agent holds it until its turn is closed', async () => {
    const { session, first, second, release } = await twoAgents()
    const disposed = first.dispose()
    expect(() => second.send('two')).toThrow(BUSY)
    release()
    await disposed
    second.send('two')
    await second.idle()
    expect(ofType(session, 'turn/end').map(({ data }) => data.reason.kind)).toEqual(['disposed', 'completed'])
  })

  test('one disposed before its first turn holds nothing', async () => {
    const session = Session.create()
    const [first, second] = [setup([{ text: 'a' }], { session }), setup([{ text: 'b' }], { session })]
    first.agent.send('one')
    await first.agent.dispose()
    second.agent.send('two')
    await second.agent.idle()
    expect(second.log()[1]).toBe('user two')
  })

  test('whoever hears that the first is idle may start the second', async () => {
    const host = createHost()
    const session = Session.create()
    const first = createAgent({ session, host, model: scriptedModel([{ text: 'a' }]) })
    const second = createAgent({ session, host, model: scriptedModel([{ text: 'b' }]) })
    const started = deferred()
    await host.use({
      name: 'relay',
      setup: ctx =>
        void ctx.forAgent(first).on('agent/status', status => {
          if (status !== 'idle') return
          second.send('two')
          started.resolve()
        }),
    })
    first.send('one')
    await started.promise
    await second.idle()
    expect(ofType(session, 'turn/end')).toHaveLength(2)
  })

  test('a session that no longer takes events is released too', async () => {
    const session = Session.create()
    const [first, second] = [setup([{ text: 'a' }], { session }), setup([{ text: 'b' }], { session })]
    first.agent.send('one')
    session.makeReadOnly('it is closed')
    await first.agent.idle()
    await expect(second.agent.send('two').admitted).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' })
  })

  test('a fork of a running session is another session, whose open turn nobody runs', async () => {
    const { session, first, release } = await twoAgents()
    const fork = setup([{ text: 'forked' }], { session: session.fork() })
    fork.agent.send('go on')
    await fork.agent.idle()
    expect(ofType(fork.session, 'turn/end').map(({ data }) => data.reason.kind)).toEqual(['interrupted', 'completed'])
    release()
    await first.idle()
    expect(ofType(session, 'turn/end').map(({ data }) => data.reason.kind)).toEqual(['completed'])
  })

  test('a turn that a model holds for ever is freed by disposing its agent', async () => {
    const session = Session.create()
    const model = {
      model: 'hangs',
      async *stream() {
        yield text('hm')
        await never
      },
    }
    const first = setup(model, { session })
    first.agent.send('one')
    await seen(session, ({ type }) => type === 'assistant/chunk')
    const second = setup([{ text: 'b' }], { session })
    expect(() => second.agent.send('two')).toThrow(BUSY)
    await first.agent.dispose()
    second.agent.send('two')
    await second.agent.idle()
    expect(ofType(session, 'turn/end').map(({ data }) => data.reason.kind)).toEqual(['disposed', 'completed'])
  })
})
