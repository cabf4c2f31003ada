import type { AssistantMessage, AssistantPart, Chunk, ProviderOptions, ToolCallPart } from '@palimpsest/session'
import { parseArguments } from './arguments.js'

/**
 * The message that a list of chunks makes; pure. Deltas of one kind and id make one part, parts stand in
 * the order in which they began, later `providerOptions` of a part are merged over earlier ones. A text or
 * reasoning part that stays empty is left out unless it has `providerOptions`. A call id that comes again
 * gets a suffix (`-2`); a result of the provider's own follows the youngest call of its id.
 */
export function assemble(chunks: readonly Chunk[]): AssistantMessage {
  const draft: Draft = { parts: [], open: new Map(), ids: new Set(), aliases: new Map() }
  let providerOptions: ProviderOptions | undefined
  for (const chunk of chunks) {
    if (chunk.type === 'finish') providerOptions = merge(providerOptions, chunk.providerOptions)
    else addChunk(draft, chunk)
  }
  const content = draft.parts.filter(isWritten)
  return providerOptions ? { role: 'assistant', content, providerOptions } : { role: 'assistant', content }
}

/** The calls of a message that the agent has to run: those that the provider did not run itself. */
export function callsOf(message: AssistantMessage): ToolCallPart[] {
  return message.content.filter(part => part.type === 'tool-call').filter(part => !part.providerExecuted)
}

// --- internal ---

type DeltaPart = Extract<AssistantPart, { type: 'text' | 'reasoning' }>

interface Draft {
  parts: AssistantPart[]
  /** Text and reasoning parts by kind and id. */
  open: Map<string, DeltaPart>
  ids: Set<string>
  /** From an id as the model gave it to the unique one of its youngest call. */
  aliases: Map<string, string>
}

function addChunk(draft: Draft, chunk: Chunk): void {
  if (chunk.type === 'text-delta') addDelta(draft, 'text', chunk)
  else if (chunk.type === 'reasoning-delta') addDelta(draft, 'reasoning', chunk)
  else if (chunk.type === 'tool-call') addCall(draft, chunk)
  else if (chunk.type === 'tool-result') addResult(draft, chunk)
  else if (chunk.type === 'file') addFile(draft, chunk)
}

function addDelta(
  draft: Draft,
  type: DeltaPart['type'],
  delta: { id: string; text: string; providerOptions?: ProviderOptions },
): void {
  const key = `${type} ${delta.id}`
  const part: DeltaPart = draft.open.get(key) ?? { type, text: '' }
  if (!draft.open.has(key)) draft.parts.push(part)
  draft.open.set(key, part)
  part.text += delta.text
  const providerOptions = merge(part.providerOptions, delta.providerOptions)
  if (providerOptions) part.providerOptions = providerOptions
}

function addCall(draft: Draft, chunk: Extract<Chunk, { type: 'tool-call' }>): void {
  const { input, rawInput } = parseArguments(chunk.input)
  const toolCallId = uniqueId(draft.ids, chunk.toolCallId)
  draft.ids.add(toolCallId)
  draft.aliases.set(chunk.toolCallId, toolCallId)
  const part: ToolCallPart = { type: 'tool-call', toolCallId, toolName: chunk.toolName, input }
  if (rawInput !== undefined) part.rawInput = rawInput
  if (chunk.providerExecuted) part.providerExecuted = true
  draft.parts.push(withOptions(part, chunk.providerOptions))
}

function addResult(draft: Draft, chunk: Extract<Chunk, { type: 'tool-result' }>): void {
  const { toolName, output, providerOptions } = chunk
  const toolCallId = draft.aliases.get(chunk.toolCallId) ?? chunk.toolCallId
  draft.parts.push(withOptions({ type: 'tool-result', toolCallId, toolName, output }, providerOptions))
}

function addFile(draft: Draft, { data, mediaType, providerOptions }: Extract<Chunk, { type: 'file' }>): void {
  draft.parts.push(withOptions({ type: 'file', data, mediaType }, providerOptions))
}

function uniqueId(taken: ReadonlySet<string>, id: string): string {
  let unique = id
  for (let n = 2; taken.has(unique); n++) unique = `${id}-${n}`
  return unique
}

function withOptions<P extends AssistantPart>(part: P, providerOptions: ProviderOptions | undefined): P {
  return providerOptions ? { ...part, providerOptions } : part
}

function isWritten(part: AssistantPart): boolean {
  const isEmpty = (part.type === 'text' || part.type === 'reasoning') && part.text === ''
  return !isEmpty || part.providerOptions !== undefined
}

/** Key by key within each provider's object; the later one wins. */
function merge(earlier: ProviderOptions | undefined, later: ProviderOptions | undefined): ProviderOptions | undefined {
  if (!earlier || !later) return later ?? earlier
  const merged = Object.entries(later).map(([name, options]) => [name, { ...earlier[name], ...options }])
  return { ...earlier, ...Object.fromEntries(merged) }
}
