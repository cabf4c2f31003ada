import type { Agent } from './agent.js'
import { AROUND_NAMES, type AroundHandler, type AroundName } from './around.js'
import { HOST_EVENTS, type HostEvent, type HostListener } from './events.js'
import type { Host } from './host.js'
import { requireAgent, requireFunction, requireName } from './misuse.js'
import type { Registry } from './registry.js'

export interface Plugin {
  readonly name: string
  /** Throws or rejects: the plugin is not taken, and all that it registered is gone. */
  setup(ctx: PluginContext): void | Promise<void>
}

/**
 * Both verbs return a function that takes the registration off, and throw a `TypeError` for a name that there is not
 * and for what is no function.
 */
export interface Scope {
  on<E extends HostEvent>(name: E, listener: HostListener<E>): () => void
  around<N extends AroundName>(name: N, handler: AroundHandler<N>): () => void
  /** The same verbs, hearing only that agent and its session, until the agent is disposed. */
  forAgent(agent: Agent): Scope
}

export interface PluginContext extends Scope {
  readonly host: Host
  /** Hands an error to the host's `onError`, with the plugin's name as its source. */
  report(error: unknown): void
}

// --- internal ---

export type AnyListener = (...args: never[]) => unknown
export type AnyHandler = (value: never, next: (value?: never) => Promise<never>) => unknown

export interface Registries {
  listeners: Registry<AnyListener>
  handlers: Registry<AnyHandler>
}

/** All that one plugin has registered, taken off together. */
export function createScope(name: string, { listeners, handlers }: Registries) {
  const offs = new Set<() => void>()
  let disposed = false
  const keep = (register: () => () => void) => {
    if (disposed) throw new Error(`plugin "${name}" is disposed and can register nothing more; use it again instead`)
    const off = register()
    const release = () => {
      offs.delete(release)
      off()
    }
    offs.add(release)
    return release
  }
  const scopeOf = (agent: Agent | undefined): Scope => ({
    on(event, listener) {
      requireName('on', event, HOST_EVENTS)
      requireFunction('on', event, listener)
      return keep(() => listeners.add(event, name, agent, listener))
    },
    around(around, handler) {
      requireName('around', around, AROUND_NAMES)
      requireFunction('around', around, handler)
      return keep(() => handlers.add(around, name, agent, handler as AnyHandler))
    },
    forAgent(one) {
      requireAgent(one)
      return scopeOf(one)
    },
  })
  const dispose = () => {
    disposed = true
    for (const release of [...offs]) release()
  }
  return { scope: scopeOf(undefined), dispose }
}
