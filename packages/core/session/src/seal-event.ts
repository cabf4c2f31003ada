import { areIndices, describe, hasVisibleExtras, isLosslessNumber, isPlainObject, sealJson } from './admission.js'
import { SessionError, type SessionErrorCode } from './errors.js'
import { isKnownType, roleOf } from './event-types.js'
import type { RestoreOp, SessionEvent, SurfaceOp } from './events.js'
import type { JsonValue } from './json.js'
import { isParsedFrozen, isParsedIndices } from './parse-frozen.js'

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
  const marks = intent === undefined ? {} : sealIntent(intent)
  checkType(type, marks, false)
  if (!isLosslessNumber(time))
    fail('EVENT_DATA_INVALID', `time: expected now() to give epoch ms, found ${describe(time)}`)
  const sealed = sealJson(data, 'data')
  return buildEvent(seq, time, type, sealed, marks)
}

/**
 * The same seal for an event that comes from elsewhere: a seed, or a store's lazy load. `seq` is the one
 * that it must have. Refusals name members; whoever knows where the event stands adds that by `locate`.
 */
export function sealStored(source: unknown, seq: number, acceptUnknown: ReadonlySet<string>): SessionEvent {
  const isFrozen = isParsedFrozen(source)
  if (isFrozen && isAsWritten(source, seq)) {
    checkType(source.type, source, acceptUnknown.has(source.type))
    checkData(source.type, source.data)
    return source as unknown as SessionEvent
  }
  if (!isPlainObject(source)) fail('SEED_INVALID', `expected an event object, found ${describe(source)}`)
  const members = readMembers(source, EVENT_MEMBERS, 'SEED_INVALID')
  const { type, time } = members
  if (typeof type !== 'string') fail('SEED_INVALID', `type: expected a string, found ${describe(type)}`)
  if (members.seq !== seq) {
    fail('SEED_INVALID', `seq: expected ${seq}, found ${describe(members.seq)}; seqs count from 0 without gaps`)
  }
  if (!isLosslessNumber(time)) fail('SEED_INVALID', `time: expected epoch ms, found ${describe(time)}`)
  const marks = sealMarks(members, isFrozen)
  checkType(type, marks, acceptUnknown.has(type))
  return buildEvent(seq, time, type, isFrozen ? (members.data as JsonValue) : sealJson(members.data, 'data'), marks)
}

/**
 * The refusal with the place where it stands: `seed[3].data.turn`. What a caller's own accessor or Proxy
 * threw becomes a refusal with its cause.
 */
export function locate(error: unknown, path: string, unreadable: SessionErrorCode = 'SEED_INVALID'): SessionError {
  if (!(error instanceof SessionError)) {
    const message = `${path}: expected members that can be read, found one that throws`
    return new SessionError(unreadable, message, { cause: error })
  }
  const text = error.message.slice(error.code.length + 2)
  const joint = EVENT_MEMBERS.has(/^\w*/.exec(text)![0]) ? '.' : ': '
  return new SessionError(error.code, path + joint + text, { cause: error.cause ?? error })
}

// --- internal ---

/** What `buildEvent` would make of it, member by member, but for what its type asks. */
interface AsWritten {
  readonly type: string
  readonly data: JsonValue
  readonly sourceEventSeqs?: readonly number[]
  readonly surfaceOp?: 'append'
}

/** Lists of members, and how many they are: a name may hold a comma. */
const WRITTEN_MEMBERS: ReadonlyMap<string, number> = new Map([
  ['seq,time,type,data', 4],
  ['seq,time,type,data,surfaceOp', 5],
  ['seq,time,type,data,sourceEventSeqs,surfaceOp', 6],
])

/** Of frozen JSON; what is not plainly so is for the general way to judge. */
function isAsWritten(source: Members, seq: number): source is AsWritten {
  const { time, type, sourceEventSeqs: sources, surfaceOp } = source
  if (source.seq !== seq || typeof time !== 'number' || typeof type !== 'string') return false
  if (sources !== undefined && !(isParsedIndices(sources) && sources.length > 0)) return false
  if (surfaceOp !== undefined && surfaceOp !== 'append') return false
  const members = Object.keys(source)
  return WRITTEN_MEMBERS.get(members.join()) === members.length
}

function buildEvent(seq: number, time: number, type: string, data: JsonValue, marks: Marks): SessionEvent {
  checkData(type, data)
  const event: Record<string, unknown> = { seq, time, type, data }
  if (marks.sourceEventSeqs !== undefined) event.sourceEventSeqs = marks.sourceEventSeqs
  if (marks.surfaceOp !== undefined) event.surfaceOp = marks.surfaceOp
  if (marks.ignorable !== undefined) event.ignorable = true
  return Object.freeze(event) as unknown as SessionEvent
}

function sealIntent(intent: unknown): Marks {
  const code = 'SURFACE_INTENT_NOT_ALLOWED'
  try {
    if (!isPlainObject(intent)) fail(code, `expected an intent object, found ${describe(intent)}`)
    return sealMarks(readMembers(intent, INTENT_MEMBERS, code))
  } catch (error) {
    throw locate(error, 'intent', code)
  }
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
function readMembers(source: Members, allowed: ReadonlySet<PropertyKey>, code: SessionErrorCode): Members {
  for (const key of Reflect.ownKeys(source)) {
    if (!allowed.has(key)) fail(code, `expected only ${[...allowed].join(', ')}, found ${String(key)}; remove it`)
  }
  const { seq, time, type, data, sourceEventSeqs, surfaceOp, ignorable } = source
  return { seq, time, type, data, sourceEventSeqs, surfaceOp, ignorable }
}

/** `isFrozen`: what `source` holds is frozen JSON already, and only its meaning is to be checked. */
function sealMarks(source: Members, isFrozen = false): Marks {
  const marks: Marks = {}
  if (source.surfaceOp !== undefined) marks.surfaceOp = sealOp(source.surfaceOp)
  if (source.sourceEventSeqs !== undefined) marks.sourceEventSeqs = sealSeqs(source.sourceEventSeqs, isFrozen)
  if (source.ignorable !== undefined) {
    if (source.ignorable !== true) fail('SURFACE_INTENT_NOT_ALLOWED', 'ignorable: expected true or nothing')
    marks.ignorable = true
  }
  return marks
}

/** A list of seqs, copied in one pass: it may be as long as the surface, so it does not take the general way in. */
function sealSeqs(value: unknown, isFrozen: boolean): readonly number[] {
  const where = 'sourceEventSeqs'
  if (!Array.isArray(value)) fail('PROVENANCE_INVALID', `${where}: expected an array of seqs, found ${describe(value)}`)
  const seqs: unknown[] = isFrozen ? value : Object.values(value)
  if (hasVisibleExtras(value, seqs))
    fail('PROVENANCE_INVALID', `${where}: expected elements only, found a hole or an extra property`)
  if (seqs.length === 0)
    fail('PROVENANCE_INVALID', `${where}: expected at least one seq, found []; leave the member out`)
  if (!areIndices(seqs)) {
    for (const seq of seqs) {
      if (!isSeq(seq))
        fail('PROVENANCE_INVALID', `${where}: expected seqs (whole numbers from 0), found ${describe(seq)}`)
    }
  }
  return Object.freeze(seqs as number[])
}

function sealOp(value: unknown): SurfaceOp | RestoreOp {
  if (value === 'append') return value
  const where = 'surfaceOp'
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
