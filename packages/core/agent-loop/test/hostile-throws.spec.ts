import { createHost } from '@palimpsest/host'
import { describe, expect, test } from 'vitest'
import { call, finish, ofType, port, setup, text, tool } from './harness.js'

/** What may be thrown although it throws itself when somebody looks at it. */
const HOSTILE: [name: string, thrown: unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['a symbol', Symbol('s')],
  ['an object without a prototype', Object.create(null)],
  ['one whose code throws', Object.defineProperty({}, 'code', { get: () => raise() })],
  ['an error whose message throws', Object.defineProperty(new Error('m'), 'message', { get: () => raise() })],
  ['an error whose message is no text', Object.assign(new Error('m'), { message: Symbol('s'), code: 7 })],
  ['a Proxy that refuses everything', new Proxy({}, { get: raise, has: raise, getPrototypeOf: raise })],
  ['a revoked Proxy', revoked()],
]

describe.each(HOSTILE)('thrown: %s', (_, thrown) => {
  test('by a tool is its result', async () => {
    const { agent, log } = setup([{ toolCalls: [call('t', 'a'), call('t', 'b')] }, { text: 'ok' }], {
      tools: [tool('t', () => raise(thrown))],
    })
    agent.send('go')
    await agent.idle()
    expect(log().filter(line => /^(call|result|})/.test(line))).toEqual([
      'call a',
      'result a TOOL_FAILED < tool/call',
      'call b',
      'result b TOOL_FAILED < tool/call',
      '} completed',
    ])
  })

  test('by a port ends the turn as its failure', async () => {
    const { model } = port(async function* () {
      yield text('a')
      raise(thrown)
      yield finish
    })
    const { agent, log } = setup(model)
    agent.send('go')
    await agent.idle()
    expect(log().slice(-2)).toEqual([')', '} error MODEL_PORT_THREW'])
  })

  test.each(['model/request', 'turn/admit'] as const)('by a handler of %s ends the turn with error', async around => {
    const host = createHost()
    await host.use({ name: 'hostile', setup: ctx => void ctx.around(around, () => raise(thrown)) })
    const { agent, log } = setup([{ text: 'never' }], { host })
    agent.send('go')
    await agent.idle()
    expect(log().at(-1)).toBe('} error HANDLER_FAILED')
  })

  test('by a handler of tool/execute denies', async () => {
    const host = createHost()
    await host.use({ name: 'hostile', setup: ctx => void ctx.around('tool/execute', () => raise(thrown)) })
    const { agent, session } = setup([{ toolCalls: [call('t')] }, { text: 'ok' }], {
      host,
      tools: [tool('t', () => 1)],
    })
    agent.send('go')
    await agent.idle()
    expect(ofType(session, 'tool/result').map(({ data }) => data.error?.code)).toEqual(['TOOL_DENIED'])
    expect(ofType(session, 'tool/call')).toEqual([])
  })

  test.each([1, 2])('by flush number %i ends the turn, and no body begins', async failing => {
    let flushes = 0
    let begun = 0
    const flush = async () => {
      if (++flushes === failing) throw thrown
    }
    const { agent, log } = setup([{ toolCalls: [call('t')] }, { text: 'ok' }], {
      flush,
      tools: [tool('t', () => begun++)],
    })
    agent.send('go')
    await agent.idle()
    expect(log().at(-1)).toBe('} error FLUSH_FAILED')
    expect(begun).toBe(0)
  })
})

// --- internal ---

function raise(error: unknown = new Error('no')): never {
  throw error
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
