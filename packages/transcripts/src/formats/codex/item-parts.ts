import { createHash } from 'node:crypto'
import type { AssistantPart, JsonObject, ProviderOptions, ToolOutput, UserPart } from '@palimpsest/session'
import { isObject, type Json, listOf, objectsOf, stringOf } from '../../json/shapes.js'
import { inputOfValue } from '../../tool-input.js'
import * as responses from '../responses-items.js'

/** Whether the model made this item, so that it is part of an answer. */
export function isModelItem({ type, role }: Json): boolean {
  if (type === 'message') return role === 'assistant'
  return type === 'reasoning' || COMPACTIONS.has(String(type)) || /_call$/.test(stringOf(type) ?? '')
}

/** Whether it answers a call. */
export function isOutput({ type }: Json): boolean {
  return /_call_output$/.test(stringOf(type) ?? '')
}

/** The parts of an answer that a model's item stands for; empty for a message without text. */
export function assistantParts(item: Json): AssistantPart[] {
  if (item.type === 'local_shell_call') return [localShell(item)]
  const [first, ...rest] = responses.modelParts(ownMembers(item), 0).map(({ part }) => part)
  if (first === undefined) return []
  if (first.type === 'tool-call' && first.providerExecuted && item.id === undefined) {
    first.toolCallId = `${first.toolName}_${digest(JSON.stringify(item.action ?? item))}`
  }
  return [{ ...first, ...withOptions(first, { phase: item.phase, namespace: item.namespace }) }, ...rest]
}

/** What stands on the user's side of an item: texts, images, files. What cannot be shown is left out. */
export function userParts(content: unknown): UserPart[] {
  const shown = Array.isArray(content) ? shownParts(content) : content
  return responses.userParts(shown).map(({ part }) => part)
}

/** How many parts of a content `userParts` leaves out. */
export function unshownParts(content: unknown): number {
  return Array.isArray(content) ? content.length - shownParts(content).length : 0
}

/** Before there were parts, an output was a text, with a word on success beside it in between. */
export function outputOf(item: Json): ToolOutput {
  const output = item.output ?? item.result
  if (!isObject(output)) {
    const shown = Array.isArray(output) ? shownParts(output) : output
    return responses.outputOf({ type: 'function_call_output', output: shown }).output
  }
  const { content, success } = output
  if (typeof content !== 'string') return Array.isArray(content) ? outputOf({ output: content }) : asJson(output)
  return { type: success === false ? 'error-text' : 'text', value: content }
}

/** Whether a history that a compaction put there ends in something that is said. */
export function endsInWords(history: unknown): boolean {
  const last = objectsOf(listOf(history)).at(-1)?.[1]
  if (last === undefined) return false
  return last.type !== 'message' || userParts(last.content).some(part => part.type !== 'text' || /\S/.test(part.text))
}

/** The members that are there, as options of its vendor. */
export function openaiOptions(members: Json): { providerOptions?: ProviderOptions } {
  const told = Object.entries(members).filter(([, value]) => value !== undefined && value !== null)
  return told.length > 0 ? { providerOptions: { openai: Object.fromEntries(told) as JsonObject } } : {}
}

// --- internal ---

const COMPACTIONS = new Set(['compaction', 'context_compaction', 'compaction_summary'])

/** The shell that an API brought itself. Its outputs are those of a function, and name the item where it has no call id. */
function localShell(item: Json): AssistantPart {
  return {
    type: 'tool-call',
    toolCallId: stringOf(item.call_id) ?? stringOf(item.id) ?? '',
    toolName: 'local_shell',
    ...inputOfValue(item.action),
    ...openaiOptions({ type: 'local_shell', itemId: item.id }),
  }
}

function withOptions({ providerOptions }: AssistantPart, members: Json): { providerOptions?: ProviderOptions } {
  return openaiOptions({ ...providerOptions?.openai, ...members })
}

/** What the provider gave, without what the recorder hung on it. */
function ownMembers(item: Json): Json {
  const { internal_chat_message_metadata_passthrough: _, ...own } = item
  return own
}

function shownParts(content: readonly unknown[]): Json[] {
  return objectsOf(content).flatMap(([, part]) => (SHOWN.some(key => key in part) ? [part] : []))
}

const SHOWN = ['text', 'image_url', 'file_data', 'file_url', 'input_audio']

function asJson(value: Json): ToolOutput {
  return { type: 'json', value: value as JsonObject }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
