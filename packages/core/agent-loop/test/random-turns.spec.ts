import { createAgent, retry, type Tool } from '@palimpsest/agent-loop'
import { createHost } from '@palimpsest/host'
import { type Chunk, type ModelPort, type ModelRequest, Session, type SessionEvent } from '@palimpsest/session'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { never, tool } from './harness.js'

type Behaviour = 'ok' | 'throws' | 'hangs' | 'odd' | 'stops'
interface Reply {
  texts: number
  calls: string[]
  end: 'finish' | 'busy' | 'down' | 'truncated' | 'hangs'
}
interface Plan {
  replies: Reply[]
  behaviours: Behaviour[]
  /** At this many events something happens to the agent. */
  acts: { at: number; verb: 'cancel' | 'steer' | 'inject' | 'send' | 'configure' | 'dispose' }[]
  parallel: number
  failAt: number
}

const plans: fc.Arbitrary<Plan> = fc.record({
  replies: fc.array(
    fc.record({
      texts: fc.nat(2),
      calls: fc.array(fc.constantFrom('safe0', 'safe1', 'alone0', 'alone1', 'unknown', 'strict'), { maxLength: 4 }),
      end: fc.constantFrom('finish', 'finish', 'finish', 'busy', 'down', 'truncated', 'hangs'),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  behaviours: fc.array(fc.constantFrom('ok', 'ok', 'throws', 'hangs', 'odd', 'stops'), { minLength: 4, maxLength: 4 }),
  acts: fc.array(
    fc.record({
      at: fc.nat(60),
      verb: fc.constantFrom('cancel', 'cancel', 'steer', 'inject', 'send', 'configure', 'dispose'),
    }),
    { maxLength: 5 },
  ),
  parallel: fc.integer({ min: 1, max: 3 }),
  failAt: fc.oneof(fc.constant(-1), fc.nat(8)),
}) as fc.Arbitrary<Plan>

describe('whatever a model, its tools and its user do', () => {
  test('turns and steps nest, calls pair, and every request is the log’s own', async () => {
    await fc.assert(fc.asyncProperty(plans, runPlan), { numRuns: Number(process.env.RANDOM_TURNS ?? 300) })
  })
})

async function runPlan(plan: Plan): Promise<void> {
  const session = Session.create({ id: 's', now: () => 0, onListenerError: fail })
  const host = createHost({ onError: fail })
  const asked: { request: ModelRequest; length: number }[] = []
  const received: ModelRequest[] = []
  await host.use(retry({ attempts: 2, sleep: async () => {} }))
  await host.use({
    name: 'watch',
    setup: ctx =>
      void ctx.on('model/request', (request, { length }) => {
        asked.push({ request, length })
      }),
  })
  let flushes = 0
  const flush = async () => {
    if (flushes++ === plan.failAt) throw new Error('disk full')
  }
  const agent = createAgent({
    session,
    host,
    flush,
    model: modelOf(plan, received, () => agent.cancel('it hangs')),
    tools: toolsOf(plan, () => agent.cancel('a tool hangs')),
    maxSteps: 4,
    maxParallelToolCalls: plan.parallel,
    cancelGraceMs: 0,
  })
  const admissions: Promise<number>[] = []
  session.on(({ seq }) => {
    for (const { at, verb } of plan.acts) if (at === seq) admissions.push(...act(agent, verb))
  })
  admissions.push(agent.send('go').admitted)
  await agent.idle()
  await agent.dispose()

  const admitted = await Promise.allSettled(admissions)
  const seqs = admitted.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
  for (const seq of seqs) expect(session.at(seq)?.type).toMatch(/^(user|steering|context)\/message$/)
  expect(new Set(seqs).size).toBe(seqs.length)
  checkNesting(session.events)
  checkCalls(session.events)
  expect(received).toEqual(asked.map(({ request }) => request))
  for (const { request, length } of asked) expect(session.requestAt(length)).toEqual(request)
  expect(Session.create({ seed: session.events }).deriveMessages()).toEqual(session.deriveMessages())
}

function fail(error: unknown): never {
  throw error
}

function act(agent: ReturnType<typeof createAgent>, verb: Plan['acts'][number]['verb']): Promise<number>[] {
  if (agent.status === 'disposed') return []
  if (verb === 'cancel') agent.cancel()
  else if (verb === 'dispose') void agent.dispose()
  else if (verb === 'configure') agent.configure({ system: `system ${agent.session.length}` })
  else if (verb === 'inject') return [agent.inject('context', 'test').admitted]
  else return [agent[verb](verb).admitted]
  return []
}

function modelOf({ replies }: Plan, received: ModelRequest[], hang: () => void): ModelPort {
  return {
    model: 'random',
    async *stream(request): AsyncGenerator<Chunk> {
      const { texts, calls, end } = replies[received.push(request) - 1] ?? { texts: 1, calls: [], end: 'finish' }
      for (let i = 0; i < texts; i++) yield { type: 'text-delta', id: 't', text: `${i}` }
      for (const toolName of calls) {
        yield { type: 'tool-call', toolCallId: `c${received.length % 2}`, toolName, input: '{}' }
      }
      if (end === 'finish') yield { type: 'finish', finishReason: 'stop' }
      if (end === 'busy' || end === 'down') {
        yield { type: 'error', error: { code: 'FAILED', message: end, retryable: end === 'busy' } }
      }
      if (end === 'hangs') {
        hang()
        await never
      }
    },
  }
}

function toolsOf({ behaviours }: Plan, hang: () => void): Tool[] {
  const run: Record<Behaviour, Tool['execute']> = {
    ok: () => 'ok',
    throws: () => Promise.reject(new Error('no')),
    odd: () => undefined,
    hangs: () => {
      hang()
      return never
    },
    stops: async (_, { signal }) => {
      hang()
      signal.throwIfAborted()
      return 'stopped too late'
    },
  }
  const named = ['safe0', 'safe1', 'alone0', 'alone1'].map((name, i) =>
    tool(name, run[behaviours[i]!], { parallelSafe: name.startsWith('safe') }),
  )
  return [...named, tool('strict', () => 1, { inputSchema: { required: ['x'] } })]
}

/** A naive model: brackets that open and close, and numbers that count. */
function checkNesting(events: readonly SessionEvent[]): void {
  let turn = 0
  let step = 0
  let depth = 0
  for (const { type, data } of events) {
    const at = data as { turn: number; step: number }
    if (type === 'turn/start') {
      expect([depth++, at.turn]).toEqual([0, ++turn])
      step = 0
    } else if (type === 'step/start') expect([depth++, at.turn, at.step]).toEqual([1, turn, ++step])
    else if (type === 'step/end') expect([depth--, at.turn, at.step]).toEqual([2, turn, step])
    else if (type === 'turn/end') expect([depth--, at.turn]).toEqual([1, turn])
    else if (type === 'user/message') expect([depth, step]).toEqual([1, 0])
    else expect(depth).toBe(2)
  }
  expect(depth).toBe(0)
}

/** Each call of a message has one result behind it, in order, that cites its `tool/call`, or the message where none was logged. */
function checkCalls(events: readonly SessionEvent[]): void {
  let open: string[] = []
  let message = -1
  let begun = new Map<string, number>()
  for (const event of events) {
    if (event.type === 'assistant/message') {
      open = event.data.message.content.flatMap(part => (part.type === 'tool-call' ? [part.toolCallId] : []))
      expect(new Set(open).size).toBe(open.length)
      message = event.seq
      begun = new Map()
    } else if (event.type === 'tool/call') {
      expect(open).toContain(event.data.toolCallId)
      expect(begun.has(event.data.toolCallId)).toBe(false)
      begun.set(event.data.toolCallId, event.seq)
    } else if (event.type === 'tool/settled') {
      expect(begun.has(event.data.toolCallId)).toBe(true)
    } else if (event.type === 'tool/result') {
      expect(event.data.toolCallId).toBe(open.shift())
      expect(event.sourceEventSeqs).toEqual([begun.get(event.data.toolCallId) ?? message])
    } else if (event.type === 'step/end') expect(open).toEqual([])
  }
}
