import { type Agent as AgentShape, type AgentStatus, createHost, type Host, type Input } from '@palimpsest/host'
import type { ModelPort, Session } from '@palimpsest/session'
import { type AgentSettings, createConfig } from './config.js'
import { claimSession, releaseSession } from './driver.js'
import { createDurability } from './durability.js'
import { AgentError, messageOf } from './errors.js'
import { createEntry, createInbox, rejectDisposed } from './inbox.js'
import type { Limits, Loop } from './loop.js'
import { requireOptions, requireSettings } from './misuse.js'
import { runTurn } from './turn.js'
import { MAX_TIMER_MS } from './until-stopped.js'

export interface Agent extends AgentShape {
  /** From the next step on. What is left out stays; an empty `system` is none. */
  configure(changes: AgentSettings): void
}

/** A session that brings its own flush: what `openSession` and `createSession` of a store give. */
export interface DurableSession {
  readonly session: Session
  flush(): Promise<void>
}

export interface AgentOptions extends AgentSettings {
  session: Session | DurableSession
  model: ModelPort
  /** Default: a host of its own, where nobody listens. */
  host?: Host
  /** Resolves when all that is logged is durable. Without it, and with a bare session, the agent is in memory only. */
  flush?: () => Promise<void>
  /** Requests in one turn, a whole number from 1 or `Infinity`; then the turn ends with `max-steps`. Default 100. */
  maxSteps?: number
  /** Neighbouring `parallelSafe` calls that run side by side, a whole number from 1 or `Infinity`. Default 8. */
  maxParallelToolCalls?: number
  /** How long a started tool that was told to stop may still take to answer, in milliseconds. Default 1,000. */
  cancelGraceMs?: number
}

/**
 * Turns run one after another, each begun by what was sent; nothing is appended before. One agent at a time
 * drives a session: while one is `running`, a send to another throws `SESSION_BUSY`. Throws a `TypeError` or
 * `RangeError` for options that cannot be, `NOT_LOSSLESS_JSON` for settings or schemas that cannot be logged.
 */
export function createAgent(options: AgentOptions): Agent {
  requireOptions(options)
  const { session, flush } = sessionOf(options)
  const host = options.host ?? createHost()
  const inbox = createInbox()
  let parts = settingsOf(options)
  let status: AgentStatus = 'idle'
  let running: Promise<void> | undefined
  let disposing: Promise<Input[]> | undefined
  const idlers: (() => void)[] = []

  const agent: Agent = Object.freeze({
    id: freeId(host, session.id),
    session,
    get status() {
      return status
    },
    send: content => take('send', content),
    steer: content => take(status === 'idle' ? 'send' : 'steer', content),
    inject: (content, origin) => take('inject', content, origin),
    configure(changes) {
      refuseDisposed()
      requireSettings('configure', changes)
      const next = { ...parts, ...settingsOf(changes) }
      loop.config = createConfig(next)
      parts = next
    },
    cancel: reason =>
      loop.running?.stop({ kind: 'aborted', ...(reason === undefined ? {} : { reason: messageOf(reason) }) }),
    idle: () => (status === 'running' ? new Promise(resolve => idlers.push(resolve)) : Promise.resolve()),
    dispose: () => (disposing ??= dispose()),
  } satisfies Agent)

  const loop: Loop = {
    agent,
    session,
    host,
    inbox,
    durability: createDurability(flush),
    limits: limitsOf(options),
    config: createConfig(parts),
  }

  const take = (kind: Input['kind'], content: Parameters<Agent['send']>[0], origin?: string) => {
    refuseDisposed()
    const { entry, admission } = createEntry(kind, content, origin)
    const wakes = kind !== 'inject' && status === 'idle'
    if (wakes) claimSession(session, agent)
    inbox.add(entry)
    if (wakes) {
      running = Promise.resolve().then(drive)
      become('running')
    }
    return admission
  }

  const drive = async () => {
    while (status === 'running' && inbox.wakes()) {
      try {
        await runTurn(loop)
      } catch (error) {
        loop.durability.settle()
        for (const entry of inbox.takeTurn()) entry.reject(error)
      }
    }
    releaseSession(session)
    if (status === 'running') become('idle')
  }

  const become = (next: AgentStatus) => {
    status = next
    host.emit('agent/status', next, agent)
    if (status !== 'running') for (const resolve of idlers.splice(0)) resolve()
  }

  const dispose = (): Promise<Input[]> => {
    const busy = status === 'running'
    become('disposed')
    loop.running?.stop({ kind: 'disposed' })
    const finish = () => {
      const left = inbox.takeAll()
      for (const entry of left) rejectDisposed(entry)
      host.emit('agent/disposed', agent)
      return left.map(({ input }) => input)
    }
    return busy ? running!.then(finish) : Promise.resolve(finish())
  }

  const refuseDisposed = () => {
    if (status === 'disposed') {
      throw new AgentError('AGENT_DISPOSED', `agent ${agent.id} is disposed; create another one on its session`)
    }
  }

  if (options.host) host.adopt(session)
  host.emit('agent/created', agent)
  return agent
}

// --- internal ---

function sessionOf({ session, flush }: AgentOptions): { session: Session; flush: () => Promise<void> | void } {
  if (!('session' in session)) return { session, flush: flush ?? (() => {}) }
  if (flush) throw new TypeError('flush: expected none beside a session that brings its own, found both; leave it out')
  return { session: session.session, flush: () => session.flush() }
}

function settingsOf<S extends AgentSettings>({ model, settings, system, tools }: S): Pick<S, keyof AgentSettings> {
  const given = Object.entries({ model, settings, system, tools }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as Pick<S, keyof AgentSettings>
}

function limitsOf({ maxSteps = 100, maxParallelToolCalls = 8, cancelGraceMs = 1000 }: Partial<Limits>): Limits {
  requireWhole('maxSteps', maxSteps, 1, Infinity)
  requireWhole('maxParallelToolCalls', maxParallelToolCalls, 1, Infinity)
  requireWhole('cancelGraceMs', cancelGraceMs, 0, MAX_TIMER_MS)
  return { maxSteps, maxParallelToolCalls, cancelGraceMs }
}

function requireWhole(name: string, value: number, least: number, most: number): void {
  const isWhole = Number.isInteger(value) || value === Infinity
  if (!isWhole || value < least || value > most) {
    throw new RangeError(`${name}: expected a whole number from ${least} to ${most}, found ${value}`)
  }
}

/** A session's second agent on one host needs a name of its own. */
function freeId({ agents }: Host, id: string): string {
  let free = id
  for (let n = 2; agents.has(free); n++) free = `${id}#${n}`
  return free
}
