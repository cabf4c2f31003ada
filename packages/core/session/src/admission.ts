import { SessionError } from './errors.js'
import type { JsonObject, JsonValue } from './json.js'

/** Containers nested deeper than this are refused; the outermost one is level 1. */
export const MAX_DEPTH = 1000

/**
 * The one way in for a caller's value: a single recursive pass that makes a detached, deeply frozen,
 * lossless-JSON copy. Each property is read once, so what was validated is what is stored.
 * Throws `NOT_LOSSLESS_JSON` with the path of the first value that JSON would lose or change.
 * `path` names the value in the refusal.
 */
export function sealJson(value: unknown, path: string): JsonValue {
  try {
    return seal(value, 1)
  } catch (error) {
    if (error instanceof SessionError) throw error
    throw (error instanceof Refusal ? error : unreadable(error)).toError(path)
  }
}

/** Whether the prototype of `value` is that of a plain object, of this realm or of another. Throws what a Proxy throws. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const proto = Object.getPrototypeOf(value)
  return proto === null || proto === Object.prototype || isForeignRoot(proto, 'isPrototypeOf')
}

/** A value as a refusal shows it. Never throws, whatever a Proxy does. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  try {
    return Array.isArray(value) ? 'an array' : 'an object'
  } catch {
    return 'an object that cannot be looked at'
  }
}

/** A number that JSON gives back as it was; a time is one too. */
export function isLosslessNumber(value: unknown): value is number {
  return Number.isFinite(value) && !Object.is(value, -0)
}

/** Whether these are small whole numbers, as seqs are: a plain loop, as there may be as many as events in a log. */
export function areIndices(values: readonly unknown[]): boolean {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (typeof value !== 'number' || value >>> 0 !== value || (value === 0 && Object.is(value, -0))) return false
  }
  return true
}

/** Whether something other than elements hangs on an array; symbols and enumerable names only. */
export function hasVisibleExtras(array: readonly unknown[], values: readonly unknown[]): boolean {
  return values.length !== array.length || Object.getOwnPropertySymbols(array).length > 0
}

// --- internal ---

/**
 * A refusal on its way up. Each container that it passes adds its key, so an accepted value pays
 * nothing for the path, and the containers met on the way tell a cycle from mere depth.
 */
class Refusal {
  readonly keys: (string | number)[] = []
  readonly containers: unknown[] = []
  constructor(
    readonly expected: string,
    readonly found: string,
    readonly cause?: unknown,
  ) {}

  toError(path: string): SessionError {
    const keys = this.keys.reverse()
    const containers = this.containers.reverse()
    const closing = containers.findIndex((container, i) => containers.indexOf(container) < i)
    const at = path + (closing < 0 ? keys : keys.slice(0, closing)).map(formatKey).join('')
    const [expected, found] = closing < 0 ? [this.expected, this.found] : ['a tree', 'a cycle']
    return new SessionError(
      'NOT_LOSSLESS_JSON',
      `${at}: expected ${expected}, found ${found}; give a value that JSON keeps exactly`,
      this.cause === undefined ? undefined : { cause: this.cause },
    )
  }
}

function seal(value: unknown, level: number): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (isLosslessNumber(value)) return value
      throw new Refusal('a finite number that is not -0', Object.is(value, -0) ? '-0' : String(value))
    case 'object':
      if (value === null) return null
      if (level > MAX_DEPTH) throw new Refusal(`at most ${MAX_DEPTH} nested containers`, 'one more')
      return Array.isArray(value) ? sealArray(value, level) : sealObject(value, level)
    default:
      throw new Refusal('a JSON value', typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`)
  }
}

function sealObject(source: object, level: number): JsonObject {
  if (!isPlainObject(source)) throw new Refusal('a plain object', `an instance of ${classNameOf(source)}`)
  const keys = Object.keys(source)
  if (Object.getOwnPropertySymbols(source).length > 0) throw new Refusal('string keys only', 'a symbol key')
  if (Object.getOwnPropertyNames(source).length !== keys.length) {
    throw new Refusal('enumerable keys only', 'a key that is not enumerable')
  }
  const copy: JsonObject = {}
  let key = ''
  try {
    for (key of keys) {
      const value = seal(source[key], level + 1)
      if (key === '__proto__') defineProto(copy, value)
      else copy[key] = value
    }
  } catch (error) {
    throw under(error, key, source)
  }
  return Object.freeze(copy)
}

function sealArray(source: readonly unknown[], level: number): JsonValue[] {
  if (!isPlainArray(source)) throw new Refusal('a plain array', `an instance of ${classNameOf(source)}`)
  const length = source.length
  const copy: JsonValue[] = []
  let i = 0
  try {
    for (; i < length; i++) copy.push(seal(source[i], level + 1))
  } catch (error) {
    throw under(error, i, source)
  }
  // Names of an array are its indices and "length": one more is an extra, one less was a hole in a prototype's shadow.
  if (Object.getOwnPropertyNames(source).length !== length + 1 || Object.getOwnPropertySymbols(source).length > 0) {
    throw new Refusal('elements only', 'an extra property on an array or a hole in it')
  }
  Object.freeze(copy)
  return copy
}

function under(error: unknown, key: string | number, container: object): unknown {
  if (error instanceof SessionError) return error
  const refusal = error instanceof Refusal ? error : unreadable(error)
  refusal.keys.push(key)
  refusal.containers.push(container)
  return refusal
}

function unreadable(cause: unknown): Refusal {
  return new Refusal('a readable value', 'one that throws when it is read', cause)
}

function isPlainArray(value: readonly unknown[]): boolean {
  const proto = Object.getPrototypeOf(value)
  return proto === Array.prototype || (Array.isArray(proto) && Object.hasOwn(proto, 'copyWithin'))
}

/** `Object.prototype` of another realm: nothing above it, and it has what only that one owns. */
function isForeignRoot(proto: object, mark: string): boolean {
  return Object.getPrototypeOf(proto) === null && Object.hasOwn(proto, mark)
}

/** Plain assignment to `__proto__` would set the prototype and lose the key. */
function defineProto(target: JsonObject, value: JsonValue): void {
  Object.defineProperty(target, '__proto__', { value, enumerable: true, writable: true, configurable: true })
}

function classNameOf(value: object): string {
  const name = Object.getPrototypeOf(value)?.constructor?.name
  return typeof name === 'string' && name !== '' ? name : 'an unnamed class'
}

function formatKey(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}
