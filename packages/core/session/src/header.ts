import { isLosslessNumber, isPlainObject, sealJson } from './admission.js'
import { SessionError } from './errors.js'
import type { SessionHeader } from './events.js'
import type { JsonValue } from './json.js'

/** Written into every header; another version is refused, saying which direction. */
export const SESSION_FORMAT_VERSION = 0

/**
 * Completes, checks and freezes a header. `HEADER_INVALID` for its shape, `NOT_LOSSLESS_JSON` for what
 * JSON would lose. Members that the kernel does not know are kept exactly.
 */
export function sealHeader(partial: unknown, id: string | undefined, now: () => number): SessionHeader {
  if (partial !== undefined && !isHeaderObject(partial)) fail('header', 'an object', typeof partial)
  const given = sealJson(partial ?? {}, 'header') as { [key: string]: JsonValue }
  if (id !== undefined && given.id !== undefined && given.id !== id) {
    fail('header.id', `${JSON.stringify(id)}, the id of the session`, given.id)
  }
  const fallback = {
    version: SESSION_FORMAT_VERSION,
    id: id === undefined ? (given.id ?? crypto.randomUUID()) : id,
    createdAt: given.createdAt ?? now(),
  }
  const header = { ...fallback, ...given }
  checkHeader(header)
  return Object.freeze(header) as SessionHeader
}

// --- internal ---

/** A Proxy that refuses to say what it is is none. */
function isHeaderObject(value: unknown): boolean {
  try {
    return isPlainObject(value)
  } catch {
    return false
  }
}

function checkHeader(header: Record<string, unknown>): void {
  const { version, id, createdAt, cwd, parent, spawnedBy, importedFrom } = header
  if (version !== SESSION_FORMAT_VERSION) {
    const direction = typeof version === 'number' && version > SESSION_FORMAT_VERSION ? 'a newer' : 'another'
    fail('header.version', `${SESSION_FORMAT_VERSION}`, `${version}, ${direction} format; use a build that writes it`)
  }
  if (typeof id !== 'string' || id === '') fail('header.id', 'a non-empty string', id)
  if (!isLosslessNumber(createdAt)) fail('header.createdAt', 'epoch ms', createdAt)
  if (cwd !== undefined && typeof cwd !== 'string') fail('header.cwd', 'a string', cwd)
  if (parent !== undefined) checkRef('parent', parent, { id: isText, length: isCount }, { crc: isText })
  if (spawnedBy !== undefined) checkRef('spawnedBy', spawnedBy, { id: isText, seq: isCount }, {})
  if (importedFrom !== undefined) checkRef('importedFrom', importedFrom, { format: isText, id: isText }, {})
}

type Checks = Record<string, (value: unknown) => boolean>

function checkRef(name: string, value: unknown, required: Checks, optional: Checks): void {
  if (!isPlainObject(value)) fail(`header.${name}`, `an object with ${Object.keys(required).join(', ')}`, value)
  for (const [key, check] of Object.entries({ ...required, ...optional })) {
    if (!check(value[key]) && !(key in optional && value[key] === undefined))
      fail(`header.${name}.${key}`, 'the settled shape', value[key])
  }
}

const isText = (value: unknown) => typeof value === 'string'
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0

function fail(where: string, expected: string, found: unknown): never {
  throw new SessionError(
    'HEADER_INVALID',
    `${where}: expected ${expected}, found ${typeof found === 'object' ? 'another value' : String(found)}`,
  )
}
