import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Agent, createAgent, defineTool } from '@palimpsest/agent-loop'
import { compact, restore } from '@palimpsest/history'
import type { Session } from '@palimpsest/session'
import { createSession, type OpenSession, openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Loopback } from './loopback.js'
import { RAWS, type Vendor, vendors } from './vendors.js'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const doomed = fileURLToPath(new URL('doomed-agent.mjs', import.meta.url))
const tsc = 'node_modules/typescript/bin/tsc'
const BUILT = [
  'packages/adapters/model-ai-sdk',
  'packages/core/agent-loop',
  'packages/session-persistence/session-persistence-jsonl',
]

let server: Loopback
let directory: string
beforeEach(async () => {
  server = await Loopback.start()
  directory = await mkdtemp(join(tmpdir(), 'palimpsest-'))
})
afterEach(async () => {
  await server.stop()
  await rm(directory, { recursive: true, force: true })
})

const look = defineTool({ name: 'look', inputSchema: { type: 'object' }, effect: 'read', execute: () => 'seen' })

/** A session in a file, with an agent, and a way to close both and take them up again. */
class Stored {
  readonly #vendor: Vendor
  readonly #backend = createJsonlBackend({ directory })
  #open: OpenSession
  agent: Agent

  private constructor(vendor: Vendor, open: OpenSession) {
    this.#vendor = vendor
    this.#open = open
    this.agent = this.#agent(vendor)
  }

  static async create(vendor: Vendor): Promise<Stored> {
    return new Stored(vendor, await createSession(createJsonlBackend({ directory }), { id: 's' }))
  }

  static async open(vendor: Vendor): Promise<Stored> {
    return new Stored(vendor, await openSession(createJsonlBackend({ directory }), 's'))
  }

  get session(): Session {
    return this.#open.session
  }

  /** Sends `text`; gives back the body of the last request that it led to. */
  async say(text: string, ...answers: Loopback['answers']): Promise<string> {
    server.answers.push(...answers)
    this.agent.send(text)
    await this.agent.idle()
    const end = this.session.events.at(-1)
    expect(end).toMatchObject({ type: 'turn/end', data: { reason: { kind: 'completed' } } })
    return server.seen.at(-1)?.body ?? ''
  }

  async reopen(): Promise<void> {
    await this.agent.dispose()
    await this.#open.close()
    this.#open = await openSession(this.#backend, 's')
    expect(this.#open.report).toMatchObject({ damage: [], readOnly: false })
    this.agent = this.#agent(this.#vendor)
  }

  async close(): Promise<void> {
    await this.agent.dispose()
    await this.#open.close()
  }

  #agent(vendor: Vendor): Agent {
    return createAgent({ session: this.#open, model: vendor.port(server.url), tools: [look] })
  }
}

const kinds = vendors.filter(({ isTwin }) => !isTwin)

describe.each(kinds)('what $name signed and sealed, and the arguments it wrote', vendor => {
  const sent = vendor.sent('a', RAWS)

  test('come back byte for byte: in the next request, and after the file was closed and opened again', async () => {
    const stored = await Stored.create(vendor)
    expect(await stored.say('Go.', vendor.calls('a', RAWS), vendor.says('Done.'))).toContain(sent)
    expect(await stored.say('On.', vendor.says('Yes.'))).toContain(sent)
    const live = stored.session.deriveMessages()
    await stored.reopen()
    expect(stored.session.deriveMessages()).toEqual(live)
    expect(await stored.say('And?', vendor.says('Well.'))).toContain(sent)
    await stored.close()
  })

  test('come back after a compaction of what was before, and once their own was undone', async () => {
    const stored = await Stored.create(vendor)
    await stored.say('Tell.', vendor.says('It is long. '.repeat(200)))
    await stored.say('Go.', vendor.calls('a', RAWS), vendor.says('Done. '.repeat(200)))
    const [first = 0, second = 0, third = 0] = stored.session.surface.seqs()
    const last = stored.session.surface.last ?? 0
    await compact(stored.session, { range: { start: first, end: second }, summarize: async () => 'It was long.' })
    expect(await stored.say('1', vendor.says('one'))).toContain(sent)
    await stored.reopen()
    expect(await stored.say('2', vendor.says('two'))).toContain(sent)
    const { node } = await compact(stored.session, {
      range: { start: third, end: last },
      summarize: async () => 'It looked.',
    })
    const without = await stored.say('3', vendor.says('three'))
    expect(without).toContain('It looked.')
    expect(without).not.toContain('sealed-a')
    await stored.reopen()
    restore(stored.session, node)
    expect(await stored.say('4', vendor.says('four'))).toContain(sent)
    await stored.reopen()
    expect(await stored.say('5', vendor.says('five'))).toContain(sent)
    await stored.close()
  })
})

const killable = vendors.filter(({ name }) => name === 'anthropic' || name === 'openai-compatible')

describe.each(killable)('after kill -9 of a process that waits for $name', vendor => {
  beforeAll(() => promisify(execFile)(process.execPath, [tsc, '-b', ...BUILT], { cwd: root }))

  test('what came before is sent as that process had sent it', async () => {
    const asked = new Promise<void>(resolve => server.answers.push(vendor.calls('a', RAWS), () => resolve()))
    const child = spawn(process.execPath, [doomed, directory, server.url, vendor.name], { stdio: 'inherit' })
    const closed = once(child, 'close')
    try {
      await Promise.race([asked, closed.then(([code]) => Promise.reject(new Error(`it ended with ${code}`)))])
    } finally {
      child.kill('SIGKILL')
    }
    expect(await closed).toEqual([null, 'SIGKILL'])
    const sent = vendor.sent('a', RAWS)
    expect(server.seen[1]?.body).toContain(sent)
    const stored = await Stored.open(vendor)
    expect(await stored.say('On.', vendor.says('Yes.'))).toContain(sent)
    await stored.close()
  })
})
