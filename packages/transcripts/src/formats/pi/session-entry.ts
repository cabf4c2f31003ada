import { createHash } from 'node:crypto'
import { isObject, type Json, objectsOf, stringOf } from '../../json/shapes.js'
import type { LineRecord } from '../../records.js'
import { isVoidSummary } from '../void-summary.js'

/** What the tree of a file needs to know of an entry; the entry itself is read again when its turn comes. */
export interface Entry {
  readonly line: number
  readonly type: string
  /** The file's own, or one derived from the place. */
  readonly id: string
  readonly hasId: boolean
  /** `null`: a root. `undefined`: not told. */
  readonly parentId: string | null | undefined
  /** What it adds to the model's view; `undefined` for state, labels, what the agent leaves out. */
  readonly shows: 'message' | 'result' | 'compaction' | undefined
  readonly calls: readonly string[]
  readonly answers: string | undefined
  /** A command that the user ran by hand, with its output: equal for equal ones. */
  readonly command: string | undefined
  readonly compaction: { readonly isVoid: boolean; readonly keepId?: string; readonly keepIndex?: number } | undefined
}

export function isHeader(value: Json): boolean {
  return value.type === 'session' && typeof value.timestamp === 'string'
}

/** Tells a record from the messages and blocks inside of one. */
export function isRecord(value: Json): boolean {
  return typeof value.type === 'string' && ('timestamp' in value || value.type === 'title')
}

export function entryOf({ line, value }: LineRecord, derivedId: string): Entry {
  const message = isObject(value.message) ? value.message : {}
  const id = stringOf(value.id)
  return {
    line,
    type: stringOf(value.type) ?? '',
    id: id ?? derivedId,
    hasId: id !== undefined,
    parentId: value.parentId === null ? null : stringOf(value.parentId),
    shows: shownAs(value, message),
    calls: callsOf(message),
    answers: message.role === 'toolResult' ? stringOf(message.toolCallId) : undefined,
    command: message.role === 'bashExecution' ? digest([message.command, message.output]) : undefined,
    compaction: value.type === 'compaction' ? compactionOf(value) : undefined,
  }
}

// --- internal ---

const NONE: readonly string[] = []

function shownAs({ type, summary, message }: Json, { role, excludeFromContext, ...rest }: Json): Entry['shows'] {
  if (type === 'compaction') return 'compaction'
  if (type === 'custom_message') return 'message'
  if (type === 'branch_summary') return isBlank(summary) ? undefined : 'message'
  if (type !== 'message' || !isObject(message)) return undefined
  if (role === 'toolResult') return 'result'
  if (role === 'assistant') return isFailedAttempt(rest) ? undefined : 'message'
  if (role === 'bashExecution') return excludeFromContext === true ? undefined : 'message'
  return SAID.has(String(role)) ? 'message' : undefined
}

/** Nothing came of the request: no message. */
function isFailedAttempt({ stopReason, content }: Json): boolean {
  return (stopReason === 'error' || stopReason === 'aborted') && objectsOf(content).length === 0
}

const SAID = new Set(['user', 'developer', 'custom', 'hookMessage'])

function callsOf({ role, content }: Json): readonly string[] {
  if (role !== 'assistant') return NONE
  return objectsOf(content).flatMap(([, { type, id }]) => (type === 'toolCall' && typeof id === 'string' ? [id] : []))
}

function compactionOf({ summary, firstKeptEntryId, firstKeptEntryIndex }: Json): Entry['compaction'] {
  return {
    isVoid: isVoidSummary(stringOf(summary) ?? ''),
    ...(typeof firstKeptEntryId === 'string' && { keepId: firstKeptEntryId }),
    ...(Number.isInteger(firstKeptEntryIndex) && { keepIndex: firstKeptEntryIndex as number }),
  }
}

/** Outputs may be long, and there is one for each entry. */
function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64')
}

function isBlank(text: unknown): boolean {
  return typeof text !== 'string' || text.trim() === ''
}
