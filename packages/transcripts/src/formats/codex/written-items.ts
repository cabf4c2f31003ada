import type {
  AssistantPart,
  ReasoningPart,
  ToolCallPart,
  ToolContent,
  ToolResultPart,
  UserMessage,
  UserPart,
} from '@palimpsest/session'
import { isObject, type Json, stringOf } from '../../json/shapes.js'
import { dataUrl, mediaOf } from '../../requests/media.js'
import { resultText } from '../../requests/result-text.js'
import type { LossCount } from '../loss-count.js'

/** The items of an answer, as the model gave them. What a rollout cannot hold is counted. */
export function answerItems(content: readonly AssistantPart[], loss: LossCount): Json[] {
  const items: Json[] = []
  for (const part of content) {
    const own = part.providerOptions?.openai?.item
    const last = items.at(-1)
    if (isObject(own)) items.push(own)
    else if (part.type === 'text' && part.providerOptions?.openai?.continues === true && last?.type === 'message') {
      ;(last.content as Json[]).push(textPart(part))
    } else items.push(...partItems(part, loss))
  }
  return items
}

/** An output, of the kind that its call asks for. */
export function outputItem({ toolCallId, output }: ToolResultPart, isCustom: boolean, loss: LossCount): Json {
  return {
    type: isCustom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: toolCallId,
    output: output.type === 'content' ? output.value.map(part => shownPart(part, loss)) : resultText(output),
  }
}

/** What a user, a developer, another agent, or Codex itself said. */
export function saidItem({ content, providerOptions }: UserMessage, loss: LossCount): Json {
  const { item, itemId, role = 'user' } = providerOptions?.openai ?? {}
  if (isObject(item)) return item
  const id = typeof itemId === 'string' ? { id: itemId } : {}
  return { type: 'message', ...id, role, content: content.map(part => shownPart(part, loss)) }
}

// --- internal ---

function partItems(part: AssistantPart, loss: LossCount): Json[] {
  if (part.type === 'text') return [messageItem(part)]
  if (part.type === 'reasoning') return reasoningItems(part, loss)
  if (part.type === 'tool-call' && !part.providerExecuted) return [callItem(part)]
  const kind = part.type === 'file' ? 'media' : part.type === 'tool-call' ? 'call' : 'result'
  loss.add(kind, 1, kind === 'media' ? 'a file that the model made' : 'the provider ran the tool itself')
  return []
}

function messageItem(part: AssistantPart & { type: 'text' }): Json {
  const phase = part.providerOptions?.openai?.phase
  return {
    type: 'message',
    ...idOf(part),
    role: 'assistant',
    content: [textPart(part)],
    ...(typeof phase === 'string' && { phase }),
  }
}

function textPart({ text, providerOptions }: AssistantPart & { type: 'text' }): Json {
  return providerOptions?.openai?.refusal === true ? { type: 'refusal', refusal: text } : { type: 'output_text', text }
}

/** Reasoning that no item was made of is another vendor's, or a plain text that the API would refuse. */
function reasoningItems(part: ReasoningPart, loss: LossCount): Json[] {
  const openai = part.providerOptions?.openai
  if (openai === undefined) {
    loss.add('reasoning', 1, 'not in the form of a reasoning item')
    return []
  }
  const { summary = [], content, reasoningEncryptedContent: encrypted_content = null } = openai
  return [{ type: 'reasoning', ...idOf(part), summary, ...(content !== undefined && { content }), encrypted_content }]
}

function callItem(part: ToolCallPart): Json {
  const { toolCallId: call_id, toolName: name, input, rawInput } = part
  const { type, namespace } = part.providerOptions?.openai ?? {}
  const text = isObject(input) ? stringOf(input.input) : undefined
  if (type === 'custom' && text !== undefined) {
    return { type: 'custom_tool_call', ...idOf(part), status: 'completed', call_id, name, input: text }
  }
  if (type === 'local_shell') {
    return { type: 'local_shell_call', ...idOf(part), call_id, status: 'completed', action: input }
  }
  return {
    type: 'function_call',
    ...idOf(part),
    name,
    ...(typeof namespace === 'string' && { namespace }),
    arguments: rawInput ?? JSON.stringify(input),
    call_id,
  }
}

function idOf({ providerOptions }: AssistantPart): { id?: string } {
  const id = stringOf(providerOptions?.openai?.itemId)
  return id === undefined ? {} : { id }
}

function shownPart(part: UserPart | ToolContent, loss: LossCount): Json {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  const media = mediaOf(part)
  if (media?.isImage) {
    const detail = stringOf(part.providerOptions?.openai?.imageDetail)
    return { type: 'input_image', image_url: dataUrl(media), ...(detail !== undefined && { detail }) }
  }
  loss.add('media', 1, 'a file that is no image')
  return { type: 'input_text', text: '[file left out]' }
}
