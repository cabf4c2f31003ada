import { type JsonDocument, readDocument } from '../document.js'
import type { Format, Head, Import } from '../format.js'
import { inspectRecord } from '../inspect.js'
import { inspectDocument } from '../inspect-document.js'
import { losslessJson } from '../json/lossless.js'
import { RawTexts } from '../json/raw-text.js'
import { isObject, type Json, objectsOf, stringOf, timeOf } from '../json/shapes.js'
import { readRecords } from '../records.js'
import { ChatFile, isMessage } from './gemini-cli/chat-file.js'
import { GeminiImport } from './gemini-cli/importer.js'

/** Gemini CLI: a chat as one document, as a log of records and patches, or a checkpoint of its history. */
export const geminiCli: Format = {
  name: 'gemini-cli',
  detect: head => isLog(head) || messagesOf(head.document()) !== undefined,
  import(into) {
    const document = readDocument(into.source)
    const messages = messagesOf(document?.value)
    if (document === undefined || messages === undefined) importLog(into)
    else importDocument(into, document, messages)
  },
}

// --- internal ---

function isLog({ records }: Head): boolean {
  return records.some(
    (record, i) => isPatch(record) || isAnswer(record) || (i === 0 && isMetadata(record) && !('messages' in record)),
  )
}

/** Where the first line, with the metadata, is lost. */
function isAnswer(value: Json): boolean {
  return isMessage(value) && value.type === 'gemini' && typeof value.id === 'string' && 'timestamp' in value
}

function isMetadata(value: Json): boolean {
  return typeof value.sessionId === 'string' && typeof value.projectHash === 'string'
}

function isPatch(value: Json): boolean {
  return isObject(value.$set) || typeof value.$rewindTo === 'string'
}

function isRecord(value: Json): boolean {
  return isMetadata(value) || isPatch(value) || isMessage(value)
}

/** The messages of a document and where they stand in it; of a single message, that one. */
function messagesOf(document: unknown): { list: unknown[]; path: string } | undefined {
  if (!isObject(document)) return undefined
  const { messages, history } = document
  if (Array.isArray(messages) && (isMetadata(document) || messages.some(isMessage)))
    return { list: messages, path: 'messages' }
  const isHistory = Array.isArray(history) && history.some(each => isObject(each) && Array.isArray(each.parts))
  if (isHistory) return { list: history, path: 'history' }
  return isMessage(document) && ('tokens' in document || 'thoughts' in document || 'timestamp' in document)
    ? { list: [document], path: 'messages' }
    : undefined
}

function importDocument(
  into: Import,
  { text, value, damage }: JsonDocument,
  found: { list: unknown[]; path: string },
): void {
  const { list, path } = found
  const document = value as Json
  for (const finding of damage) into.report(finding)
  const isInside = document[path] === list
  metadata(into, document)
  inspectDocument(text, list, path, into.report, isInside ? [path] : [])
  const raw = new RawTexts(text)
  const chat = new ChatFile()
  for (const [i, value] of objectsOf(list)) {
    // A document holds each message once; two with one id are two.
    chat.entries.push({
      value,
      where: `${path}[${i}]`,
      rawAt: below => raw.at(isInside ? [path, i, ...below] : below),
      older: [],
      instead: [],
    })
  }
  new GeminiImport(into, { isDocument: true }).run(chat)
}

function importLog(into: Import): void {
  const chat = new ChatFile()
  for (const { value: parsed, text, line } of readRecords(into.source, { isRecord, report: into.report })) {
    const value = losslessJson(parsed) as Json
    const where = `line ${line}`
    inspectRecord(text, value, where, into.report)
    if (typeof value.$rewindTo === 'string') chat.rewind(value.$rewindTo)
    else if (isObject(value.$set)) patch(into, chat, value.$set, where)
    else if (isMetadata(value) && !('content' in value)) metadata(into, value)
    else {
      const raw = new RawTexts(text)
      chat.message(value, where, path => raw.at(path))
    }
  }
  new GeminiImport(into, { isDocument: false }).run(chat)
}

function patch(into: Import, chat: ChatFile, set: Json, where: string): void {
  if (Array.isArray(set.messages)) chat.replaceAll(set.messages, where)
  metadata(into, set)
}

function metadata(into: Import, { sessionId, startTime }: Json): void {
  const [id, createdAt] = [stringOf(sessionId), timeOf(startTime)]
  into.about({ ...(id !== undefined && { id }), ...(createdAt !== undefined && { createdAt }) })
}
