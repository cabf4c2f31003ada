import { readDocument } from '../document.js'
import type { Format, Head, Import } from '../format.js'
import { inspectRecord } from '../inspect.js'
import { inspectDocument } from '../inspect-document.js'
import { type JSONPath, RawTexts } from '../json/raw-text.js'
import { isObject, listOf, objectsOf } from '../json/shapes.js'
import { readRecords } from '../records.js'
import { LangchainConversation } from './langchain-conversation.js'
import { LangchainImport } from './langchain-import.js'
import { messageOf } from './langchain-message.js'

/**
 * LangChain and LangGraph: lists of serialised messages (constructors, or dicts with a `type`), states that hold such a
 * list, and recorded streams of states and message chunks.
 */
export const langchain: Format = {
  name: 'langchain',
  detect: (head: Head) => holdsMessage(head.document() ?? head.records, 0),
  import: importLangchain,
}

// --- internal ---

/** Whether a message of LangChain's is near the beginning. */
function holdsMessage(value: unknown, depth: number): boolean {
  if (messageOf(value) !== undefined) return true
  if (depth > 4) return false
  if (Array.isArray(value)) return value.slice(0, 3).some(each => holdsMessage(each, depth + 1))
  if (!isObject(value) || 'role' in value) return false
  return ['messages', 'values', 'channel_values', 'checkpoint', 'output', 'input'].some(key =>
    holdsMessage(value[key], depth + 1),
  )
}

function importLangchain(into: Import): void {
  const { source, report } = into
  const conversation = new LangchainConversation(into)
  const document = readDocument(source)
  if (document === undefined) {
    for (const { value, text, line } of readRecords(source, { report })) {
      inspectRecord(text, value, `line ${line}`, report)
      keepArguments(value, new RawTexts(text))
      conversation.add(value, `line ${line}`)
    }
  } else {
    const { text, value, damage } = document
    for (const finding of damage) report(finding)
    inspectDocument(text, listOf(value), 'messages', report)
    keepArguments(value, new RawTexts(text))
    for (const [where, entry] of entriesOf(value)) conversation.add(entry, where)
  }
  new LangchainImport(into).run(conversation.messages)
}

/** Puts the text of a call's arguments in their place where the parsed value would not give it back. */
function keepArguments(value: unknown, raw: RawTexts, path: JSONPath = []): void {
  if (path.length > 10) return
  if (Array.isArray(value)) for (const [i, each] of value.entries()) keepArguments(each, raw, [...path, i])
  if (!isObject(value)) return
  for (const [key, each] of Object.entries(value)) if (key !== 'tool_calls') keepArguments(each, raw, [...path, key])
  for (const [i, call] of objectsOf(value.tool_calls)) {
    const text = isObject(call.args) ? raw.at([...path, 'tool_calls', i, 'args']) : undefined
    if (text !== undefined) call.args = text
  }
}

function entriesOf(document: unknown): [string, unknown][] {
  if (!Array.isArray(document)) return [['', document]]
  return document.map((entry, i) => [`messages[${i}]`, entry])
}
