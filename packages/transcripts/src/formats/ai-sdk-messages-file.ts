import type { Message, Part, ToolCallPart } from '@palimpsest/session'
import type { Exported, ExportInput } from '../export.js'
import type { Loss } from '../finding.js'
import { stringifyRaw } from '../json/raw-json.js'
import { parseJson } from '../json/scan-json.js'
import { argumentsObject } from '../requests/arguments.js'

/**
 * `ModelMessage[]` of the Vercel AI SDK, with the system text as its first message. The messages of a log have that
 * form already; what the SDK has no place for is declared.
 */
export function aiSdkMessagesFile({ entries, request: { system, tools = [] } = {} }: ExportInput): Exported {
  const messages = entries.map(({ message }) => message)
  const lead = system === undefined ? [] : [{ role: 'system', content: system }]
  return {
    text: `${stringifyRaw([...lead, ...messages.map(modelMessage)], 2)}\n`,
    loss: [...lossOfTools(tools.length), ...lossOfCalls(messages)],
  }
}

// --- internal ---

function modelMessage(message: Message): unknown {
  if (message.role !== 'assistant') return message
  return { ...message, content: message.content.map(modelPart) }
}

/** The SDK knows the value of the arguments only: it is written with the digits of their text. */
function modelPart(part: Part): unknown {
  if (part.type !== 'tool-call') return part
  const { rawInput: _, ...rest } = part
  return { ...rest, input: argumentsObject(part) }
}

function lossOfTools(count: number): Loss[] {
  return count === 0 ? [] : [{ kind: 'tool-schema', count, reason: 'messages hold no tools' }]
}

function lossOfCalls(messages: readonly Message[]): Loss[] {
  const count = messages.flatMap(({ content }) => content as Part[]).filter(isUnreadable).length
  return count === 0 ? [] : [{ kind: 'call', count, reason: 'arguments that are not JSON have no place' }]
}

function isUnreadable(part: Part): part is ToolCallPart {
  return part.type === 'tool-call' && Boolean(part.rawInput) && parseJson(part.rawInput!) === undefined
}
