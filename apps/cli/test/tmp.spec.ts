import { test } from 'vitest'
import { playPlan } from '../../../packages/core/agent-loop/test/random-plan.js'
import { replaySession } from '../src/replay/replay.js'
test('x', async () => {
  const plan = JSON.parse(process.env.PLAN!)
  const { session } = await playPlan(plan)
  for (const e of session.events) console.log(e.seq, e.type, JSON.stringify(e.data).slice(0,150))
  const r = await replaySession(session)
  console.log(JSON.stringify(r, null, 1))
})
