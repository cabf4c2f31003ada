import type { Session } from '@palimpsest/session'
import { createSession, type SessionBackend } from '@palimpsest/session-persistence'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { gatedBackend, settle, watch } from './backends.js'

// Random appends, flushes, and writes that end late, well or badly, against the obvious model: how many
// events were let through, and whether a write has failed.

type Step = { kind: 'append'; count: number } | { kind: 'flush' } | { kind: 'pass' } | { kind: 'fail' }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('append'), count: fc.integer({ min: 1, max: 5 }) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('flush') }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('pass') }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail') }) },
  ),
  { maxLength: 40 },
)

const boom = new Error('the disk is gone')

test('in any order of appends, flushes and endings of writes, what is acknowledged is durable, once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 6 }), async (script, maxBatch) => {
      const run = await begin(maxBatch)
      for (const step of script) {
        run.take(step)
        await settle()
        await run.check()
      }
      await run.finish()
    }),
    { numRuns: 150 },
  )
})

async function begin(maxBatch: number) {
  const { base, backend, waiting } = gatedBackend()
  const creating = createSession(backend, { id: 'a', maxBatch, maxDelayMs: Number.POSITIVE_INFINITY })
  await settle()
  waiting.shift()!.pass()
  const { session, flush, close } = await creating
  const flushes: { length: number; wasPoisoned: boolean; watched: { state: string } }[] = []
  let durable = 0
  let isPoisoned = false

  function take(step: Step): void {
    if (step.kind === 'append')
      for (let n = 0; n < step.count; n++) session.append('turn/start', { turn: session.length })
    else if (step.kind === 'flush') {
      flushes.push({ length: session.length, wasPoisoned: isPoisoned, watched: watch(flush()) })
    } else endWrite(step.kind)
  }

  function endWrite(kind: 'pass' | 'fail'): void {
    const write = waiting.shift()
    if (write === undefined) return
    write[kind](boom)
    if (kind === 'pass') durable += write.batch.length
    else isPoisoned = true
  }

  function expectedOf({ length, wasPoisoned }: { length: number; wasPoisoned: boolean }): string {
    if (wasPoisoned) return 'rejected'
    if (length <= durable) return 'fulfilled'
    return isPoisoned ? 'rejected' : 'pending'
  }

  async function check(): Promise<void> {
    expect(waiting.length).toBeLessThanOrEqual(isPoisoned ? 0 : 1)
    for (const { batch } of waiting) {
      expect(batch.length).toBeLessThanOrEqual(maxBatch)
      expect(batch[0]?.seq).toBe(durable)
    }
    expect(flushes.map(({ watched }) => watched.state)).toEqual(flushes.map(expectedOf))
    await expectStored(base, session, durable)
  }

  async function finish(): Promise<void> {
    const closed = close().then(
      () => 'closed',
      cause => cause,
    )
    for (await settle(); waiting.length > 0; await settle()) endWrite('pass')
    expect(await closed).toBe(isPoisoned ? boom : 'closed')
    expect(isPoisoned || durable === session.length).toBe(true)
    await check()
  }

  return { take, check, finish }
}

async function expectStored(base: SessionBackend, session: Session, durable: number): Promise<void> {
  expect((await base.read('a'))?.events).toEqual(session.slice(0, durable))
}
