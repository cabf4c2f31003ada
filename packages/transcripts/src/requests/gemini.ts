import type { AssistantPart, Message, ToolCallPart, ToolOutput, ToolResultPart, UserPart } from '@palimpsest/session'
import { RawJson } from '../json/raw-json.js'
import { isObject, stringOf } from '../json/shapes.js'
import { argumentsObject } from './arguments.js'
import { withoutMark } from './free-text-tool.js'
import { mediaOf } from './media.js'
import type { Outgoing, RequestBody } from './outgoing.js'
import { isFailure, resultText } from './result-text.js'

/** The body of a Gemini `generateContent` request: after a turn with calls comes one that holds exactly their responses. */
export function geminiBody({ messages, system, tools = [], toolChoice }: Outgoing): RequestBody {
  return {
    ...(system !== undefined && { systemInstruction: { parts: [{ text: system }] } }),
    contents: turns(messages),
    ...(tools.length > 0 && {
      tools: [
        {
          functionDeclarations: tools.map(({ name, description, inputSchema }) => ({
            name,
            ...(description !== undefined && { description }),
            parametersJsonSchema: withoutMark(inputSchema),
          })),
        },
      ],
    }),
    ...(toolChoice !== undefined && { toolConfig: { functionCallingConfig: { mode: 'NONE' } } }),
  }
}

// --- internal ---

interface Turn {
  role: 'user' | 'model'
  parts: RequestBody[]
}

/** A call turn stands between a user's and its responses: what the model said beside it is part of it. The responses are one. */
function turns(messages: readonly Message[]): Turn[] {
  const list: Turn[] = []
  const idless = new Set<string>()
  for (const message of messages) {
    const turn = turnOf(message, idless)
    if (turn.parts.length === 0) continue
    const parts: RequestBody[] = []
    while (list.length > 0 && belongsTo(list.at(-1)!, turn)) parts.unshift(...list.pop()!.parts)
    list.push({ ...turn, parts: [...parts, ...turn.parts] })
  }
  return list
}

function belongsTo(last: Turn, turn: Turn): boolean {
  if (turn.role === 'model') return last.role === 'model' && [...last.parts, ...turn.parts].some(isCall)
  return last.role === 'user' && last.parts.every(isResponse) && turn.parts.every(isResponse)
}

const isCall = ({ functionCall }: RequestBody) => functionCall !== undefined
const isResponse = ({ functionResponse }: RequestBody) => functionResponse !== undefined

/** `idless`: the calls so far that came without an id. They and their responses go without one. */
function turnOf(message: Message, idless: Set<string>): Turn {
  if (message.role === 'assistant') noteIds(message.content, idless)
  if (message.role === 'assistant') return { role: 'model', parts: message.content.flatMap(modelPart) }
  if (message.role === 'user') return { role: 'user', parts: message.content.flatMap(userPart) }
  return { role: 'user', parts: message.content.map(part => responsePart(part, idless)) }
}

function modelPart(part: AssistantPart): RequestBody[] {
  const { part: own, thoughtSignature } = part.providerOptions?.google ?? {}
  const signed = typeof thoughtSignature === 'string' ? { thoughtSignature } : {}
  if (isObject(own)) return [own]
  if (part.type === 'text') return [{ text: part.text, ...signed }]
  if (part.type === 'reasoning') return [{ text: part.text, thought: true, ...signed }]
  if (part.type === 'tool-call' && !part.providerExecuted) return [{ functionCall: functionCall(part), ...signed }]
  if (part.type === 'file') return userPart(part)
  return []
}

function functionCall(part: ToolCallPart): RequestBody {
  const id = isIdless(part) ? {} : { id: part.toolCallId }
  return { ...id, name: part.toolName, args: argumentsObject(part) }
}

function noteIds(content: readonly AssistantPart[], idless: Set<string>): void {
  for (const part of content) {
    if (part.type !== 'tool-call') continue
    if (isIdless(part)) idless.add(part.toolCallId)
    else idless.delete(part.toolCallId)
  }
}

function isIdless({ providerOptions }: ToolCallPart): boolean {
  return providerOptions?.google?.withoutId === true
}

function userPart(part: UserPart): RequestBody[] {
  const own = part.providerOptions?.google?.part
  if (isObject(own)) return [own]
  if (part.type === 'text') return [{ text: part.text }]
  const media = mediaOf(part)
  if (media === undefined) return []
  return 'url' in media
    ? [{ fileData: { ...mimeType(media.mediaType), fileUri: media.url } }]
    : [{ inlineData: { mimeType: media.mediaType, data: media.data } }]
}

/** Of a type that nobody knows nothing is said. */
function mimeType(mediaType: string | undefined): { mimeType?: string } {
  return mediaType === undefined || mediaType === 'application/octet-stream' ? {} : { mimeType: mediaType }
}

function responsePart(part: ToolResultPart, idless: ReadonlySet<string>): RequestBody {
  const media = part.output.type === 'content' ? part.output.value.flatMap(mediaParts) : []
  return {
    functionResponse: {
      ...(!idless.has(part.toolCallId) && { id: part.toolCallId }),
      name: part.toolName,
      response: responseOf(part),
      ...(media.length > 0 && { parts: media }),
    },
  }
}

function mediaParts(content: Parameters<typeof mediaOf>[0]): RequestBody[] {
  const media = mediaOf(content)
  if (media === undefined || 'url' in media) return []
  return [{ inlineData: { mimeType: media.mediaType, data: media.data } }]
}

/** A value that is an object is the response itself; any other stands under `output`, or under `error` where the call failed. */
function responseOf(part: ToolResultPart): unknown {
  const { output } = part
  const isValue = output.type === 'json' || output.type === 'error-json'
  const raw = isValue ? stringOf(output.providerOptions?.palimpsest?.raw) : undefined
  const value = raw === undefined ? (isValue ? output.value : withoutMedia(output)) : new RawJson(raw)
  if (isValue && isObject(output.value)) return value
  return isFailure(part) ? { error: value } : { output: value }
}

function withoutMedia(output: ToolOutput): string {
  if (output.type !== 'content') return resultText(output)
  return resultText({ ...output, value: output.value.filter(part => mediaParts(part as never).length === 0) })
}
