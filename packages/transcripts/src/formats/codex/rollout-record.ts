import { isObject, type Json, stringOf } from '../../json/shapes.js'
import type { LineRecord } from '../../records.js'

/** One line of a rollout in today's terms, whatever the age of the file. */
export interface RolloutRecord {
  /** `session_meta`, `turn_context`, `response_item`, `event_msg`, `compacted` … */
  readonly type: string
  readonly payload: Json
}

/** A line of today's files: `{ timestamp, type, payload }`. */
export function isWrapped(value: Json): boolean {
  return typeof value.type === 'string' && isObject(value.payload)
}

/** A line of the files before 0.32: an item without a wrapper, the session's facts, a mark of the recorder. */
export function isBare(value: Json): boolean {
  return isBareItem(value) || isBareMeta(value) || 'record_type' in value
}

/** `undefined` for what is no record of a rollout. */
export function rolloutRecord({ value }: Pick<LineRecord, 'value'>): RolloutRecord | undefined {
  if (isWrapped(value)) return { type: String(value.type), payload: value.payload as Json }
  if (isBareItem(value)) return { type: 'response_item', payload: value }
  if (isBareMeta(value)) return { type: 'session_meta', payload: value }
  return undefined
}

/** Whether these are the first records of a rollout. */
export function isRollout(records: readonly Json[]): boolean {
  if (records.some(record => isWrapped(record) && TYPES.has(String(record.type)))) return true
  return records.some(record => 'record_type' in record) || (records[0] !== undefined && isBareMeta(records[0]))
}

// --- internal ---

const TYPES = new Set(['session_meta', 'turn_context', 'response_item', 'event_msg', 'compacted', 'world_state'])

const BARE_ITEM =
  /^(message|reasoning|function_call|function_call_output|custom_tool_call|custom_tool_call_output|local_shell_call)$/

function isBareItem({ type, payload }: Json): boolean {
  return payload === undefined && BARE_ITEM.test(stringOf(type) ?? '')
}

function isBareMeta(value: Json): boolean {
  return !('type' in value) && typeof value.id === 'string' && 'timestamp' in value && 'instructions' in value
}
