import { closeInterruptedTurn, Session, type SessionEvent } from '@palimpsest/session'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plans, playPlan } from '../../../packages/core/agent-loop/test/random-plan.js'
import { replaySession } from '../src/replay/replay.js'

const RUNS = Number(process.env.RANDOM_TURNS ?? 200)

test('whatever a model, its tools and its user did, the loop writes the same log again', async () => {
  const property = fc.asyncProperty(plans, async plan => {
    const { session } = await playPlan(plan)
    expect(await replaySession(session)).toMatchObject({ length: session.length, given: 0 })
  })
  await fc.assert(property, { numRuns: RUNS })
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
