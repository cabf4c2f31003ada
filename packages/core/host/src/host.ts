import type { Session } from '@palimpsest/session'
import type { Agent } from './agent.js'
import type { AroundName } from './around.js'
import type { HostEvent, HostEventMap } from './events.js'
import { requirePlugin } from './misuse.js'
import { type AnyHandler, type AnyListener, createScope, type Plugin } from './plugin.js'
import { createRegistry, type Registration } from './registry.js'

/** The live registry that plugins hang on. It owns no state of a session: the log is the state. */
export interface Host {
  /** Adopted sessions by id. */
  readonly sessions: ReadonlyMap<string, Session>
  /** Announced agents by id. */
  readonly agents: ReadonlyMap<string, Agent>
  /** Makes a session's events heard. The same session twice is the same adoption; another session of that id takes its place. */
  adopt(session: Session): { dispose(): void }
  /** Rejects with what `setup` throws, or a `TypeError` for what is no plugin: then nothing of it stays. */
  use(plugin: Plugin): Promise<{ dispose(): Promise<void> }>
  /** For whoever owns the subject (the last argument). Emitted inside a listener, it is heard after what is being told now. */
  emit<E extends HostEvent>(name: E, ...args: HostEventMap[E]): void
  /** Runs `final` inside the handlers, the first registered outermost. Rejects with what a handler or `final` throws. */
  intercept<V, R>(name: AroundName, value: V, agent: Agent, final: (value: V) => Promise<R>): Promise<R>
}

export interface HostOptions {
  /** Hears every failing listener; `source` is the plugin's name. Default: rethrow asynchronously, so that nothing is silent. */
  onError?: (error: unknown, source: string) => void
}

export function createHost(options: HostOptions = {}): Host {
  const sessions = new Map<string, Session>()
  const agents = new Map<string, Agent>()
  const adoptions = new Map<Session, { dispose(): void }>()
  const registries = { listeners: createRegistry<AnyListener>(), handlers: createRegistry<AnyHandler>() }
  const report = reporter(options.onError ?? rethrowLater)

  const deliver = (name: HostEvent, args: readonly unknown[]) => {
    const subject = args.at(-1)
    track(agents, name, subject)
    for (const entry of registries.listeners.of(name)) {
      if (entry.live && hears(entry, subject)) callListener(entry, args, report)
    }
    if (name === 'agent/disposed') forgetAgent(subject as Agent)
  }
  const forgetAgent = (agent: Agent) => {
    registries.listeners.forget(agent)
    registries.handlers.forget(agent)
  }
  const emit = inOrder(deliver)

  const host: Host = {
    sessions,
    agents,
    emit: (name, ...args) => emit(name, args),
    adopt(session) {
      const known = adoptions.get(session)
      if (known) return known
      const stale = sessions.get(session.id)
      if (stale) adoptions.get(stale)?.dispose()
      const off = session.on(event => host.emit('session/event', event, session))
      const adoption = {
        dispose() {
          if (!adoptions.delete(session)) return
          off()
          sessions.delete(session.id)
          host.emit('session/disposed', session)
        },
      }
      adoptions.set(session, adoption)
      sessions.set(session.id, session)
      host.emit('session/adopted', session)
      return adoption
    },
    async use(plugin) {
      requirePlugin(plugin)
      const { scope, dispose } = createScope(plugin.name, registries)
      try {
        await plugin.setup({ ...scope, host, report: error => report(error, plugin.name) })
      } catch (error) {
        dispose()
        throw error
      }
      return { dispose: async () => dispose() }
    },
    intercept(name, value, agent, final) {
      const entries = registries.handlers.of(name)
      return runChain(entries, 0, value, agent, final)
    },
  }
  return host
}

// --- internal ---

type Report = (error: unknown, source: string) => void

function rethrowLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}

/** An `onError` that throws must not reach whoever emitted. */
function reporter(onError: Report): Report {
  return (error, source) => {
    try {
      onError(error, source)
    } catch (worse) {
      rethrowLater(worse)
    }
  }
}

/** Every listener hears everything in one order, also what other listeners cause. */
function inOrder(deliver: (name: HostEvent, args: readonly unknown[]) => void) {
  const waiting: { name: HostEvent; args: readonly unknown[] }[] = []
  let delivering = false
  return (name: HostEvent, args: readonly unknown[]) => {
    waiting.push({ name, args })
    if (delivering) return
    delivering = true
    try {
      for (let next = waiting.shift(); next; next = waiting.shift()) deliver(next.name, next.args)
    } finally {
      delivering = false
    }
  }
}

function track(agents: Map<string, Agent>, name: HostEvent, subject: unknown): void {
  const agent = subject as Agent
  if (name === 'agent/created') agents.set(agent.id, agent)
  if (name === 'agent/disposed' && agents.get(agent.id) === agent) agents.delete(agent.id)
}

function hears({ agent }: Registration<unknown>, subject: unknown): boolean {
  return agent === undefined || subject === agent || subject === agent.session
}

function callListener(entry: Registration<AnyListener>, args: readonly unknown[], report: Report): void {
  const fail = (error: unknown) => report(error, entry.source)
  try {
    const result = entry.run(...(args as never[])) as { then?: unknown } | undefined | null
    if (typeof result?.then === 'function') Promise.resolve(result).then(undefined, fail)
  } catch (error) {
    fail(error)
  }
}

/** Looks for the next handler only when it is reached: one that went meanwhile is passed over. */
async function runChain<V, R>(
  entries: readonly Registration<AnyHandler>[],
  from: number,
  value: V,
  agent: Agent,
  final: (value: V) => Promise<R>,
): Promise<R> {
  const index = entries.findIndex((entry, i) => i >= from && entry.live && (!entry.agent || entry.agent === agent))
  if (index < 0) return final(value)
  const handler = entries[index]!.run as unknown as (value: V, next: (value?: V) => Promise<R>) => Promise<R>
  return handler(value, (passed = value) => {
    const rest = runChain(entries, index + 1, passed, agent, final)
    // A handler that was left behind, or does not care, must not bring the process down.
    rest.catch(() => {})
    return rest
  })
}
