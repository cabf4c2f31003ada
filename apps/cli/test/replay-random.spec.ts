import { closeInterruptedTurn, Session, type SessionEvent } from '@palimpsest/session'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Plan, plans, playPlan } from '../../../packages/core/agent-loop/test/random-plan.js'
import { replaySession } from '../src/replay/replay.js'

const RUNS = Number(process.env.RANDOM_TURNS ?? 200)

const PLAIN: Plan = { replies: [], behaviours: ['ok', 'ok', 'ok', 'ok'], acts: [], parallel: 1, failAt: -1 }
const calling = { texts: 0, calls: ['safe0', 'safe1', 'safe0'], end: 'finish' } satisfies Plan['replies'][number]

test('whatever a model, its tools and its user did, the loop writes the same log again', async () => {
  const property = fc.asyncProperty(plans, async plan => {
    const { session } = await playPlan(plan)
    expect(await replaySession(session)).toMatchObject({ length: session.length, given: 0 })
  })
  await fc.assert(property, { numRuns: RUNS })
})

test.each<[string, string, Partial<Plan>]>([
  [
    'a stop while the retry of a stream that broke off had shown nothing',
    'aborted',
    {
      replies: [
        { texts: 1, calls: [], end: 'truncated' },
        { texts: 0, calls: [], end: 'hangs' },
      ],
    },
  ],
  [
    'a stop at the beginning of a step that only steering asked for',
    'aborted',
    {
      acts: [
        { at: 3, verb: 'steer' },
        { at: 8, verb: 'cancel' },
      ],
    },
  ],
  [
    'a step limit reached while steering was left',
    'max-steps',
    { acts: [3, 8, 13, 18, 23].map(at => ({ at, verb: 'steer' })) },
  ],
  ['calls side by side that the store did not take', 'error', { replies: [calling], parallel: 3, failAt: 1 }],
])('%s is replayed, and so is a death at every place of it', async (_, end, plan) => {
  const { session } = await playPlan({ ...PLAIN, ...plan })
  expect(session.events.find(({ type }) => type === 'turn/end')).toMatchObject({ data: { reason: { kind: end } } })
  expect((await replaySession(session)).difference).toBeUndefined()
  for (let length = 1; length <= session.length; length++) {
    const cut = session.slice(0, length)
    const closed = Session.create({ header: session.header, seed: [...cut, ...closeInterruptedTurn(cut)] })
    expect((await replaySession(closed)).difference).toBeUndefined()
  }
})

test('a process that died anywhere, and was closed by recovery, too', async () => {
  const property = fc.asyncProperty(plans, fc.nat(), async (plan, place) => {
    const { session } = await playPlan(plan)
    const cut = session.slice(0, 1 + (place % session.length))
    const closed = Session.create({ header: session.header, seed: [...cut, ...closeInterruptedTurn(cut)] })
    const report = await replaySession(closed)
    expect(report).toMatchObject({ length: closed.length })
    expect(report.difference).toBeUndefined()
  })
  await fc.assert(property, { numRuns: RUNS })
})

test('a log whose results hold what is none differs, and nothing is thrown', async () => {
  const { session } = await playPlan({
    replies: [{ texts: 0, calls: ['safe0'], end: 'finish' }],
    behaviours: ['ok', 'ok', 'ok', 'ok'],
    acts: [],
    parallel: 1,
    failAt: -1,
  })
  const seed = session.events.map(event => {
    if (event.type !== 'tool/result') return event
    return { ...event, data: { ...event.data, message: { role: 'tool', content: [null] } } }
  }) as SessionEvent[]
  const { difference } = await replaySession(Session.create({ header: session.header, seed }))
  expect(difference).toBeDefined()
})

test('a log that the loop would not write differs where it does', async () => {
  const changes: [string, (event: SessionEvent) => unknown][] = [
    ['assistant/message', ({ data }) => ({ ...data, finishReason: 'length' })],
    ['turn/end', ({ data }) => ({ ...data, note: 'added' })],
    ['tool/result', ({ data }) => ({ ...data, note: 'added' })],
  ]
  for (const [type, change] of changes) {
    let seen = 0
    const property = fc.asyncProperty(plans, async plan => {
      const { session } = await playPlan(plan)
      const seq = session.events.findIndex(event => event.type === type)
      if (seq < 0) return
      const seed = session.events.map(event => (event.seq === seq ? { ...event, data: change(event) } : event))
      const changed = JSON.stringify(seed) !== JSON.stringify(session.events)
      const { difference } = await replaySession(
        Session.create({ header: session.header, seed: seed as SessionEvent[] }),
      )
      if (changed) expect(difference?.seq).toBeLessThanOrEqual(seq)
      seen += changed ? 1 : 0
    })
    await fc.assert(property, { numRuns: 30 })
    expect(seen).toBeGreaterThan(0)
  }
})
