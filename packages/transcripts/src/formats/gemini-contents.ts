import type { JsonObject } from '@palimpsest/session'
import type { Format, Import } from '../format.js'
import { isObject, type Json, objectsOf, stringOf } from '../json/shapes.js'
import { camelCase, isGeminiPart, jsonSchema, modelPart, responseOf, userPart } from './gemini-parts.js'
import { type FoundList, listsIn, type MessageList, openList } from './message-list.js'
import { systemText } from './system-text.js'

/** Gemini `generateContent`: an array of contents, or a request body; members in camel case or in snake case. */
export const geminiContents: Format = {
  name: 'gemini-contents',
  detect: head => listsIn(head, ['contents']).some(isGemini),
  import: into => new GeminiImport(into, openList(into, ['contents'])).run(),
}

// --- internal ---

const ROLES = new Set(['user', 'model', 'function', undefined])

function isGemini({ items }: FoundList): boolean {
  const turns = objectsOf(items).map(([, turn]) => turn)
  const isTurn = ({ role, parts }: Json) =>
    ROLES.has(role as string) && objectsOf(parts).every(([, part]) => isGeminiPart(part))
  return turns.length > 0 && turns.every(isTurn) && turns.some(({ parts }) => Array.isArray(parts))
}

interface OpenCall {
  id: string
  name: string
  hasId: boolean
}

interface PlacedPart {
  part: Json
  at: number
  where: string
}

class GeminiImport {
  /** Calls of the last turn of the model that no response has answered. */
  #open: OpenCall[] = []

  constructor(
    private readonly into: Import,
    private readonly list: MessageList,
  ) {}

  run(): void {
    const { items, body, where } = this.list
    const model = stringOf(body.model)?.replace(/^models\//, '')
    if (model !== undefined) this.into.about({ model, vendor: 'google' })
    const tools = objectsOf(body.tools).flatMap(([i, tool]) => this.#tools(camelCase(tool), i))
    const system = body.systemInstruction ?? body.system_instruction
    this.into.log.header(
      { model: model ?? '', settings: {}, ...systemText(textsOf(system)), ...(tools.length > 0 && { tools }) },
      { where: where(0) },
    )
    for (const [i, turn] of items.entries()) this.#turn(turn, i)
    this.into.log.finish({ where: where(Math.max(0, items.length - 1)) })
  }

  #tools(tool: Json, index: number) {
    const declared = objectsOf(tool.functionDeclarations).map(([, each]) => each)
    for (const name of Object.keys(tool)) {
      if (name === 'functionDeclarations') continue
      const reason = 'a tool that the provider runs itself'
      this.into.lose({ kind: 'tool-schema', count: 1, reason, where: `tools[${index}].${name}` })
    }
    return declared.flatMap(each => {
      const { name, description, parameters, parametersJsonSchema } = camelCase(each)
      if (typeof name !== 'string') return []
      const schema = isObject(parametersJsonSchema) ? parametersJsonSchema : jsonSchema(parameters)
      const inputSchema = (isObject(schema) ? schema : { type: 'object' }) as JsonObject
      return [{ name, ...(typeof description === 'string' && { description }), inputSchema }]
    })
  }

  #turn(turn: unknown, index: number): void {
    const where = this.list.where(index)
    if (!isObject(turn) || !Array.isArray(turn.parts)) {
      this.into.lose({ kind: 'record', count: 1, reason: 'not a content', where })
      return
    }
    const parts = this.#parts(turn, index)
    const place = turn.parts.length === 0 ? this.list.where(index, '.parts') : where
    if (turn.role === 'model') this.#model(parts, index, place)
    else this.#user(parts, index, place)
  }

  /** Calls are the model's, responses the user's: what stands on the other side cannot be sent. */
  #parts({ role, parts }: Json, index: number): PlacedPart[] {
    return objectsOf(parts).flatMap(([at, given]) => {
      const part = camelCase(given)
      const where = this.list.where(index, `.parts[${at}]`)
      const isMisplaced = isObject(role === 'model' ? part.functionResponse : part.functionCall)
      if (!isMisplaced) return apart(part).map(part => ({ part, at, where }))
      this.into.lose({ kind: role === 'model' ? 'result' : 'call', count: 1, reason: 'on the wrong side', where })
      return []
    })
  }

  #model(parts: readonly PlacedPart[], index: number, where: string): void {
    this.#open = []
    const content = parts.map(({ part, at }) => this.#modelPart(part, index, at))
    this.into.log.assistant(content, { where, parts: parts.map(each => each.where) })
  }

  #modelPart(part: Json, index: number, at: number) {
    const call = part.functionCall
    if (!isObject(call)) return modelPart(part, { id: `part-${index}-${at}` })
    const id = stringOf(call.id) || `call-${index}-${at}`
    const raw =
      this.list.rawAt(index, ['parts', at, 'functionCall', 'args']) ??
      this.list.rawAt(index, ['parts', at, 'function_call', 'args'])
    this.#open.push({ id, name: stringOf(call.name) ?? '', hasId: Boolean(stringOf(call.id)) })
    return modelPart(part, { id, raw })
  }

  #user(parts: readonly PlacedPart[], index: number, where: string): void {
    const results = parts.filter(({ part }) => isObject(part.functionResponse))
    const rest = parts.filter(({ part }) => !isObject(part.functionResponse))
    const answered = results.map(({ part }) => this.#callOf(part.functionResponse as Json, index))
    if (parts.slice(0, results.length).some(({ part }) => !isObject(part.functionResponse))) {
      const ids = answered.map(({ id }) => id)
      this.into.report({ code: 'order.result-not-leading', severity: 'error', where: this.list.where(index), ids })
    }
    for (const [i, { part, at, where }] of results.entries()) {
      const { id, name } = answered[i]!
      const raw =
        this.list.rawAt(index, ['parts', at, 'functionResponse', 'response']) ??
        this.list.rawAt(index, ['parts', at, 'function_response', 'response'])
      const result = responseOf(part.functionResponse as Json, raw)
      this.into.log.result({ toolCallId: id, toolName: name, ...result }, { where, parts: [where] })
    }
    if (rest.length === 0 && results.length > 0) return
    this.into.log.user(
      rest.map(({ part }) => userPart(part)),
      { where, parts: rest.map(each => each.where) },
    )
  }

  /** By id; where one of the two has none, by name and order. */
  #callOf(response: Json, index: number): OpenCall {
    const id = stringOf(response.id)
    const name = stringOf(response.name) ?? ''
    const byId = this.#open.findIndex(call => call.hasId && call.id === id)
    const byName = this.#open.findIndex(call => call.name === name && !(call.hasId && id))
    const found = byId >= 0 ? byId : byName
    if (found < 0) return { id: id || `response-${index}`, name, hasId: Boolean(id) }
    return this.#open.splice(found, 1)[0]!
  }
}

/** A part holds one thing: a text beside a call or a response is a part of its own, before it. */
function apart(part: Json): Json[] {
  const { text, ...rest } = part
  const isBeside = isObject(part.functionCall) || isObject(part.functionResponse)
  return isBeside && typeof text === 'string' && text !== '' ? [{ text }, rest] : [part]
}

function textsOf(system: unknown): string[] {
  if (typeof system === 'string') return [system]
  const parts = isObject(system) ? (Array.isArray(system.parts) ? system.parts : [system.parts ?? system]) : system
  return objectsOf(parts).flatMap(([, { text }]) => (typeof text === 'string' ? [text] : []))
}
