import { test as nodeTest } from 'node:test'
import { createMemoryBackend, createSession, openSession, type SessionBackend } from '@palimpsest/session-persistence'
import type { TestRunner } from '@palimpsest/session-persistence/conformance'
import { expect, test } from 'vitest'

// The refusals are the compiler's; nothing here runs but the creation of a backend.
test('the compiler refuses what cannot be meant', () => {
  const backend = createMemoryBackend()
  const neverCalled = async () => {
    // @ts-expect-error an option that does not exist
    await createSession(backend, { maxDelay: 5 })
    // @ts-expect-error the id of an existing session is no option
    await openSession(backend, { id: 'a' })
    // @ts-expect-error a header member of another type
    await createSession(backend, { header: { cwd: 5 } })
    const { report, session } = await openSession(backend, 'a', { takeover: true })
    // @ts-expect-error whether a session can be written to is found, not set
    report.readOnly satisfies string
    // @ts-expect-error the session of an open session stays the same
    ;(await openSession(backend, 'a')).session = session
    // @ts-expect-error a backend without leases
    ;({ supports: { lazyEvents: false }, read: async () => undefined }) satisfies SessionBackend
  }
  expect(neverCalled).toBeTypeOf('function')
})

test('the kit takes the test functions of vitest and of node', () => {
  const runners: TestRunner[] = [{ test }, { test: nodeTest }]
  expect(runners).toHaveLength(2)
})
