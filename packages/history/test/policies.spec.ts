import { createAgent } from '@palimpsest/agent-loop'
import {
  type CompactionOptions,
  compaction,
  isLegalRange,
  recallTool,
  restore,
  summarizeWith,
  toolResultPrune,
} from '@palimpsest/history'
import { createHost } from '@palimpsest/host'
import { attachInvariants } from '@palimpsest/invariants'
import { scriptedModel } from '@palimpsest/model-scripted'
import { type ModelPort, type ModelRequest, Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { replacements, unedited } from './random-history.js'
import { eventsOf } from './samples.js'

const countTokens = (text: string) => Math.ceil(text.length / 4)
const sizeOf = ({ system = '', tools = [], messages }: ModelRequest) =>
  countTokens(system) +
  countTokens(JSON.stringify(tools)) +
  countTokens(JSON.stringify(messages.map(({ content }) => content)))

/** Two steps a turn: a look, whose result is long, and an answer. */
const busyModel = () =>
  scriptedModel((request, n) => {
    const last = request.messages.at(-1)!
    if (last.role === 'tool') return { text: `found it, answer ${n}` }
    return { text: 'let me look', toolCalls: [{ toolName: 'look', input: { path: `src/f${n % 9}.ts` } }] }
  })

const look = {
  name: 'look',
  inputSchema: { type: 'object' },
  execute: ({ path }: { path?: string }) => `${path} `.repeat(400),
}

function watch(model: ModelPort, requests: ModelRequest[]): ModelPort {
  return {
    model: model.model,
    stream: (request, signal) => {
      requests.push(request)
      return model.stream(request, signal)
    },
  }
}

async function play(options: Partial<CompactionOptions>, turns: number, model = busyModel()) {
  const errors: unknown[] = []
  const requests: ModelRequest[] = []
  const host = createHost({ onError: error => errors.push(error) })
  await attachInvariants(host)
  await host.use(compaction({ window: 8_000, summarize: async () => 'the talk so far', countTokens, ...options }))
  const session = Session.create({ now: () => 0 })
  const illegal: unknown[] = []
  session.on(event => {
    if (event.type === 'compaction/start' && !isLegalRange(session, event.data)) illegal.push(event.data)
  })
  const agent = createAgent({ session, model: watch(model, requests), host, tools: [look], system: 'Be brief.' })
  for (let turn = 1; turn <= turns; turn++) {
    agent.send(`task ${turn}: look and tell`)
    await agent.idle()
  }
  return { session, requests, errors, illegal }
}

describe('the automatic compaction', () => {
  test('a hundred turns stay below their budget at every step; the log is whole and every cut was legal', async () => {
    const { session, requests, errors, illegal } = await play({}, 100)
    expect(errors).toEqual([])
    expect(illegal).toEqual([])
    for (const request of requests) expect(sizeOf(request)).toBeLessThan(8_000)
    expect(eventsOf(session, 'turn/end')).toHaveLength(100)
    expect(eventsOf(session, 'compaction/end').length).toBeGreaterThan(5)
    for (const { data } of eventsOf(session, 'compaction/end')) expect(data).not.toHaveProperty('error')
    const { length } = session
    for (let nodes = replacements(session); nodes.length > 0; nodes = replacements(session)) {
      for (const node of nodes) restore(session, node)
    }
    expect(session.length).toBeGreaterThan(length)
    expect(session.deriveMessages()).toEqual(unedited(session))
  })

  test('asks the model on the prefix of the last request', async () => {
    const requests: ModelRequest[] = []
    const summarizer = watch(
      scriptedModel(() => ({ text: 'in short' })),
      requests,
    )
    const { session, errors } = await play({ summarize: summarizeWith(summarizer) }, 12)
    expect(errors).toEqual([])
    const [request] = requests
    const header = eventsOf(session, 'request/header')[0]!.data
    expect(request).toMatchObject({ ...header, settings: {} })
    const start = eventsOf(session, 'compaction/start')[0]!
    const asked = session.messagesAt(start.seq).slice(0, start.data.seqs.length)
    expect(request!.messages.slice(0, -1)).toEqual(asked)
    expect(request!.messages.at(-1)!.role).toBe('user')
  })

  test('a summary that does not help is reported and not asked for at every step again', async () => {
    let asked = 0
    const summarize = async () => {
      asked++
      return 'x'.repeat(1_000_000)
    }
    const { errors, requests } = await play({ summarize }, 30)
    expect(errors.length).toBe(asked)
    expect(errors[0]).toMatchObject({ code: 'COMPACTION_SUMMARY_NOT_SMALLER' })
    expect(asked).toBeLessThan(requests.length / 3)
  })

  test('a request refused for its length is compacted and tried again, once', async () => {
    let refusals = 0
    const answers = busyModel()
    const picky: ModelPort = {
      model: answers.model,
      stream: (request, signal) =>
        sizeOf(request) > 2_000 && refusals++ < 3
          ? scriptedModel([
              { error: { code: 'invalid_request_error', message: 'prompt is too long: 250000 tokens' } },
            ]).stream(request, signal)
          : answers.stream(request, signal),
    }
    const { session } = await play({ window: 1_000_000 }, 3, picky)
    expect(refusals).toBeGreaterThan(0)
    expect(eventsOf(session, 'compaction/end').length).toBeGreaterThan(0)
    const ends = eventsOf(session, 'turn/end').map(({ data }) => data.reason.kind)
    expect(ends[0]).toBe('completed')
  })

  test('refuses options that cannot be', () => {
    const summarize = async () => 's'
    expect(() => compaction({ window: 0, summarize })).toThrow(RangeError)
    expect(() => compaction({ window: 1, threshold: 2, summarize })).toThrow(RangeError)
    expect(() => compaction({ window: 1 } as CompactionOptions)).toThrow(TypeError)
  })
})

describe('the automatic pruning', () => {
  test('prunes in batches while the agent works, and the model reads one back', async () => {
    const errors: unknown[] = []
    const host = createHost({ onError: error => errors.push(error) })
    await attachInvariants(host)
    await host.use(toolResultPrune({ everyTokens: 2_000, countTokens }))
    const session = Session.create({ now: () => 0 })
    const model = scriptedModel(({ messages }, n) => {
      const standIn = /recall seq (\d+)/.exec(JSON.stringify(messages))
      if (messages.at(-1)!.role === 'tool') return { text: 'good' }
      if (standIn) return { toolCalls: [{ toolName: 'recall', input: { seq: Number(standIn[1]) } }] }
      return { toolCalls: [{ toolName: 'look', input: { path: `f${n}` } }] }
    })
    const agent = createAgent({ session, model, host, tools: [look, recallTool(session)] })
    for (let turn = 1; turn <= 40; turn++) {
      agent.send(`task ${turn}`)
      await agent.idle()
    }
    expect(errors).toEqual([])
    const passes = eventsOf(session, 'prune/applied')
    expect(passes.length).toBeGreaterThan(1)
    expect(passes.flatMap(({ data }) => data.nodes).length).toBeGreaterThan(2 * passes.length)
    const recalled = eventsOf(session, 'tool/call').filter(({ data }) => data.toolName === 'recall')
    expect(recalled.length).toBeGreaterThan(0)
    const answer = eventsOf(session, 'tool/result').find(
      ({ data }) => data.toolCallId === recalled[0]!.data.toolCallId,
    )!
    expect(JSON.stringify(answer.data)).toContain('f0 f0')
  })

  test('allows one pass for each started stretch of tokens appended, and waits for what is worth it', async () => {
    const host = createHost()
    await host.use(toolResultPrune({ everyTokens: 10_000, enoughTokens: 2_000, countTokens }))
    const session = Session.create({ now: () => 0 })
    const agent = createAgent({ session, model: busyModel(), host, tools: [look] })
    for (let turn = 1; turn <= 60; turn++) {
      agent.send(`task ${turn}`)
      await agent.idle()
      const messages = session.markers().filter(({ surfaceOp }) => surfaceOp === 'append')
      const appended = messages.reduce(
        (sum, { seq }) => sum + countTokens(JSON.stringify((session.at(seq)!.data as { message: unknown }).message)),
        0,
      )
      expect(eventsOf(session, 'prune/applied').length).toBeLessThanOrEqual(Math.ceil(appended / 10_000))
    }
    const passes = eventsOf(session, 'prune/applied')
    expect(passes.length).toBeGreaterThan(3)
    for (const { data } of passes) {
      const before = data.cachedPrefix.tokens + data.cachedPrefix.tokensBroken
      expect(data.tokensSaved).toBeGreaterThanOrEqual(Math.min(2_000, before / 2))
    }
  })

  test('goes on counting in a session that was reopened', async () => {
    const host = createHost()
    await host.use(toolResultPrune({ everyTokens: 1_000_000, countTokens }))
    const first = Session.create({ now: () => 0 })
    const run = async (session: Session, turns: number) => {
      const agent = createAgent({ session, model: busyModel(), host, tools: [look] })
      for (let turn = 1; turn <= turns; turn++) {
        agent.send(`task ${turn}`)
        await agent.idle()
      }
      await agent.dispose()
    }
    await run(first, 20)
    expect(eventsOf(first, 'prune/applied')).toHaveLength(1)
    const reopened = Session.create({ header: first.header, seed: first.events })
    await run(reopened, 20)
    expect(eventsOf(reopened, 'prune/applied')).toHaveLength(1)
  })

  test('refuses options that cannot be', () => {
    expect(() => toolResultPrune({ everyTokens: 0 })).toThrow(RangeError)
    expect(() => toolResultPrune({ minShare: 1.5 })).toThrow(RangeError)
    expect(() => toolResultPrune({ enoughTokens: -1 })).toThrow(RangeError)
  })
})
