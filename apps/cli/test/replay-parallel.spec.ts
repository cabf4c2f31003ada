import { createAgent, defineTool } from '@palimpsest/agent-loop'
import { createHost } from '@palimpsest/host'
import { scriptedModel } from '@palimpsest/model-scripted'
import { closeInterruptedTurn, Session } from '@palimpsest/session'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { replaySession } from '../src/replay/replay.js'

const RUNS = Number(process.env.RANDOM_TURNS ?? 200)

/** What becomes of one call, and how many rounds of the event loop each part of it takes. */
interface Fate {
  readonly kind: 'ok' | 'throws' | 'denied' | 'unfit' | 'unknown' | 'deaf' | 'yields'
  readonly asked: number
  readonly runs: number
}

interface Plan {
  readonly fates: readonly Fate[]
  readonly width: number
  readonly flushes: number
  readonly failAt: number
  /** The round at which the turn is stopped. */
  readonly stopAt: number
  readonly verb: 'cancel' | 'dispose'
}

const plans: fc.Arbitrary<Plan> = fc.record({
  fates: fc.array(
    fc.record({
      kind: fc.constantFrom('ok', 'ok', 'throws', 'denied', 'unfit', 'unknown', 'deaf', 'yields'),
      asked: fc.nat(3),
      runs: fc.nat(6),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  width: fc.integer({ min: 1, max: 4 }),
  flushes: fc.nat(2),
  failAt: fc.oneof(fc.constant(-1), fc.integer({ min: 1, max: 6 })),
  stopAt: fc.oneof(fc.constant(-1), fc.nat(14)),
  verb: fc.constantFrom('cancel', 'cancel', 'dispose'),
})

test('calls side by side that are asked about, refused, late, stopped or not made safe are replayed', async () => {
  const property = fc.asyncProperty(plans, fc.nat(), async (plan, place) => {
    const session = await play(plan)
    expect((await replaySession(session)).difference).toBeUndefined()
    const cut = session.slice(0, 1 + (place % session.length))
    const closed = Session.create({ header: session.header, seed: [...cut, ...closeInterruptedTurn(cut)] })
    expect((await replaySession(closed)).difference).toBeUndefined()
  })
  await fc.assert(property, { numRuns: RUNS })
})

// --- internal ---

async function play({ fates, width, flushes, failAt, stopAt, verb }: Plan): Promise<Session> {
  const session = Session.create({ id: 's', now: () => 0 })
  const host = createHost()
  const fateOf = (id: string) => fates[Number(id)]!
  await host.use({
    name: 'asks first',
    setup: ctx =>
      void ctx.around('tool/execute', async ({ toolCallId }, next) => {
        const { asked, kind } = fateOf(toolCallId)
        await rounds(asked)
        if (kind === 'denied') throw new Error('not now')
        return next()
      }),
  })
  const tool = (name: string, inputSchema = {}) =>
    defineTool({
      name,
      parallelSafe: true,
      inputSchema: { type: 'object', ...inputSchema },
      execute: (_, { toolCallId, signal }) => runBody(fateOf(toolCallId), signal),
    })
  const toolCalls = fates.map(({ kind }, i) => ({
    toolName: kind === 'unfit' || kind === 'unknown' ? kind : 'fit',
    toolCallId: `${i}`,
    input: {},
  }))
  let flushed = 0
  const agent = createAgent({
    session,
    host,
    model: scriptedModel([{ toolCalls }, { text: 'done' }]),
    tools: [tool('fit'), tool('unfit', { required: ['x'] })],
    flush: async () => {
      const isBad = flushed++ === failAt
      await rounds(flushes)
      if (isBad) throw new Error('disk full')
    },
    maxParallelToolCalls: width,
    cancelGraceMs: 0,
  })
  agent.send('go')
  if (stopAt >= 0) void rounds(stopAt).then(() => void agent[verb]())
  await agent.idle()
  await agent.dispose()
  return session
}

async function runBody({ kind, runs }: Fate, signal: AbortSignal): Promise<string> {
  for (let round = 0; round < runs; round++) {
    await rounds(1)
    if (kind === 'yields') signal.throwIfAborted()
  }
  if (kind === 'throws') throw new Error('no')
  return kind === 'deaf' ? rounds(1000).then(() => 'too late') : 'ok'
}

/** Of the event loop: an order, not a time. */
async function rounds(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(resolve => setImmediate(resolve))
}
