import type { Format, Head, Import } from '../format.js'
import { isObject, type Json, numberOf, timeOf } from '../json/shapes.js'
import type { Place } from '../place.js'
import { type LineRecord, readRecords } from '../records.js'
import { planCompactions } from './pi/compaction-plan.js'
import { isHeader, isRecord } from './pi/session-entry.js'
import { SessionImport } from './pi/session-import.js'
import { readTree, type SessionTree } from './pi/session-tree.js'

/** Sessions of pi (versions 1 to 3) and of its fork "Oh My Pi": a tree of entries, one a line; the last one is the leaf. */
export const pi: Format = { name: 'pi', detect: isPi, import: importPi }

// --- internal ---

/** The newest header version that is understood. */
const PI_VERSION = 3

function isPi({ records }: Head): boolean {
  const [first, second] = records
  if (first === undefined) return false
  if (isHeader(first) || (first.type === 'title' && second !== undefined && isHeader(second))) return true
  return records.some(
    ({ type, message, parentId }) => type === 'message' && isObject(message) && parentId !== undefined,
  )
}

function importPi(into: Import): void {
  const tree = readTree(readRecords(into.source, { isRecord, report: into.report }), into.report)
  if (tree.header !== undefined) describe(tree.header, into)
  if (isNewer(tree, into)) return
  const plan = planCompactions(
    tree.path.map(index => tree.entries[index]!),
    into.report,
  )
  const session = new SessionImport(into, tree, plan)
  let last: Place = { where: 'file' }
  for (const { index, record } of inPathOrder(into, tree)) {
    last = { where: `line ${record.line}`, time: timeOf(record.value.timestamp) }
    if (index === undefined) session.header(record.value, last)
    else session.entry(index, placeOf(index, tree), record)
  }
  session.finish(last)
}

function describe({ id, timestamp, cwd }: Json, into: Import): void {
  const createdAt = timeOf(timestamp)
  into.about({
    ...(typeof id === 'string' && { id }),
    ...(createdAt !== undefined && { createdAt }),
    ...(typeof cwd === 'string' && { cwd }),
  })
}

function isNewer({ header }: SessionTree, { source, report, about }: Import): boolean {
  const version = numberOf(header?.version) ?? 1
  if (version <= PI_VERSION) return false
  let line = 1
  for (const record of readRecords(source, { isRecord, report: () => {} })) {
    line = record.line
    if (isHeader(record.value)) break
  }
  report({ code: 'format.newer', severity: 'error', where: `line ${line}`, file: version, supported: PI_VERSION })
  about({ unreadable: true, resume: 'refused' })
  return true
}

function placeOf(index: number, { places }: SessionTree): number | undefined {
  return places[index]! < 0 ? undefined : places[index]
}

interface Numbered {
  /** `undefined`: the header, or what stands before it. */
  index: number | undefined
  record: LineRecord
}

/** In file order, which is the path's too, unless a parent was written behind its child. */
function* inPathOrder(into: Import, { path, headerAt }: SessionTree): Generator<Numbered> {
  const late = new Map<number, LineRecord | undefined>()
  for (const [at, index] of path.entries())
    if (at > 0 && path[at - 1]! > index) for (const each of path) late.set(each, undefined)
  for (const numbered of inFileOrder(into, headerAt)) {
    const { index, record } = numbered
    if (index !== undefined && late.has(index)) late.set(index, record)
    else yield numbered
  }
  if (late.size > 0) for (const index of path) yield { index, record: late.get(index)! }
}

function* inFileOrder({ source }: Import, headerAt: number): Generator<Numbered> {
  let ordinal = 0
  for (const record of readRecords(source, { isRecord, report: () => {} })) {
    const index = ordinal++ - headerAt - 1
    yield { index: index < 0 ? undefined : index, record }
  }
}
