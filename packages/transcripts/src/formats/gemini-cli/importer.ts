import type {
  AssistantPart,
  JsonObject,
  JsonValue,
  ProviderOptions,
  ToolCallPart,
  Usage,
  UserPart,
} from '@palimpsest/session'
import type { Import } from '../../format.js'
import { isObject, type Json, listOf, numberOf, objectsOf, stringOf, timeOf } from '../../json/shapes.js'
import type { Replaced } from '../../log-builder.js'
import type { Place } from '../../place.js'
import { inputOfValue } from '../../tool-input.js'
import type { ChatFile, Entry } from './chat-file.js'
import { recordedResult, responseOf } from './responses.js'

/** A part of a message with where it stands. */
interface Placed<T> {
  part: T
  where: string
}

/** Writes the messages of a chat. A call and its result are one object there; a result turn that was recorded too counts before it. */
export class GeminiImport {
  readonly #into: Import
  /** Where a result turn answers a call, by the call's id. */
  readonly #recorded = new Map<string, string>()
  /** Calls of the last answer that made some and that no recorded turn has answered. */
  #open: { id: string; name: string; hasId: boolean }[] = []
  #unnamed = 0
  readonly #isDocument: boolean

  constructor(into: Import, { isDocument }: { isDocument: boolean }) {
    this.#into = into
    this.#isDocument = isDocument
  }

  run({ entries, undone }: ChatFile): void {
    for (const entry of entries) this.#noteRecorded(entry)
    for (const entry of entries) this.#entry(entry)
    for (const entry of undone) this.#note('rewound', entry)
    this.#into.log.finish({ where: entries.at(-1)?.where ?? 'file' })
  }

  // --- internal ---

  #noteRecorded({ value, where }: Entry): void {
    for (const [i, part] of partsOf(value)) {
      const id = isObject(part.functionResponse) ? stringOf(part.functionResponse.id) : undefined
      if (id !== undefined && !this.#recorded.has(id))
        this.#recorded.set(id, this.#below(where, `${keyOf(value)}[${i}]`))
    }
  }

  #entry(entry: Entry): void {
    for (const older of entry.older) this.#note('superseded', older)
    const replacing = this.#replacedBy(entry)
    const { value } = entry
    const type = stringOf(value.type) ?? stringOf(value.role)
    if (type === 'user') this.#user(entry, replacing)
    else if (MODELS.has(type ?? '')) this.#model(entry, replacing)
    else this.#other(type ?? 'unknown', entry)
  }

  /** Words of the program itself are no part of the conversation. */
  #other(type: string, entry: Entry): void {
    this.#note(type, entry)
    if (PROGRAM.has(type) || partsOf(entry.value).length === 0) return
    const { where } = entry
    this.#into.report({ code: 'record.unknown-type', severity: 'info', where, type })
    this.#into.lose({ kind: 'record', count: 1, reason: 'a message of an unknown type', where })
  }

  /** What was taken back is said, and then replaced by what was said in its place. */
  #replacedBy({ instead, value }: Entry): Replaced | undefined {
    if (instead.length === 0) return undefined
    const type = stringOf(value.type) ?? ''
    const { log } = this.#into
    const before = log.surface.length
    if (type === 'user' || MODELS.has(type)) for (const entry of instead) this.#entry(entry)
    else for (const entry of instead) this.#note('rewound', entry)
    const [start, end] = [log.surface[before], log.surface.at(-1)]
    return start === undefined || end === undefined ? undefined : { start, end }
  }

  #user(entry: Entry, replacing: Replaced | undefined): void {
    const { value } = entry
    const time = timeOf(value.timestamp)
    const said: Placed<UserPart>[] = []
    this.#reportOrder(entry)
    for (const [i, part] of partsOf(value)) {
      const at = this.#partPlace(entry, i)
      if (isObject(part.functionResponse)) this.#response(part.functionResponse, { where: at, time })
      else said.push({ part: userPart(part), where: at })
    }
    if (said.length === 0 && partsOf(value).length > 0) return
    const place = { where: this.#innermost(entry), parts: said.map(each => each.where), time }
    this.#into.log.user(
      said.map(({ part }) => part),
      place,
      replacing === undefined ? {} : { replacing },
    )
  }

  /** Results behind or between what was said. */
  #reportOrder({ value, where }: Entry): void {
    const parts = partsOf(value).map(([, part]) => part)
    const isResult = ({ functionResponse }: Json) => isObject(functionResponse)
    const given = parts.filter(isResult)
    if (parts.slice(0, given.length).every(isResult)) return
    const ids = given.map(({ functionResponse }) => stringOf((functionResponse as Json).id) ?? '')
    this.#into.report({ code: 'order.result-not-leading', severity: 'error', where, ids })
  }

  #response(response: Json, place: Place): void {
    this.#into.log.result({ toolCallId: this.#answered(response), ...responseOf(response) }, place)
  }

  /** By id; where call or response has none, as the API allows, by name and order. */
  #answered({ id, name }: Json): string {
    const own = stringOf(id) ?? ''
    const byId = this.#open.findIndex(call => call.hasId && call.id === own)
    const byName = this.#open.findIndex(call => call.name === name && !(call.hasId && own !== ''))
    const [call] = this.#open.splice(byId >= 0 ? byId : byName, byId < 0 && byName < 0 ? 0 : 1)
    return call?.id ?? own
  }

  #model(entry: Entry, replacing: Replaced | undefined): void {
    const { value, where } = entry
    const time = timeOf(value.timestamp)
    const parts = this.#modelParts(entry)
    const calls = parts.flatMap(({ part }) => (part.type === 'tool-call' ? [part] : []))
    if (calls.length > 0) this.#open = calls.map(call => this.#named(call))
    const model = stringOf(value.model)
    if (listOf(value.thoughts).length > 0) {
      this.#into.log.note('import/gemini-cli.thoughts', { thoughts: value.thoughts } as JsonObject, { where, time })
    }
    this.#into.about({ vendor: 'google', ...(model !== undefined && { model }) })
    const place = { where: this.#innermost(entry), parts: parts.map(each => each.where), time }
    this.#into.log.assistant(
      parts.map(({ part }) => part),
      place,
      {
        vendor: 'google',
        model,
        usage: usageOf(value.tokens),
        ...(replacing && { replacing }),
      },
    )
    for (const [i, call] of objectsOf(value.toolCalls)) this.#besideCall(call, this.#below(where, `toolCalls[${i}]`))
  }

  /** A call without an id gets one of its own. */
  #named(call: ToolCallPart): { id: string; name: string; hasId: boolean } {
    const hasId = call.toolCallId !== ''
    if (!hasId && call.toolName !== '') call.toolCallId = `call-${++this.#unnamed}`
    return { id: call.toolCallId, name: call.toolName, hasId }
  }

  #modelParts(entry: Entry): Placed<AssistantPart>[] {
    const { value, where } = entry
    const recorded = objectsOf(value.toolCalls).map(([, call]) => call)
    const parts = partsOf(value).flatMap(([i, part]): Placed<AssistantPart>[] => {
      const path = [keyOf(value), i, 'functionCall', 'args']
      const own = modelPart(withRecordedId(part, recorded), isList(value) ? entry.rawAt(path) : undefined)
      const at = this.#partPlace(entry, i)
      if (own !== undefined) return [{ part: own, where: at }]
      this.#into.lose({ kind: 'record', count: 1, reason: 'not a content part', where: at })
      return []
    })
    const known = new Set(parts.flatMap(({ part }) => (part.type === 'tool-call' ? [part.toolCallId] : [])))
    const calls = objectsOf(value.toolCalls).flatMap(([i, call]): Placed<AssistantPart>[] => {
      if (known.has(stringOf(call.id) ?? '')) return []
      const part = callPart(call, signatureOf(call), entry.rawAt(['toolCalls', i, 'args']))
      return [{ part, where: this.#below(where, `toolCalls[${i}]`) }]
    })
    // Nothing said beside calls is no text.
    const said = calls.length > 0 && value.content === '' ? [] : parts
    return [...said, ...calls]
  }

  /** The result that was kept with the call. */
  #besideCall(call: Json, where: string): void {
    const toolCallId = stringOf(call.id) ?? ''
    const status = stringOf(call.status)
    const result = recordedResult(call.result, status === 'error' || status === 'cancelled')
    if (result === undefined) return
    const kept = this.#recorded.get(toolCallId)
    if (kept !== undefined) {
      this.#into.report({ code: 'result.duplicate', severity: 'error', where, id: toolCallId, kept })
      return
    }
    const toolName = stringOf(call.name)
    this.#into.log.result({ toolCallId, toolName, ...result }, { where, time: timeOf(call.timestamp) })
  }

  #note(type: string, { value, where }: Entry): void {
    this.#into.log.note(`import/gemini-cli.${type}`, value as JsonObject, { where, time: timeOf(value.timestamp) })
  }

  #partPlace({ value, where }: Entry, index: number): string {
    return isList(value) ? this.#below(where, `${keyOf(value)}[${index}]`) : this.#below(where, keyOf(value))
  }

  /** Of a message with nothing in it, the list that is empty. */
  #innermost({ value, where }: Entry): string {
    const content = value[keyOf(value)]
    return Array.isArray(content) && content.length === 0 ? this.#below(where, keyOf(value)) : where
  }

  /** A record of a log has one place. */
  #below(where: string, path: string): string {
    return this.#isDocument ? `${where}.${path}` : where
  }
}

const MODELS = new Set(['gemini', 'model', 'assistant'])
const PROGRAM = new Set(['info', 'warning', 'error'])
/** What a part of the API may hold beside text and calls. */
const DATA = ['inlineData', 'fileData', 'executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'] as const

/** A call that the API gave no id has the one under which its result is kept. */
function withRecordedId(part: Json, recorded: Json[]): Json {
  const call = part.functionCall
  if (!isObject(call)) return part
  const at = recorded.findIndex(({ id, name }) => (stringOf(call.id) ? id === call.id : name === call.name))
  const [own] = at < 0 ? [] : recorded.splice(at, 1)
  return stringOf(call.id) || own === undefined ? part : { ...part, functionCall: { ...call, id: own.id } }
}

/** Messages of the chat have `content`, contents of a checkpoint `parts`. */
function keyOf(value: Json): 'content' | 'parts' {
  return 'content' in value ? 'content' : 'parts'
}

function isList(value: Json): boolean {
  return Array.isArray(value[keyOf(value)])
}

/** A text, one part, or several; a text in a list is a part. */
function partsOf(value: Json): [number, Json][] {
  const content = value[keyOf(value)]
  const list = Array.isArray(content) ? content : content === undefined || content === null ? [] : [content]
  return list.flatMap((part, i): [number, Json][] => {
    if (typeof part === 'string') return [[i, { text: part }]]
    return isObject(part) ? [[i, part]] : []
  })
}

function userPart(part: Json): UserPart {
  const media = mediaPart(part)
  return media ?? { type: 'text', text: stringOf(part.text) ?? JSON.stringify(part) }
}

/** `undefined` for what the API knows no part of. */
function modelPart(part: Json, raw: string | undefined): AssistantPart | undefined {
  const options = signatureOf(part)
  if (isObject(part.functionCall)) return callPart(part.functionCall, options, raw)
  if (typeof part.text !== 'string') {
    if (DATA.filter(name => isObject(part[name])).length !== 1) return undefined
    return { type: 'text', text: '', providerOptions: { google: { part: part as JsonObject } } }
  }
  if (part.thought === true) return { type: 'reasoning', text: part.text, ...options }
  return { type: 'text', text: part.text, ...options }
}

function callPart({ id, name, args }: Json, options: WithOptions, raw: string | undefined): ToolCallPart {
  return {
    type: 'tool-call',
    toolCallId: stringOf(id) ?? '',
    toolName: stringOf(name) ?? '',
    ...inputOfValue(args, raw),
    ...options,
  }
}

interface WithOptions {
  providerOptions?: ProviderOptions
}

function signatureOf({ thoughtSignature }: Json): WithOptions {
  if (thoughtSignature === undefined || thoughtSignature === null) return {}
  return { providerOptions: { google: { thoughtSignature: thoughtSignature as JsonValue } } }
}

function mediaPart({ inlineData, fileData }: Json): UserPart | undefined {
  if (isObject(inlineData)) {
    const mediaType = stringOf(inlineData.mimeType) ?? 'application/octet-stream'
    const data = stringOf(inlineData.data) ?? ''
    if (mediaType.startsWith('image/')) return { type: 'image', image: data, mediaType }
    return { type: 'file', data, mediaType }
  }
  if (isObject(fileData) && typeof fileData.fileUri === 'string') {
    return {
      type: 'file',
      data: fileData.fileUri,
      mediaType: stringOf(fileData.mimeType) ?? 'application/octet-stream',
    }
  }
  return undefined
}

function usageOf(tokens: unknown): Usage | undefined {
  if (!isObject(tokens)) return undefined
  const counts = {
    inputTokens: numberOf(tokens.input),
    outputTokens: numberOf(tokens.output),
    totalTokens: numberOf(tokens.total),
    cachedInputTokens: numberOf(tokens.cached),
    reasoningTokens: numberOf(tokens.thoughts),
  }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined))
}
