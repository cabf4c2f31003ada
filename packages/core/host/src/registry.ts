import type { Agent } from './agent.js'

/** One listener or handler. It stops counting the moment `live` is false, even in the middle of a round. */
export interface Registration<F> {
  readonly source: string
  readonly agent: Agent | undefined
  readonly run: F
  live: boolean
}

/** Registrations by name, in the order in which they came. */
export interface Registry<F> {
  add(name: string, source: string, agent: Agent | undefined, run: F): () => void
  /** A copy: what is added meanwhile waits for the next round. */
  of(name: string): readonly Registration<F>[]
  /** Takes off everything that hangs on one agent. */
  forget(agent: Agent): void
}

export function createRegistry<F>(): Registry<F> {
  const lists = new Map<string, Set<Registration<F>>>()
  const remove = (list: Set<Registration<F>>, entry: Registration<F>) => {
    entry.live = false
    list.delete(entry)
  }
  return {
    add(name, source, agent, run) {
      const list = lists.get(name) ?? new Set()
      lists.set(name, list)
      const entry = { source, agent, run, live: true }
      list.add(entry)
      return () => remove(list, entry)
    },
    of: name => [...(lists.get(name) ?? [])],
    forget(agent) {
      for (const list of lists.values()) {
        for (const entry of list) if (entry.agent === agent) remove(list, entry)
      }
    },
  }
}
