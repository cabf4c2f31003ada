import type { Check, TestStore } from './conformance/check.js'
import { checkFollowing } from './conformance/following.js'
import { checkForks } from './conformance/forks.js'
import { checkHostileInput } from './conformance/hostile.js'
import { checkLeases } from './conformance/leases.js'
import { checkListing } from './conformance/listing.js'
import { checkRecovery } from './conformance/recovery.js'
import { checkSessions } from './conformance/sessions.js'
import { checkStoring } from './conformance/storing.js'
import type { SessionBackend } from './port.js'

/** A new, empty store for one test. A bare backend will do, but then nothing is seen through other eyes. */
export interface OpenedStore {
  backend: SessionBackend
  /** Another backend over the same data while the first one lives on, as another process would have it. */
  reopen?(): SessionBackend | Promise<SessionBackend>
  /** Takes the data away, once all backends are closed. */
  dispose?(): void | Promise<void>
}

export interface ConformanceOptions {
  /** Called once for each test. */
  open(): SessionBackend | OpenedStore | Promise<SessionBackend | OpenedStore>
  /** The backend's own checks, over the same fresh stores. */
  additionalTests?(check: Check): void
}

/** `test` of vitest, node:test, or anything that takes a name and an async function. */
export interface TestRunner {
  test(name: string, body: () => Promise<void>): unknown
}

/**
 * Registers the contract of `SessionBackend` as tests: every backend's spec is this and its own extras.
 *
 * ```ts
 * import { test } from 'vitest'
 * import { testBackend } from '@palimpsest/session-persistence/conformance'
 *
 * testBackend('mine', {
 *   open: () => {
 *     const file = newTemporaryFile()
 *     return {
 *       backend: createMyBackend({ file }),
 *       reopen: () => createMyBackend({ file }),
 *       dispose: () => rm(file),
 *     }
 *   },
 *   additionalTests: check => check('a row is dense', async ({ backend }) => { … }),
 * }, { test })
 * ```
 *
 * A check fails by throwing an error that says what was expected and what was found; the runner needs
 * no assertions of its own. Every check has a store to itself, so they may run side by side. They
 * cover what a backend stores and refuses, its leases, forks, listing and removal, what follows it, and what the
 * sessions opened over it can rely on. They do not cover crashes and damage: how a store breaks is
 * its own affair, and so are the tests of it.
 */
export function testBackend(name: string, options: ConformanceOptions, { test }: TestRunner): void {
  const check: Check = (what, body) => {
    test(`${name}: ${what}`, () => withStore(options, body))
  }
  checkStoring(check)
  checkHostileInput(check)
  checkLeases(check)
  checkForks(check)
  checkListing(check)
  checkFollowing(check)
  checkSessions(check)
  checkRecovery(check)
  options.additionalTests?.(check)
}

export type { Check, TestStore }

// --- internal ---

async function withStore({ open }: ConformanceOptions, body: (store: TestStore) => Promise<void>): Promise<void> {
  const opened = await open()
  const { backend, reopen, dispose }: OpenedStore = 'acquire' in opened ? { backend: opened } : opened
  const backends = [backend]
  const store: TestStore = {
    backend,
    reopen: async () => {
      const another = reopen === undefined ? backend : await reopen.call(opened)
      backends.push(another)
      return another
    },
  }
  try {
    await body(store)
  } finally {
    for (const one of new Set(backends)) await one.close()
    await dispose?.call(opened)
  }
}
