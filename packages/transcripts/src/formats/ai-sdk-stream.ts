import { readDocument } from '../document.js'
import type { Format, Import } from '../format.js'
import { parseJson } from '../json/scan-json.js'
import { isObject, type Json, listOf, objectsOf } from '../json/shapes.js'
import { readRecords } from '../records.js'
import { readText } from '../source.js'
import { AiSdkChunks, isChunk } from './ai-sdk-chunks.js'
import { AiSdkMessages, isAiSdkMessage } from './ai-sdk-messages.js'
import { listsIn, openList } from './message-list.js'

/**
 * The Vercel AI SDK: the chunks of a UI message stream (an array, a line each, or server-sent events), and the messages
 * that they are folded into (`UIMessage[]`, `ModelMessage[]`).
 */
export const aiSdkStream: Format = {
  name: 'ai-sdk-stream',
  detect: head => isStream(head.document() ?? head.records) || listsIn(head, ['messages']).some(isMessages),
  import: importAiSdk,
}

// --- internal ---

function isStream(document: unknown): boolean {
  const chunks = listOf(document)
  const known = chunks.filter(isChunk).length
  return known > chunks.length / 2 && isChunk(chunks[0]) && chunks.every(isTyped)
}

/** A newer version may write chunks that are not known. */
function isTyped(chunk: unknown): boolean {
  return isObject(chunk) && typeof chunk.type === 'string' && !('role' in chunk)
}

function isMessages({ items }: { items: readonly unknown[] }): boolean {
  const messages = objectsOf(items).map(([, message]) => message)
  return messages.length > 0 && messages.some(isAiSdkMessage) && messages.every(({ role }) => typeof role === 'string')
}

function importAiSdk(into: Import): void {
  const chunks = chunksOf(into)
  if (chunks === undefined) new AiSdkMessages(into, openList(into, ['messages'])).run()
  else new AiSdkChunks(into).run(chunks)
}

interface PlacedChunk {
  chunk: Json
  where: string
}

/** `undefined`: it is no stream. */
function chunksOf(into: Import): PlacedChunk[] | undefined {
  const text = readText(into.source)
  if (/^(?:data|event|id|retry|):/.test(text)) return sentEvents(text, into)
  const { value, damage = [] } = readDocument(into.source) ?? {}
  if (Array.isArray(value)) {
    if (!isStream(value)) return undefined
    for (const finding of damage) into.report(finding)
    return objectsOf(value).map(([i, chunk]) => ({ chunk, where: `messages[${i}]` }))
  }
  if (isObject(value)) return isChunk(value) ? [{ chunk: value, where: 'file' }] : undefined
  const lines = [...readRecords(into.source, { report: into.report })]
  return lines.some(({ value }) => isChunk(value))
    ? lines.map(({ value, line }) => ({ chunk: value, where: `line ${line}` }))
    : undefined
}

function sentEvents(text: string, { report }: Import): PlacedChunk[] {
  return text.split('\n').flatMap((line, i) => {
    if (!line.startsWith('data:') || line.slice('data:'.length).trim() === '[DONE]') return []
    const chunk = parseJson(line.slice('data:'.length))?.value
    const where = `line ${i + 1}`
    if (isObject(chunk)) return [{ chunk, where }]
    report({ code: 'file.torn-record', severity: 'error', where })
    return []
  })
}
