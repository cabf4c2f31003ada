import type { BuiltInType, SurfaceEventType } from './events.js'
import type { Message } from './messages.js'

/** Role of the message in `data.message`, for each type that produces one. */
const ROLES: Record<SurfaceEventType, Message['role']> = {
  'user/message': 'user',
  'context/message': 'user',
  'steering/message': 'user',
  'assistant/message': 'assistant',
  'tool/result': 'tool',
}

const LOG_ONLY: Record<Exclude<BuiltInType, SurfaceEventType>, true> = {
  'turn/start': true,
  'turn/end': true,
  'step/start': true,
  'step/end': true,
  'assistant/chunk': true,
  'tool/call': true,
  'tool/settled': true,
  'request/header': true,
  'log/lost': true,
  'compaction/start': true,
  'compaction/end': true,
  'prune/applied': true,
  'surface/restore': true,
}

const roles = new Map<string, Message['role']>(Object.entries(ROLES))
const known = new Set([...roles.keys(), ...Object.keys(LOG_ONLY)])

/** Whether events of this type produce a message and so must carry a `surfaceOp`. */
export function isSurfaceType(type: string): type is SurfaceEventType {
  return roles.has(type)
}

/** Whether this build knows the type; any other is accepted only as `ignorable`. */
export function isKnownType(type: string): type is BuiltInType {
  return known.has(type)
}

export function roleOf(type: string): Message['role'] | undefined {
  return roles.get(type)
}
