import { createAgent, defineTool, retry, type Tool } from '@palimpsest/agent-loop'
import { createHost, type Host } from '@palimpsest/host'
import type { Chunk, ModelPort, Session } from '@palimpsest/session'
import type { OpenSession } from '@palimpsest/session-persistence'
import type { Claim, Oracle } from './oracle.js'
import type { Random } from './random.js'
import type { Scheduler } from './scheduler.js'

export interface Scene {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly oracle: Oracle
  /** A loop that does not wait for its `tool/call` to be safe. */
  readonly isHasty?: boolean
}

/** A session that somebody works on. */
export interface Live {
  readonly claim: Claim
  readonly open: OpenSession
  readonly host: Host
  agent: ReturnType<typeof createAgent>
  /** The model says nothing more until it is told to stop. */
  isHanging: boolean
}

export async function startWork(scene: Scene, claim: Claim, open: OpenSession): Promise<Live> {
  const { oracle } = scene
  const host = createHost({ onError: error => oracle.fail(error) })
  await host.use(retry({ attempts: 3, baseDelayMs: 5, maxDelayMs: 20 }))
  await host.use({
    name: 'oracle',
    setup: ctx => void ctx.on('model/request', (request, { length }) => oracle.requested(claim, request, length)),
  })
  const live = { claim, open, host, isHanging: false } as Live
  places.set(open.session, { scene, claim })
  live.agent = startAgent(scene, live)
  return live
}

export function startAgent(scene: Scene, live: Live): ReturnType<typeof createAgent> {
  const { random } = scene
  const { session } = live.open
  return createAgent({
    session: { session, flush: () => flush(scene, live) },
    host: live.host,
    model: modelOf(scene, live),
    tools: [...TOOLS],
    maxSteps: 3,
    maxParallelToolCalls: 1 + random.below(3),
    cancelGraceMs: random.pick([0, 10]),
  })
}

/** What resolves here was acknowledged. */
export async function flush({ oracle, isHasty }: Scene, { claim, open }: Live): Promise<void> {
  const { length } = claim.session
  if (isHasty && claim.session.at(length - 1)?.type === 'tool/call') return
  await open.flush()
  oracle.acknowledged(claim, length)
}

// --- internal ---

type End = 'finish' | 'busy' | 'down' | 'cut' | 'hang' | 'throw'

const ENDS: Readonly<Record<End, number>> = { finish: 16, busy: 2, down: 1, cut: 1, hang: 1, throw: 1 }

/** Where a tool finds itself: the tools are made once, as compiling their schemas is dear. */
const places = new WeakMap<Session, { scene: Scene; claim: Claim }>()

const TOOLS: readonly Tool[] = [
  toolOf('look', { parallelSafe: true }),
  toolOf('find', { parallelSafe: true, timeoutMs: 30 }),
  toolOf('write'),
  toolOf('slow', { timeoutMs: 10 }),
  toolOf('strict', { inputSchema: { type: 'object', required: ['x'] } }),
]
const TOOL_NAMES = [...TOOLS.map(({ name }) => name), 'look', 'look', 'find', 'write', 'unknown']

function modelOf({ scheduler, random }: Scene, live: Live): ModelPort {
  const stream = async function* (signal: AbortSignal): AsyncGenerator<Chunk> {
    for (let left = random.below(3); left > 0; left--) {
      await scheduler.wait('model: text')
      const kind = random.onceIn(4) ? 'reasoning-delta' : 'text-delta'
      yield { type: kind, id: `t${random.below(2)}`, text: `${random.below(1000)} ` }
    }
    for (let left = random.onceIn(2) ? random.below(4) : 0; left > 0; left--) {
      if (random.onceIn(2)) await scheduler.wait('model: call')
      const toolName = random.pick(TOOL_NAMES)
      const input = random.pick(['{}', '{ "x": 1.0 }', '{"x":1}', '{"x"'])
      yield { type: 'tool-call', toolCallId: `c${random.below(6)}`, toolName, input }
    }
    const end = random.weighted(ENDS)
    if (random.onceIn(2)) await scheduler.wait(`model: ${end}`)
    if (end === 'throw') throw new Error('the model port broke')
    if (end === 'hang') return await hang(live, signal)
    if (end === 'finish') yield { type: 'finish', finishReason: 'stop', usage: { inputTokens: random.below(100) } }
    if (end !== 'busy' && end !== 'down') return
    yield { type: 'error', error: { code: 'MODEL_FAILED', message: end, retryable: end === 'busy' } }
  }
  return { model: `model-${random.below(3)}`, stream: (_request, signal) => stream(signal) }
}

function hang(live: Live, signal: AbortSignal): Promise<undefined> {
  // A stream that was left behind is told nothing more.
  if (signal.aborted) return Promise.resolve(undefined)
  live.isHanging = true
  return new Promise(resolve =>
    signal.addEventListener('abort', () => {
      live.isHanging = false
      resolve(undefined)
    }),
  )
}

function toolOf(name: string, options: Partial<Tool> = {}): Tool {
  return defineTool({
    name,
    inputSchema: { type: 'object' },
    ...options,
    async execute(_input, { toolCallId, signal, session }) {
      const { scene, claim } = places.get(session)!
      const { scheduler, random, oracle } = scene
      const run = oracle.toolStarted(claim, toolCallId)
      for (let left = random.below(4); left > 0; left--) {
        await scheduler.wait(`tool ${name}`, random.below(5))
        if (signal.aborted && random.onceIn(2)) throw new Error('stopped')
      }
      // Deaf to the signal, past any time limit and any grace.
      if (random.onceIn(12)) await scheduler.wait(`tool ${name}: deaf`, 60)
      if (random.onceIn(6)) throw new Error('broken')
      if (random.onceIn(12)) return undefined
      const value = `${name} ${random.bits()}`
      oracle.toolReturned(claim, run, value)
      return value
    },
  })
}
