import { isObject, type Json, listOf, objectsOf, stringOf } from '../json/shapes.js'

/** A message, whichever way it was serialised. */
export interface LangchainMessage {
  readonly kind: LangchainKind
  readonly id: string | undefined
  /** A piece of a message that comes in several. */
  readonly isChunk: boolean
  readonly fields: Json
}

/** A serialised message: a constructor, `{ type, data }`, or a dict with `type` beside its fields. */
export function messageOf(value: unknown): LangchainMessage | undefined {
  if (!isObject(value)) return undefined
  if (value.lc !== undefined && Array.isArray(value.id) && isObject(value.kwargs)) {
    return message(String(value.id.at(-1)), value.kwargs)
  }
  if (typeof value.type !== 'string' || 'role' in value) return undefined
  if (isObject(value.data) && 'content' in value.data) return message(value.type, value.data)
  return 'content' in value || value.type === 'remove' ? message(value.type, value) : undefined
}

/** A message with one more piece of it: texts and arguments go on, facts are added. */
export function withChunk(whole: LangchainMessage, piece: LangchainMessage): LangchainMessage {
  const a = whole.fields
  const b = piece.fields
  const content = joinedContent(a.content, b.content)
  return {
    ...whole,
    fields: {
      ...a,
      ...b,
      content,
      tool_calls: listOf(b.tool_calls).length > 0 ? b.tool_calls : a.tool_calls,
      tool_call_chunks: joinedByIndex(a.tool_call_chunks, b.tool_call_chunks),
      additional_kwargs: joinedFacts(a.additional_kwargs, b.additional_kwargs),
      response_metadata: { ...objectOf(a.response_metadata), ...objectOf(b.response_metadata) },
      usage_metadata: b.usage_metadata ?? a.usage_metadata,
    },
  }
}

// --- internal ---

type LangchainKind = 'human' | 'ai' | 'tool' | 'system' | 'remove'

const KINDS: Record<string, LangchainKind> = {
  human: 'human',
  HumanMessage: 'human',
  HumanMessageChunk: 'human',
  ai: 'ai',
  AIMessage: 'ai',
  AIMessageChunk: 'ai',
  tool: 'tool',
  function: 'tool',
  ToolMessage: 'tool',
  ToolMessageChunk: 'tool',
  FunctionMessage: 'tool',
  system: 'system',
  developer: 'system',
  SystemMessage: 'system',
  SystemMessageChunk: 'system',
  remove: 'remove',
  RemoveMessage: 'remove',
}

function message(type: string, fields: Json): LangchainMessage | undefined {
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
  if (kind === undefined) return undefined
  return { kind, id: stringOf(fields.id), isChunk: type.endsWith('Chunk'), fields }
}

function objectOf(value: unknown): Json {
  return isObject(value) ? value : {}
}

function joinedContent(a: unknown, b: unknown): unknown {
  if (typeof a === 'string' && typeof b === 'string') return a + b
  if (Array.isArray(a) && Array.isArray(b)) return joinedByIndex(a, b)
  if (b === '' || b == null || listOf(b).length === 0) return a
  if (a === '' || a == null) return b
  return [...asBlocks(a), ...asBlocks(b)]
}

function asBlocks(content: unknown): unknown[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
}

/** Pieces with the `index` of one that is there go on with it; others stand behind. */
function joinedByIndex(a: unknown, b: unknown): unknown[] {
  const list = [...listOf(a)]
  for (const [, piece] of objectsOf(b)) {
    const at = list.findIndex(each => isObject(each) && each.index !== undefined && each.index === piece.index)
    if (at < 0) list.push(piece)
    else list[at] = joinedPiece(list[at] as Json, piece)
  }
  return list
}

const GROWING = new Set(['text', 'thinking', 'reasoning', 'args', 'input', 'signature'])

function joinedPiece(a: Json, b: Json): Json {
  const joined: Json = { ...a }
  for (const [key, value] of Object.entries(b)) {
    const before = joined[key]
    if (GROWING.has(key) && typeof before === 'string' && typeof value === 'string') joined[key] = before + value
    else if (before == null || before === '') joined[key] = value
  }
  return joined
}

function joinedFacts(a: unknown, b: unknown): Json {
  const before = objectOf(a)
  const after = objectOf(b)
  const joined = { ...before, ...after }
  if (isObject(before.reasoning) && isObject(after.reasoning)) {
    const summary = joinedByIndex(before.reasoning.summary, after.reasoning.summary)
    joined.reasoning = { ...before.reasoning, ...after.reasoning, summary }
  }
  if (typeof before.reasoning_content === 'string' && typeof after.reasoning_content === 'string') {
    joined.reasoning_content = before.reasoning_content + after.reasoning_content
  }
  return joined
}
