/** What a plugin's author can get wrong is told at the line that does it, not when a turn breaks on it. */

export function requireName(verb: 'on' | 'around', name: unknown, names: readonly string[]): void {
  if (names.includes(name as string)) return
  throw new TypeError(`ctx.${verb}: expected one of ${names.join(', ')}, found ${shown(name)}; mend the name`)
}

export function requireFunction(verb: 'on' | 'around', name: string, run: unknown): void {
  if (typeof run === 'function') return
  const call = `ctx.${verb}('${name}', …)`
  const isPlugin = typeof (run as { setup?: unknown } | null | undefined)?.setup === 'function'
  throw new TypeError(
    isPlugin
      ? `${call}: expected a function, found a plugin; a plugin registers itself: give it to host.use(plugin)`
      : `${call}: expected a function, found ${shown(run)}; give ${verb === 'on' ? 'a listener' : '(value, next) => …'}`,
  )
}

export function requireAgent(agent: unknown): void {
  if (typeof (Object(agent) as { session?: unknown }).session === 'object') return
  throw new TypeError(`ctx.forAgent: expected an agent, found ${shown(agent)}; take one from host.agents or an event`)
}

export function requirePlugin(plugin: unknown): void {
  const { name, setup } = Object(plugin) as { name?: unknown; setup?: unknown }
  if (typeof name === 'string' && typeof setup === 'function') return
  const next = typeof plugin === 'function' ? 'call it, if it makes a plugin' : 'give an object of that shape'
  throw new TypeError(`host.use: expected a plugin { name, setup(ctx) }, found ${shown(plugin)}; ${next}`)
}

// --- internal ---

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' && value !== null
    ? 'an object'
    : typeof value === 'function'
      ? 'a function'
      : String(value)
}
