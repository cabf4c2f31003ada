import { isKnownType, type JsonObject, type UserPart } from '@palimpsest/session'
import type { Import } from '../../format.js'
import { isObject, type Json, numberOf, objectsOf, stringOf, timeOf } from '../../json/shapes.js'
import type { Place } from '../../place.js'
import { SequencedLog } from '../../sequenced-log.js'
import { vendorOf } from '../../vendor.js'
import { chunkOf, unpackRow, usageOf } from './chunks.js'
import { Compactions } from './compactions.js'
import { assistantParts, resultParts, userParts } from './parts.js'

interface Row {
  readonly type: string
  /** Its own, where it says one. */
  readonly seq: number | undefined
  readonly record: Json
  readonly data: Json
  readonly place: Place
}

/** Takes the records of a log one by one and writes our events for them, one to one. */
export class DshImport {
  readonly #into: Import
  readonly #log: SequencedLog
  readonly #compactions = new Compactions()
  readonly #names = new Map<string, string>()
  /** Messages without an id in the shape of writers that gave none: wrong only where others have one. */
  readonly #unnamed: { where: string; seq: number }[] = []
  #namesMessages = false
  #sessionId = ''
  #turn: number | undefined

  constructor(into: Import) {
    this.#into = into
    this.#log = new SequencedLog(into, 'dsh')
  }

  /** `false`: nothing of this log may be read. */
  header(record: Json, where: string): boolean {
    const { version } = record
    if (typeof version === 'number' && version > SUPPORTED) {
      this.#into.report({ code: 'format.newer', severity: 'error', where, file: version, supported: SUPPORTED })
      this.#into.about({ resume: 'refused', unreadable: true })
      return false
    }
    const [id, createdAt, cwd] = [stringOf(record.id), numberOf(record.createdAt), stringOf(record.cwd)]
    this.#sessionId = id ?? ''
    this.#into.about({
      ...(id !== undefined && { id }),
      ...(createdAt !== undefined && { createdAt }),
      ...(cwd !== undefined && { cwd }),
    })
    return true
  }

  /** `false`: what stands behind this event may not be read. `whereOf` names the place of an own seq. */
  event(record: Json, whereOf: (seq: number) => string): boolean {
    const type = stringOf(record.type)
    const seq = numberOf(record.seq)
    const place = { where: whereOf(seq ?? this.#log.next), time: timeOf(record.time) }
    if (type === undefined || !isObject(record.data)) {
      this.#into.lose({ kind: 'record', count: 1, reason: 'not an event', where: place.where })
      return true
    }
    const row: Row = { type, seq, record, data: record.data, place }
    const members = unpackRow(type, row.data)
    if (members !== undefined) this.#packed(row, members)
    else if (WRITERS[type] !== undefined) WRITERS[type].call(this, row)
    else if (record.ignorable === true || SKIPPABLE.test(type)) this.#note(row)
    else return this.#refuse(row)
    return true
  }

  finish(): void {
    if (this.#namesMessages) for (const each of this.#unnamed) this.#reportUnnamed(each)
  }

  // --- internal: a writer for each type, by its name ---

  turn(row: Row): void {
    if (row.type === 'turn/start') this.#turn = numberOf(row.data.turn)
    else this.#turn = undefined
    const { reason } = row.data
    this.#write(row, row.type, row.type === 'turn/end' ? { ...row.data, reason: endOf(reason) } : row.data)
  }

  step(row: Row): void {
    this.#write(row, row.type, row.data)
  }

  user(row: Row): void {
    const { data, place } = row
    const content = userParts(data.content, this.#lost(place))
    const source = isObject(data.source) ? data.source : {}
    const compactionId = stringOf(source.compactionId)
    const named = this.#named(data, 'role' in data, row)
    if (isReplace(row) && content.every(isBlank)) {
      this.#into.report({ code: 'compaction.void-summary', severity: 'error', where: place.where })
      this.#log.keep({ seq: row.seq, type: row.type, data: data as JsonObject }, place)
      return
    }
    const message = { role: 'user', content }
    const turn = this.#turn === undefined ? {} : { turn: this.#turn }
    const isTyped = source.kind === undefined || source.kind === 'user'
    const origin = stringOf(source.plugin) ?? stringOf(source.kind) ?? 'unknown'
    const written = isTyped
      ? this.#write(row, 'user/message', { ...turn, message, ...named })
      : this.#write(row, 'context/message', { ...turn, message, origin, ...named })
    if (compactionId === undefined || !isReplace(row)) return
    if (written === undefined) this.#compactions.refuse(compactionId, this.#into.report)
    else this.#compactions.commit(compactionId)
  }

  assistant(row: Row): void {
    const { data, place } = row
    const isNew = isObject(data.message)
    const message = isNew ? (data.message as Json) : data
    const content = assistantParts(message.content, this.#lost(place))
    const by = isObject(message.source) ? message.source : isObject(data.provenance) ? data.provenance : {}
    const model = stringOf(by.model)
    const vendor = vendorOf(stringOf(by.provider), model)
    const facts = { ...(vendor !== undefined && { vendor }), ...(model !== undefined && { model }) }
    this.#into.about(facts)
    const calls = content.flatMap(part => (part.type === 'tool-call' ? [part] : []))
    for (const { toolCallId, toolName } of calls) this.#names.set(toolCallId, toolName)
    const hasFacts = Object.keys(facts).length > 0
    this.#write(row, 'assistant/message', {
      ...positionOf(data),
      message: { role: 'assistant', content, ...(hasFacts && { providerOptions: { palimpsest: facts } }) },
      finishReason: calls.length > 0 ? 'tool-calls' : 'stop',
      ...usageOf(data.usage),
      ...(data.interrupted === true && { interrupted: true }),
      ...this.#named(message, isNew, row),
    })
  }

  call(row: Row): void {
    const { callId, name, arguments: args } = row.data
    const text = typeof args === 'string' ? args : JSON.stringify(args ?? {})
    const [toolCallId, toolName] = [stringOf(callId) ?? '', stringOf(name) ?? '']
    this.#names.set(toolCallId, toolName)
    this.#write(row, 'tool/call', { ...positionOf(row.data), toolCallId, toolName, arguments: text })
  }

  result(row: Row): void {
    const { data, place } = row
    const content = resultParts(data, callId => this.#names.get(callId) ?? '', this.#lost(place))
    const { toolCallId } = content[0]!
    const error = isObject(data.error) && typeof data.error.code === 'string' ? { error: data.error } : {}
    const message = isObject(data.message) ? data.message : undefined
    this.#write(row, 'tool/result', {
      ...positionOf(data),
      toolCallId,
      message: { role: 'tool', content },
      ...error,
      ...(isObject(data.meta) && { meta: data.meta }),
      ...(message && this.#named(message, true, row)),
    })
  }

  chunk(row: Row): void {
    const chunk = isObject(row.data.chunk) ? chunkOf(row.data.chunk) : undefined
    if (chunk === undefined) this.#note(row)
    else this.#write(row, 'assistant/chunk', { ...positionOf(row.data), chunk })
  }

  requestHeader(row: Row): void {
    const header = isObject(row.data.header) ? row.data.header : {}
    const { provider, model, ...settings } = isObject(header.config) ? header.config : ({} as Json)
    this.#use(provider, model)
    const system = stringOf(header.system)
    this.#write(row, 'request/header', {
      model: stringOf(model) ?? '',
      settings: { ...settings, ...(typeof provider === 'string' && { provider }) },
      ...(system !== undefined && { system }),
      ...(Array.isArray(header.tools) && { tools: toolsOf(header.tools) }),
    })
  }

  requestContext(row: Row): void {
    this.#use(row.data.provider, row.data.model)
    this.#note(row)
  }

  compaction(row: Row): void {
    if (row.type === 'compaction/start') this.#compactions.start(row.data, row.place.where)
    if (row.type === 'compaction/end') this.#compactions.end(row.data)
    this.#note(row)
  }

  // --- internal ---

  #packed(row: Row, members: NonNullable<ReturnType<typeof unpackRow>>): void {
    const { seq, place, data } = row
    if (members.length === 0)
      this.#into.lose({ kind: 'record', count: 1, reason: 'holds no delta', where: place.where })
    for (const [i, { chunk, after }] of members.entries()) {
      const time = place.time === undefined ? undefined : place.time + after
      const own = seq === undefined ? undefined : seq + i
      this.#write({ ...row, seq: own, place: { ...place, time } }, 'assistant/chunk', { ...positionOf(data), chunk })
    }
  }

  /** A type that may be skipped. What another log calls the same is another thing. */
  #note(row: Row): void {
    const { seq, type, data, place } = row
    if (isKnownType(type)) this.#log.keep({ seq, type, data: data as JsonObject }, place)
    else this.#log.write({ seq, type, data: data as JsonObject }, place)
  }

  #refuse({ type, place: { where } }: Row): false {
    this.#into.report({ code: 'format.unknown-required-event', severity: 'error', where, type })
    this.#into.about({ resume: 'refused' })
    return false
  }

  #write({ seq, record, place }: Row, type: string, data: unknown): number | undefined {
    const { surfaceOp, sourceEventSeqs } = record
    return this.#log.write({ seq, type, data: data as JsonObject, surfaceOp, sourceEventSeqs }, place)
  }

  /** The id of a message, made from where it stands if it has none. */
  #named({ id }: Json, isNewShape: boolean, { seq = this.#log.next, place: { where } }: Row): { id: string } {
    if (typeof id === 'string' && id !== '') {
      this.#namesMessages = true
      return { id }
    }
    if (isNewShape) this.#reportUnnamed({ where, seq })
    else this.#unnamed.push({ where, seq })
    return { id: `${this.#sessionId}:${seq}` }
  }

  #reportUnnamed({ where, seq }: { where: string; seq: number }): void {
    const derivedFrom = [this.#sessionId, seq]
    this.#into.report({ code: 'event.missing-id', severity: 'error', where, derivedFrom })
  }

  #use(provider: unknown, name: unknown): void {
    const model = stringOf(name)
    if (model === undefined) return
    const vendor = vendorOf(stringOf(provider), model)
    this.#into.about({ model, ...(vendor !== undefined && { vendor }) })
  }

  #lost({ where }: Place) {
    return (reason: string) => this.#into.lose({ kind: 'media', count: 1, reason, where })
  }
}

/** The newest version of the format that is read. */
const SUPPORTED = 0

const WRITERS: Record<string, (this: DshImport, row: Row) => void> = Object.assign(Object.create(null), {
  'turn/start': DshImport.prototype.turn,
  'turn/end': DshImport.prototype.turn,
  'step/start': DshImport.prototype.step,
  'step/end': DshImport.prototype.step,
  'user/message': DshImport.prototype.user,
  'assistant/message': DshImport.prototype.assistant,
  'assistant/chunk': DshImport.prototype.chunk,
  'tool/call': DshImport.prototype.call,
  'tool/result': DshImport.prototype.result,
  'request/header': DshImport.prototype.requestHeader,
  'request/context': DshImport.prototype.requestContext,
  'compaction/start': DshImport.prototype.compaction,
  'compaction/summary': DshImport.prototype.compaction,
  'compaction/end': DshImport.prototype.compaction,
})

/** Types of the program's own and of its plugins that say nothing to the model. */
const SKIPPABLE =
  /^(session\/(end-seed|title.*)|todo\/write|agent\/inbox\/.+|approval\/.+|sandbox\/mode|permission\/preset|plan\/mode|hook\/.+|goal\/change|llm\/retry.*|subagent\/.+|command\/.+|tool-workflow\/.+|tool\/code-dispatch.*|team\/.+)$/

function positionOf({ turn, step }: Json): { turn: number; step: number } {
  return { turn: numberOf(turn) ?? 1, step: numberOf(step) ?? 1 }
}

function isReplace({ record: { surfaceOp } }: Row): boolean {
  return isObject(surfaceOp) && surfaceOp.op === 'replace'
}

function isBlank(part: UserPart): boolean {
  return part.type === 'text' && !/\S/.test(part.text)
}

/** The ends that our turns know; the others by the nearest of them. */
function endOf(reason: unknown): JsonObject {
  const { kind, error } = isObject(reason) ? reason : ({} as Json)
  if (kind === 'completed' || kind === 'aborted' || kind === 'interrupted') return reason as JsonObject
  if (kind === 'blocked') return { kind: 'aborted', reason: 'blocked' }
  const { code, message } = isObject(error) ? error : ({} as Json)
  const text = stringOf(message) ?? stringOf(error) ?? String(kind ?? 'no reason given')
  return { kind: 'error', error: { code: stringOf(code) ?? String(kind ?? 'unknown'), message: text } }
}

function toolsOf(tools: readonly unknown[]) {
  return objectsOf(tools).flatMap(([, tool]) => {
    const { name, description, inputSchema, parameters } = isObject(tool.function) ? tool.function : tool
    if (typeof name !== 'string') return []
    const schema = isObject(inputSchema) ? inputSchema : isObject(parameters) ? parameters : { type: 'object' }
    return [{ name, ...(typeof description === 'string' && { description }), inputSchema: schema }]
  })
}
