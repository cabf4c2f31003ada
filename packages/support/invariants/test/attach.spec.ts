import { createAgent, defineTool, type Tool } from '@palimpsest/agent-loop'
import { type Agent, createHost, type Host, type PluginContext } from '@palimpsest/host'
import { attachInvariants, checkLog, InvariantError, invariants, scopeIsolated } from '@palimpsest/invariants'
import { scriptedModel } from '@palimpsest/model-scripted'
import { Session, type SessionEvent } from '@palimpsest/session'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { APPEND, user, watched } from './samples.js'

interface Hooks {
  onEvent?: (event: SessionEvent) => unknown
  inTool?: (context: Parameters<Tool['execute']>[1]) => Promise<void>
}

/** An agent with calls one after another, one that is unknown, and a second turn. */
async function runAgent(host: Host, { onEvent = () => {}, inTool = async () => {} }: Hooks = {}): Promise<Session> {
  const session = Session.create({ id: 's', now: () => 0 })
  const look = defineTool({
    name: 'look',
    inputSchema: { type: 'object' },
    execute: async (_, context) => {
      await inTool(context)
      return 'seen'
    },
  })
  const twice = [1, 2].map(n => ({ toolName: 'look', toolCallId: `${n}`, input: { n } }))
  const unknown = [{ toolName: 'fly', toolCallId: '3', input: {} }]
  const script = [{ text: 'Two.', toolCalls: twice }, { toolCalls: unknown }, { text: 'Done.' }, { text: 'Again.' }]
  const agent = createAgent({ session, host, model: scriptedModel(script), tools: [look] })
  session.on(onEvent)
  agent.send('go')
  await agent.idle()
  agent.send('and on')
  await agent.idle()
  await agent.dispose()
  return session
}

const listening = () => {
  const errors: unknown[] = []
  const host = createHost({ onError: error => errors.push(error) })
  return { host, errors }
}

describe('beside a running agent', () => {
  test('its log is the same bytes with the plugin, without it, and attached at any event', async () => {
    const bare = await runAgent(createHost())
    const { host, errors } = await watched()
    const bytes = JSON.stringify(bare.events)
    expect(JSON.stringify((await runAgent(host)).events)).toBe(bytes)
    for (let at = 0; at < bare.length; at++) {
      const late = listening()
      const session = await runAgent(late.host, { onEvent: ({ seq }) => seq === at && attachInvariants(late.host) })
      expect([at, late.errors]).toEqual([at, []])
      expect(JSON.stringify(session.events)).toBe(bytes)
    }
    expect(errors).toEqual([])
  })

  test('disposed in mid-turn and attached again it has lost nothing: what broke meanwhile is told, once', async () => {
    const { host, errors } = listening()
    let plugin = await attachInvariants(host)
    const session = await runAgent(host, {
      inTool: async ({ session, toolCallId }) => {
        if (toolCallId === '1') {
          await plugin.dispose()
          session.append('tool/call', { ...strayCall, turn: 1, step: 1 })
          expect(errors).toEqual([])
        } else plugin = await attachInvariants(host)
      },
    })
    expect(errors).toEqual(checkLog(session))
    expect(errors).toMatchObject([{ relation: 'calls-pair' }])
    session.append('turn/end', { turn: 9, reason: { kind: 'completed' } })
    expect(errors).toEqual(checkLog(session))
    expect(errors).toHaveLength(2)
  })

  test('hot-reloaded at every event it tells nothing of a right log, and of a wrong one each time anew', async () => {
    const { host, errors } = listening()
    let plugin = attachInvariants(host)
    const reload = () => {
      void plugin.then(({ dispose }) => dispose())
      plugin = attachInvariants(host)
    }
    const session = await runAgent(host, { onEvent: reload })
    expect(errors).toEqual([])
    session.append('turn/end', { turn: 9, reason: { kind: 'completed' } })
    expect(new Set(errors.map(error => (error as Error).message)).size).toBe(1)
    expect(errors[0]).toEqual(checkLog(session)[0])
  })

  test('a request that is changed between the loop and the port is told, whatever of it', async () => {
    const changes = [
      { model: 'other' },
      { messages: [] },
      { settings: { temperature: 1 } },
      { system: 'x' },
      { tools: [] },
    ]
    for (const change of changes) {
      const { host, broken } = await watched()
      const emit: Host['emit'] = (name, ...args) => {
        const [request, ...rest] = args as unknown[]
        host.emit(
          name,
          ...((name === 'model/request' ? [{ ...(request as object), ...change }, ...rest] : args) as never),
        )
      }
      await runAgent({ ...host, emit, sessions: host.sessions, agents: host.agents })
      expect(broken()).toEqual(Array(4).fill('request-rebuilds'))
    }
  })
})

describe('a seeded session', () => {
  test('is replayed first: each violation in it is told once, in order, and attaching succeeds', async () => {
    const session = Session.create({ id: 's', now: () => 0 })
    session.append('turn/start', { turn: 2 })
    session.append('tool/result', strayResult, APPEND)
    session.append('turn/end', { turn: 7, reason: { kind: 'completed' } })
    const relations = ['turns-nest', 'turns-nest', 'calls-pair', 'turns-nest']
    for (const adoptFirst of [true, false]) {
      const { host, errors } = listening()
      if (adoptFirst) host.adopt(session)
      await host.use(invariants)
      if (!adoptFirst) host.adopt(session)
      expect(errors.map(error => (error as InvariantError).relation)).toEqual(relations)
      host.adopt(session)
      expect(errors).toHaveLength(relations.length)
    }
  })

  test('an onError that throws keeps nobody from attaching, nor the session from growing', async () => {
    const session = Session.create({ id: 's', now: () => 0 })
    const rethrown = new Promise(resolve => process.once('uncaughtException', resolve))
    session.append('turn/start', { turn: 2 })
    const host = createHost({
      onError: error => {
        throw error
      },
    })
    host.adopt(session)
    await attachInvariants(host)
    expect(await rethrown).toBeInstanceOf(InvariantError)
    expect(session.append('user/message', user('on'), APPEND).seq).toBe(1)
  })
})

describe('a listener of one agent', () => {
  test('that hears another session is told', () => {
    const [mine, other] = ['a', 'b'].map(id => Session.create({ id, now: () => 0 }))
    const agent = { id: 'a', session: mine, status: 'idle' } as unknown as Agent
    const heard: ((event: SessionEvent, session: Session) => void)[] = []
    const ctx = {
      host: { agents: new Map([['a', agent]]) },
      on: () => {},
      forAgent: () => ({ on: (_: string, listen: (typeof heard)[number]) => heard.push(listen) }),
    } as unknown as PluginContext
    const told: unknown[] = []
    scopeIsolated.judgeHost!(ctx, (violation, id) => told.push([violation.seqs, id]))
    heard[0]!(mine!.append('user/message', user('x'), APPEND), mine!)
    expect(told).toEqual([])
    heard[0]!(other!.append('user/message', user('x'), APPEND), other!)
    expect(told).toEqual([[[0], 'b']])
  })
})

describe('a surface of any size', () => {
  test('that is edited at random equals the plain list', async () => {
    const property = fc.asyncProperty(fc.array(fc.nat(1000), { minLength: 80, maxLength: 200 }), async picks => {
      const { host, errors } = await watched()
      const session = Session.create({ now: () => 0 })
      host.adopt(session)
      for (const pick of picks) editOnce(session, pick)
      expect(errors).toEqual([])
    })
    await fc.assert(property, { numRuns: 20 })
  })
})

const strayCall = { toolCallId: 'nobody', toolName: 'x', arguments: '{}' }

const strayResult = {
  turn: 2,
  step: 1,
  toolCallId: 'a',
  message: {
    role: 'tool' as const,
    content: [
      { type: 'tool-result' as const, toolCallId: 'a', toolName: 'x', output: { type: 'text' as const, value: '' } },
    ],
  },
}

/** Mostly appends; else replaces up to five neighbours, or restores what a replacement shadowed. */
function editOnce(session: Session, pick: number): void {
  const seqs = session.surface.seqs()
  const start = pick % Math.max(1, seqs.length)
  const node = seqs.slice(start).find(seq => session.surface.shadowed(seq).length > 0)
  if (pick % 10 === 0 && seqs.length > 0) {
    const range = seqs.slice(start, start + 1 + (pick % 5))
    const surfaceOp = { op: 'replace', start: range[0]!, end: range.at(-1)! } as const
    session.append('user/message', user('sum'), { surfaceOp, sourceEventSeqs: range })
  } else if (pick % 10 === 1 && node !== undefined) {
    session.append('surface/restore', {}, { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [node] })
  } else session.append('user/message', user(`${pick}`), APPEND)
}
