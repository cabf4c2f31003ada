import { readDocument } from '../document.js'
import type { Finding } from '../finding.js'
import type { Head, Import } from '../format.js'
import { inspectRecord } from '../inspect.js'
import { inspectDocument } from '../inspect-document.js'
import { closeTorn } from '../json/close-torn.js'
import { type JSONPath, RawTexts } from '../json/raw-text.js'
import { parseJson } from '../json/scan-json.js'
import { isObject, type Json } from '../json/shapes.js'
import { type LineRecord, readRecords } from '../records.js'

/** A conversation in a provider's own form: a bare list of messages, or a request body (or a run) that holds one. */
export interface FoundList {
  readonly items: readonly unknown[]
  /** What stands around the list; `{}` around a bare one. */
  readonly body: Json
  /** From the root of the document. */
  readonly path: JSONPath
}

export interface MessageList extends FoundList {
  /** Where an item, or what lies below it, stands, as findings name it. */
  where(index: number, below?: string): string
  /** Text of the value at a path below an item, where the parsed value would not give it back. */
  rawAt(index: number, path: JSONPath): string | undefined
}

/** The conversations at the beginning of a file, as far as a look at it tells. */
export function listsIn(head: Head, keys: readonly string[]): FoundList[] {
  const document = head.document()
  if (document !== undefined) return listsOf(document, keys)
  const bodies = firstRecords(head).flatMap(record => listsOf(record, keys))
  return bodies.length > 0 || head.records.length === 0 ? bodies : [{ items: head.records, body: {}, path: [] }]
}

/** Opens the conversation that is asked for. What is wrong with the file, and with characters in the list, is reported. */
export function openList(into: Import, keys: readonly string[]): MessageList {
  const lists = readLists(into, keys)
  if (lists.length > 1) {
    into.report({ code: 'file.conversations', severity: 'info', where: 'file', conversations: lists.length })
  }
  into.about({ conversations: Math.max(1, lists.length), ...(lists.length === 0 && { unreadable: true }) })
  const list = lists[into.conversation] ?? NOTHING
  list.inspect(into.report)
  return list
}

// --- internal ---

/** Where the first line is longer than what is looked at, as much of its record as that holds. */
function firstRecords({ records, text }: Head): readonly unknown[] {
  if (records.length > 0) return records
  const begun = closeTorn(text)
  return begun === undefined ? [] : [parseJson(begun.text)?.value]
}

type Opened = MessageList & { inspect(report: (finding: Finding) => void): void }

const NOTHING: Opened = {
  items: [],
  body: {},
  path: [],
  where: () => 'file',
  rawAt: () => undefined,
  inspect: () => {},
}

function listsOf(document: unknown, keys: readonly string[], path: JSONPath = []): FoundList[] {
  if (isObject(document)) {
    const key = keys.find(each => Array.isArray(document[each]))
    if (key !== undefined) return [{ items: document[key] as unknown[], body: document, path: [...path, key] }]
    if (keys.includes('input') && typeof document.input === 'string') {
      return [{ items: [{ role: 'user', content: document.input }], body: document, path: [...path, 'input'] }]
    }
    return path.length === 0 && isObject(document.body) ? listsOf(document.body, keys, ['body']) : []
  }
  if (!Array.isArray(document) || document.length === 0) return []
  const holdsLists = (each: unknown) => Array.isArray(each) || listsOf(each, keys, [0]).length > 0
  if (path.length > 0 || !document.every(holdsLists)) return [{ items: document, body: {}, path }]
  return document.flatMap((each, i) => listsOf(each, keys, [i]))
}

function readLists({ source, report, lose }: Import, keys: readonly string[]): Opened[] {
  const document = readDocument(source)
  if (document !== undefined) {
    const { text, value, damage } = document
    for (const finding of damage) report(finding)
    return listsOf(value, keys).map(found => inDocument(text, found))
  }
  const records = [...readRecords(source, { report })]
  const bodies = records.filter(({ value }) => listsOf(value, keys).length > 0)
  if (bodies.length === 0) return records.length > 0 ? [onLines(records)] : []
  for (const record of records) {
    if (bodies.includes(record)) continue
    lose({ kind: 'record', count: 1, reason: 'no conversation', where: `line ${record.line}` })
  }
  return bodies.flatMap(record => listsOf(record.value, keys).map(found => onLine(record, found)))
}

function inDocument(text: string, found: FoundList): Opened {
  const raw = new RawTexts(text)
  const path = pathText(found.path)
  return {
    ...found,
    where: (index, below = '') => `${path}[${index}]${below}`,
    rawAt: (index, below) => raw.at([...found.path, index, ...below]),
    inspect: report => inspectDocument(text, found.items, path, report, found.path),
  }
}

/** A bare list counts as `messages`, whatever it holds. */
function pathText(path: JSONPath): string {
  const [first, ...rest] = path
  const lead = first === undefined ? 'messages' : typeof first === 'number' ? `messages[${first}]` : first
  return lead + rest.map(step => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
}

/** A body on a line of its own. */
function onLine({ line, text }: LineRecord, found: FoundList): Opened {
  const raw = new RawTexts(text)
  const where = `line ${line}`
  return {
    ...found,
    where: () => where,
    rawAt: (index, below) => raw.at([...found.path, index, ...below]),
    inspect: report => inspectRecord(text, found.body, where, report),
  }
}

/** A message per line. */
function onLines(records: readonly LineRecord[]): Opened {
  return {
    items: records.map(({ value }) => value),
    body: {},
    path: [],
    where: index => `line ${records[index]?.line ?? records.length}`,
    rawAt: (index, below) => new RawTexts(records[index]!.text).at(below),
    inspect: report => {
      for (const { text, value, line } of records) inspectRecord(text, value, `line ${line}`, report)
    },
  }
}
