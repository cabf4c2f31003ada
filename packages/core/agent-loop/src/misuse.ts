import { SessionError } from '@palimpsest/session'

/** What a caller can get wrong is told in the caller's words, where it was said. All but content: a `TypeError`. */

export function requireOptions(options: unknown): void {
  requireObject('createAgent', options)
  const { session, model, host, flush } = options as Record<string, unknown>
  if (!isSession(session) && !isDurable(session)) refuse('session', A_SESSION, session, sessionHint(session))
  requireModel(model)
  if (host !== undefined && !has(host, 'intercept', 'function')) {
    refuse('host', 'what createHost() gives', host, 'leave it out, or give a host; plugins go to host.use')
  }
  if (flush !== undefined && typeof flush !== 'function') {
    refuse('flush', 'a function that resolves when the log is durable', flush, 'leave it out for an agent in memory')
  }
  requireSettings('createAgent', options)
}

/** Members that are undefined are left out. */
export function requireSettings(verb: 'createAgent' | 'configure', changes: unknown): void {
  requireObject(verb, changes)
  const { model, settings, system, tools } = changes as Record<string, unknown>
  if (model !== undefined) requireModel(model)
  if (settings !== undefined && (Object(settings) !== settings || Array.isArray(settings))) {
    refuse('settings', 'an object such as { temperature: 0 }', settings, 'they are logged, and given to the model port')
  }
  if (system !== undefined && typeof system !== 'string') {
    refuse('system', 'a string', system, "give the text, or '' for none")
  }
  if (tools !== undefined && !Array.isArray(tools))
    refuse('tools', 'an array of tools', tools, 'make one with defineTool')
}

/** Throws `EVENT_DATA_INVALID`, as the kernel does for a message that is none. */
export function requireContent(content: unknown): void {
  if (typeof content === 'string' || Array.isArray(content)) return
  refuseContent('content', 'a string or an array of parts', content)
}

/** Of sealed content: nothing changes it after this look. */
export function requireParts(parts: readonly unknown[]): void {
  for (const [i, part] of parts.entries()) {
    if (!has(part, 'type', 'string')) refuseContent(`content[${i}]`, 'a part', part)
  }
}

export function requireOrigin(origin: unknown): void {
  if (origin === undefined || typeof origin === 'string') return
  refuse('origin', 'a string that names who injects', origin, "give a name such as 'clock'")
}

// --- internal ---

const A_SESSION = 'a Session, or what createSession or openSession of a store resolves with'

function isSession(value: unknown): boolean {
  return has(value, 'append', 'function')
}

function isDurable(value: unknown): boolean {
  return has(value, 'flush', 'function') && isSession((value as { session?: unknown }).session)
}

function sessionHint(session: unknown): string {
  return has(session, 'then', 'function') ? 'await it first' : 'give Session.create() for one in memory'
}

function requireModel(model: unknown): void {
  if (has(model, 'stream', 'function') && has(model, 'model', 'string')) return
  const isSdkModel = has(model, 'doStream', 'function')
  const next = isSdkModel ? 'wrap this one in aiSdkModel(…)' : 'give aiSdkModel(…), scriptedModel(…) or one by hand'
  refuse('model', 'a model port { model, stream(request, signal) }', model, next)
}

function requireObject(verb: string, value: unknown): void {
  if (Object(value) !== value) refuse(verb, 'an object of options', value, 'name what it is to work with')
}

function has(value: unknown, name: string, type: 'function' | 'string'): boolean {
  return Object(value) === value && typeof (value as Record<string, unknown>)[name] === type
}

function refuse(where: string, expected: string, found: unknown, next: string): never {
  throw new TypeError(`${where}: expected ${expected}, found ${shown(found)}; ${next}`)
}

function refuseContent(where: string, expected: string, found: unknown): never {
  const next = "give the text, or parts such as { type: 'text', text: '…' }"
  throw new SessionError('EVENT_DATA_INVALID', `${where}: expected ${expected}, found ${shown(found)}; ${next}`)
}

/** For a message: what it is, and a short value itself. */
function shown(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? 'a string' : `'${value}'`
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'function') return 'a function'
  if (has(value, 'then', 'function')) return 'a promise'
  return Object(value) === value ? 'an object' : String(value)
}
