import { openDocument } from '../document.js'
import type { Format, Import } from '../format.js'
import { inspectDocument } from '../inspect-document.js'
import { RawTexts } from '../json/raw-text.js'
import { isObject, type Json, listOf, stringOf, timeOf } from '../json/shapes.js'
import { OpencodeImport } from './opencode/importer.js'

/** What `opencode export` prints: a session and its messages, each with its parts. */
export const opencode: Format = {
  name: 'opencode',
  detect: head => isExport(head.document()),
  import(into) {
    const document = openDocument(into)
    if (document !== undefined && isObject(document.value)) importExport(into, document.text, document.value)
  },
}

// --- internal ---

function isExport(value: unknown): boolean {
  if (!isObject(value) || !isObject(value.info) || !Array.isArray(value.messages)) return false
  const isSession = typeof value.info.id === 'string' && ('directory' in value.info || 'projectID' in value.info)
  return isSession || value.messages.some(each => isObject(each) && isObject(each.info) && Array.isArray(each.parts))
}

function importExport(into: Import, text: string, document: Json): void {
  const session = isObject(document.info) ? document.info : {}
  const times = isObject(session.time) ? session.time : {}
  const [id, cwd, createdAt] = [stringOf(session.id), stringOf(session.directory), timeOf(times.created)]
  into.about({
    ...(id !== undefined && { id }),
    ...(cwd !== undefined && { cwd }),
    ...(createdAt !== undefined && { createdAt }),
  })
  inspectDocument(text, listOf(document.messages), 'messages', into.report, ['messages'])
  new OpencodeImport(into, new RawTexts(text)).run(session, document.messages)
}
