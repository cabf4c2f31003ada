import { createAgent, retry, type Tool } from '@palimpsest/agent-loop'
import { createHost } from '@palimpsest/host'
import { type Chunk, type ModelPort, type ModelRequest, Session } from '@palimpsest/session'
import fc from 'fast-check'
import { never, tool } from './harness.js'

type Behaviour = 'ok' | 'throws' | 'hangs' | 'odd' | 'stops'
interface Reply {
  texts: number
  calls: string[]
  end: 'finish' | 'busy' | 'down' | 'truncated' | 'hangs'
}
export interface Plan {
  replies: Reply[]
  behaviours: Behaviour[]
  /** At this many events something happens to the agent. */
  acts: { at: number; verb: 'cancel' | 'steer' | 'inject' | 'send' | 'configure' | 'dispose' }[]
  parallel: number
  failAt: number
}

export const plans: fc.Arbitrary<Plan> = fc.record({
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

/** Plays a plan to its end. */
export async function playPlan(plan: Plan) {
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

  return { session, admissions, asked, received }
}

// --- internal ---

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
