import { describe, hasVisibleExtras, isLosslessNumber, isPlainObject, sealJson } from './admission.js'
import { SessionError, type SessionErrorCode } from './errors.js'
import { isKnownType, roleOf } from './event-types.js'
import type { RestoreOp, SessionEvent, SurfaceOp } from './events.js'
import type { JsonValue } from './json.js'

/** What an event says about the surface and its sources, checked for shape and frozen. */
interface Marks {
  sourceEventSeqs?: readonly number[]
  surfaceOp?: SurfaceOp | RestoreOp
  ignorable?: true
}

/**
 * Makes the frozen record of a live append. Throws before anything has changed. What depends on the
 * surface (ranges, complete provenance) is `planSurface`'s.
 */
export function sealEvent(type: string, data: unknown, intent: unknown, seq: number, time: number): SessionEvent {
  const marks = intent === undefined ? {} : readable('SURFACE_INTENT_NOT_ALLOWED', 'intent', () => sealIntent(intent))
  checkType(type, marks, false)
  if (!isLosslessNumber(time))
    fail('EVENT_DATA_INVALID', `time: expected now() to give epoch ms, found ${describe(time)}`)
  const sealed = sealJson(data, 'data')
  return buildEvent(seq, time, type, sealed, marks)
}

/**
 * The same seal for an event that comes from elsewhere: a seed, or a store's lazy load. `path` names
 * it in refusals; `seq` is the one that it must have.
 */
export function sealStored(
  source: unknown,
  seq: number,
  path: string,
  acceptUnknown?: ReadonlySet<string>,
): SessionEvent {
  const members = readable('SEED_INVALID', path, () => {
    if (!isPlainObject(source)) fail('SEED_INVALID', `${path}: expected an event object, found ${describe(source)}`)
    return readMembers(source, EVENT_MEMBERS, 'SEED_INVALID', path)
  })
  const { type, time } = members
  if (typeof type !== 'string') fail('SEED_INVALID', `${path}.type: expected a string, found ${describe(type)}`)
  if (members.seq !== seq) {
    fail('SEED_INVALID', `${path}.seq: expected ${seq}, found ${describe(members.seq)}; seqs count from 0 without gaps`)
  }
  if (!isLosslessNumber(time)) {
    fail('SEED_INVALID', `${path}.time: expected epoch ms, found ${describe(time)}`)
  }
  return within(path, () => {
    const marks = readable('SEED_INVALID', path, () => sealMarks(members, path))
    checkType(type, marks, acceptUnknown?.has(type) ?? false)
    return buildEvent(seq, time, type, sealJson(members.data, `${path}.data`), marks)
  })
}

/** Runs `body` so that a refusal names where in a seed it stands. */
export function within<T>(path: string, body: () => T): T {
  try {
    return body()
  } catch (error) {
    if (!(error instanceof SessionError) || error.message.includes(path)) throw error
    throw new SessionError(error.code, `${path}: ${error.message.slice(error.code.length + 2)}`, { cause: error })
  }
}

/** An accessor or a Proxy of the caller's may throw: a refusal like any other, with its cause. */
export function readable<T>(code: SessionErrorCode, path: string, body: () => T): T {
  try {
    return body()
  } catch (cause) {
    if (cause instanceof SessionError) throw cause
    throw new SessionError(code, `${path}: expected members that can be read, found one that throws`, { cause })
  }
}

// --- internal ---

function buildEvent(seq: number, time: number, type: string, data: JsonValue, marks: Marks): SessionEvent {
  checkData(type, data)
  const event: Record<string, unknown> = { seq, time, type, data }
  if (marks.sourceEventSeqs !== undefined) event.sourceEventSeqs = marks.sourceEventSeqs
  if (marks.surfaceOp !== undefined) event.surfaceOp = marks.surfaceOp
  if (marks.ignorable !== undefined) event.ignorable = true
  return Object.freeze(event) as unknown as SessionEvent
}

function sealIntent(intent: unknown): Marks {
  if (!isPlainObject(intent)) fail('SURFACE_INTENT_NOT_ALLOWED', `expected an intent object, found ${describe(intent)}`)
  return sealMarks(readMembers(intent, INTENT_MEMBERS, 'SURFACE_INTENT_NOT_ALLOWED', 'intent'), 'intent')
}

interface Members {
  seq?: unknown
  time?: unknown
  type?: unknown
  data?: unknown
  sourceEventSeqs?: unknown
  surfaceOp?: unknown
  ignorable?: unknown
}

const INTENT_MEMBERS: ReadonlySet<PropertyKey> = new Set(['sourceEventSeqs', 'surfaceOp', 'ignorable'])
const EVENT_MEMBERS: ReadonlySet<PropertyKey> = new Set(['seq', 'time', 'type', 'data', ...INTENT_MEMBERS])

/** Each member is read once; one that nobody knows is refused, as it would be lost. */
function readMembers(source: object, allowed: ReadonlySet<PropertyKey>, code: SessionErrorCode, path: string): Members {
  const members: Members = {}
  for (const key of Reflect.ownKeys(source)) {
    if (!allowed.has(key))
      fail(code, `${path}: expected only ${[...allowed].join(', ')}, found ${String(key)}; remove it`)
    members[key as keyof Members] = source[key as keyof typeof source]
  }
  return members
}

function sealMarks(source: Members, path: string): Marks {
  const marks: Marks = {}
  if (source.surfaceOp !== undefined) marks.surfaceOp = sealOp(source.surfaceOp, path)
  if (source.sourceEventSeqs !== undefined) marks.sourceEventSeqs = sealSeqs(source.sourceEventSeqs, path)
  if (source.ignorable !== undefined) {
    if (source.ignorable !== true) fail('SURFACE_INTENT_NOT_ALLOWED', `${path}.ignorable: expected true or nothing`)
    marks.ignorable = true
  }
  return marks
}

/** A list of seqs, copied in one pass: it may be as long as the surface, so it does not take the general way in. */
function sealSeqs(value: unknown, path: string): readonly number[] {
  const where = `${path}.sourceEventSeqs`
  if (!Array.isArray(value)) fail('PROVENANCE_INVALID', `${where}: expected an array of seqs, found ${describe(value)}`)
  const seqs: unknown[] = Object.values(value)
  if (hasVisibleExtras(value, seqs))
    fail('PROVENANCE_INVALID', `${where}: expected elements only, found a hole or an extra property`)
  if (seqs.length === 0)
    fail('PROVENANCE_INVALID', `${where}: expected at least one seq, found []; leave the member out`)
  for (const seq of seqs) {
    if (!isSeq(seq))
      fail('PROVENANCE_INVALID', `${where}: expected seqs (whole numbers from 0), found ${describe(seq)}`)
  }
  return Object.freeze(seqs as number[])
}

function sealOp(value: unknown, path: string): SurfaceOp | RestoreOp {
  if (value === 'append') return value
  const where = `${path}.surfaceOp`
  if (!isPlainObject(value)) failOp(where, value)
  const op = Object.fromEntries(Reflect.ownKeys(value).map(key => [key, value[key as string]]))
  const shape = Reflect.ownKeys(op).map(String).sort().join()
  if (op.op === 'replace' && shape === 'end,op,start') {
    const { start, end } = op
    if (isSeq(start) && isSeq(end)) return Object.freeze({ op: 'replace' as const, start, end })
    return fail(
      'SURFACE_RANGE_UNKNOWN',
      `${where}: expected start and end to be seqs of visible events, found ${describe(start)} and ${describe(end)}`,
    )
  }
  if (op.op === 'restore' && shape === 'node,op') {
    if (isSeq(op.node)) return Object.freeze({ op: 'restore' as const, node: op.node })
    return fail(
      'SURFACE_RESTORE_INVALID',
      `${where}.node: expected the seq of a visible replacement, found ${describe(op.node)}`,
    )
  }
  return failOp(where, value)
}

function failOp(where: string, value: unknown): never {
  return fail(
    'SURFACE_INTENT_NOT_ALLOWED',
    `${where}: expected 'append', { op: 'replace', start, end } or { op: 'restore', node }, found ${describe(value)}`,
  )
}

/** Which marks a type must and may carry. */
function checkType(type: string, marks: Marks, accepted: boolean): void {
  const { surfaceOp, sourceEventSeqs, ignorable } = marks
  if (roleOf(type) !== undefined) {
    if (surfaceOp === undefined) {
      fail(
        'SURFACE_INTENT_REQUIRED',
        `${type} enters the surface: expected surfaceOp, found none; append it with { surfaceOp: 'append' } (a whole unmarked log: markSurface)`,
      )
    }
    if (ignorable || isRestore(surfaceOp))
      fail('SURFACE_INTENT_NOT_ALLOWED', `${type} may carry 'append' or a replace, and is never ignorable`)
    return
  }
  if (type === 'surface/restore') {
    if (surfaceOp === undefined)
      fail('SURFACE_INTENT_REQUIRED', `${type}: expected surfaceOp { op: 'restore', node }, found none`)
    if (ignorable || !isRestore(surfaceOp))
      fail('SURFACE_INTENT_NOT_ALLOWED', `${type} may carry only a restore, and is never ignorable`)
    return
  }
  if (typeof type !== 'string' || (!isKnownType(type) && !ignorable && !accepted)) {
    fail('UNKNOWN_EVENT_TYPE', `expected a type that this build knows or ignorable: true, found ${describe(type)}`)
  }
  if (surfaceOp !== undefined || sourceEventSeqs !== undefined) {
    fail('SURFACE_INTENT_NOT_ALLOWED', `${type} is log-only: expected neither surfaceOp nor sourceEventSeqs`)
  }
}

/** The kernel looks at the message's role and content; the rest of an event's shape belongs to the invariants. */
function checkData(type: string, data: JsonValue): void {
  if (!isKnownType(type)) return
  if (!isJsonObject(data)) fail('EVENT_DATA_INVALID', `data of ${type}: expected an object, found ${describe(data)}`)
  const role = roleOf(type)
  if (role === undefined) return
  const message = data.message
  if (!isJsonObject(message))
    fail('EVENT_DATA_INVALID', `data.message of ${type}: expected a message, found ${describe(message)}`)
  if (message.role !== role)
    fail('EVENT_DATA_INVALID', `data.message.role of ${type}: expected '${role}', found ${describe(message.role)}`)
  if (!Array.isArray(message.content)) {
    fail(
      'EVENT_DATA_INVALID',
      `data.message.content of ${type}: expected an array of parts, found ${describe(message.content)}`,
    )
  }
}

function isJsonObject(value: JsonValue | undefined): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isRestore(op: SurfaceOp | RestoreOp): op is RestoreOp {
  return typeof op === 'object' && op.op === 'restore'
}

function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && !Object.is(value, -0) && (value as number) >= 0
}

function fail(code: SessionErrorCode, message: string): never {
  throw new SessionError(code, message)
}
