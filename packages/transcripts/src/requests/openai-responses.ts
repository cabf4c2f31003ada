import type {
  AssistantPart,
  JsonObject,
  Message,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  UserPart,
} from '@palimpsest/session'
import { isObject, stringOf } from '../json/shapes.js'
import { argumentsText, customInput } from './arguments.js'
import { isFreeText, type Tool, textFormat, withoutMark } from './free-text-tool.js'
import { dataUrl, mediaOf } from './media.js'
import type { Outgoing, RequestBody } from './outgoing.js'
import { resultText } from './result-text.js'

/** The body of an OpenAI Responses request: all of the history as items, nothing that the server would have to look up. */
export function responsesBody({ messages, system, tools = [], toolChoice }: Outgoing): RequestBody {
  const custom = new Set(messages.flatMap(customCalls).map(({ toolName }) => toolName))
  return {
    ...(system !== undefined && { instructions: system }),
    input: items(messages),
    ...(tools.length > 0 && {
      tools: tools.map(tool => toolOf(tool, custom.has(tool.name) || isFreeText(tool))),
    }),
    ...(toolChoice !== undefined && { tool_choice: toolChoice }),
  }
}

// --- internal ---

function toolOf(tool: Tool, isCustom: boolean): RequestBody {
  const { name, description, inputSchema } = tool
  const told = { name, ...(description !== undefined && { description }) }
  if (isCustom) return { type: 'custom', ...told, ...textFormat(tool) }
  return { type: 'function', ...told, parameters: withoutMark(inputSchema) }
}

function items(messages: readonly Message[]): RequestBody[] {
  const kinds = new Map(messages.flatMap(callKinds))
  const list = messages.flatMap((message): RequestBody[] => {
    if (message.role === 'assistant') return assistantItems(message.content)
    if (message.role === 'tool')
      return message.content.map(part => outputItem(part, kinds.get(part.toolCallId) ?? 'function_call'))
    const role = stringOf(message.providerOptions?.openai?.role) ?? 'user'
    return [{ type: 'message', role, content: message.content.map(inputPart) }]
  })
  return withoutRepeatedIds(list)
}

/** Of items that were kept whole: rules look at the ids of the others. */
function withoutRepeatedIds(list: readonly RequestBody[]): RequestBody[] {
  const seen = new Set<unknown>()
  return list.map(item => {
    const { id, ...rest } = item
    if (id === undefined || !seen.has(id)) {
      seen.add(id)
      return item
    }
    return rest
  })
}

function customCalls({ role, content }: Message): ToolCallPart[] {
  if (role !== 'assistant') return []
  return content.filter(part => part.type === 'tool-call' && customInput(part) !== undefined) as ToolCallPart[]
}

/** What item each call is: its output is of the same kind. */
function callKinds({ role, content }: Message): [string, string][] {
  if (role !== 'assistant') return []
  return content.flatMap((part): [string, string][] => {
    if (part.type !== 'tool-call' || part.providerExecuted) return []
    const { item } = part.providerOptions?.openai ?? {}
    const kind = isObject(item) ? String(item.type) : 'function_call'
    return [[part.toolCallId, customInput(part) === undefined ? kind : 'custom_tool_call']]
  })
}

function assistantItems(content: readonly AssistantPart[]): RequestBody[] {
  const list: RequestBody[] = []
  for (const part of content) {
    const own = part.providerOptions?.openai?.item
    const last = list.at(-1)
    if (isObject(own)) list.push(ownItem(part, own))
    else if (part.type === 'text') {
      if (part.providerOptions?.openai?.continues === true && last?.type === 'message') {
        ;(last.content as RequestBody[]).push(outputPart(part))
      } else list.push({ type: 'message', ...itemId(part), role: 'assistant', content: [outputPart(part)] })
    } else if (part.type === 'reasoning') list.push(reasoningItem(part))
    else if (part.type === 'tool-call' && !part.providerExecuted) list.push(callItem(part))
  }
  return list
}

/** An item that was kept whole, under the ids that it has now. */
function ownItem(part: AssistantPart, { id: _, ...item }: JsonObject): RequestBody {
  const called = part.type === 'tool-call' && !part.providerExecuted ? { call_id: part.toolCallId } : {}
  const id = itemId(part)
  return { ...(isLegalId(id.id) && id), ...item, ...called }
}

/** The ids of the items that go out in parts have been looked at by a rule. */
function isLegalId(id: unknown): boolean {
  return typeof id === 'string' && /^(?!call|toolu)[A-Za-z0-9_-]{1,64}$/.test(id)
}

function itemId({ providerOptions }: AssistantPart): { id?: string } {
  const id = stringOf(providerOptions?.openai?.itemId)
  return id === undefined ? {} : { id }
}

function outputPart({ text, providerOptions }: TextPart): RequestBody {
  return providerOptions?.openai?.refusal === true ? { type: 'refusal', refusal: text } : { type: 'output_text', text }
}

/** As it was kept. Readable `content` never goes back: the endpoint refuses it. */
function reasoningItem(part: ReasoningPart): RequestBody {
  const { summary, reasoningEncryptedContent: encrypted } = part.providerOptions?.openai ?? {}
  const told = Array.isArray(summary) ? summary : part.text === '' ? [] : [{ type: 'summary_text', text: part.text }]
  return {
    type: 'reasoning',
    ...itemId(part),
    summary: told,
    ...(typeof encrypted === 'string' && { encrypted_content: encrypted }),
  }
}

function callItem(part: ToolCallPart): RequestBody {
  const { toolCallId: call_id, toolName: name } = part
  const input = customInput(part)
  if (input !== undefined) return { type: 'custom_tool_call', ...itemId(part), call_id, name, input }
  return { type: 'function_call', ...itemId(part), call_id, name, arguments: argumentsText(part) }
}

function outputItem({ toolCallId: call_id, output, providerOptions }: ToolResultPart, kind: string): RequestBody {
  const own = providerOptions?.openai?.item
  if (isObject(own) && own.type === `${kind}_output`) {
    const { id, ...rest } = own
    return { ...(isLegalId(id) && { id }), ...rest, call_id }
  }
  const isList =
    output.type === 'content' && (output.value.length > 1 || output.value.some(({ type }) => type !== 'text'))
  return {
    type: `${kind}_output`,
    call_id,
    output: isList ? output.value.map(contentPart) : resultText(output),
  }
}

function contentPart(part: Parameters<typeof mediaOf>[0] | TextPart): RequestBody {
  const own = part.providerOptions?.openai?.part
  if (isObject(own)) return ownPart(own)
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  const media = mediaOf(part)
  if (media === undefined) return { type: 'input_text', text: resultText({ type: 'content', value: [part as never] }) }
  if (media.isImage) {
    const detail = stringOf(part.providerOptions?.openai?.imageDetail)
    return { type: 'input_image', image_url: dataUrl(media), ...(detail !== undefined && { detail }) }
  }
  if ('url' in media) return { type: 'input_file', file_url: media.url }
  return { type: 'input_file', filename: media.filename ?? 'file', file_data: dataUrl(media) }
}

/** Chat names a file that the server keeps in another way. */
function ownPart(part: JsonObject): RequestBody {
  return isObject(part.file) ? { type: 'input_file', file_id: part.file.file_id } : part
}

function inputPart(part: UserPart): RequestBody {
  return contentPart(part)
}
