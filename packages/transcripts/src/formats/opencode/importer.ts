import type { AssistantPart, FinishReason, JsonObject, Usage, UserPart } from '@palimpsest/session'
import type { Import } from '../../format.js'
import type { RawTexts } from '../../json/raw-text.js'
import { isObject, type Json, numberOf, objectsOf, stringOf, timeOf } from '../../json/shapes.js'
import type { Replaced } from '../../log-builder.js'
import type { Place } from '../../place.js'
import { vendorOf } from '../../vendor.js'
import { isVoidSummary } from '../void-summary.js'
import { assistantPart, filePart, isInlined, isWaiting, toolOutput } from './parts.js'

interface Message {
  readonly index: number
  readonly where: string
  readonly info: Json
  readonly parts: readonly [number, Json][]
  readonly time: number | undefined
}

/** Writes the messages of an export. What was reverted, or belongs to the program, is kept as notes. */
export class OpencodeImport {
  readonly #into: Import
  readonly #raw: RawTexts
  /** The first node of each message that is shown, by the message's id. */
  readonly #nodes = new Map<string, number>()
  /** The compaction that was asked for last, and from which message on the tail is kept. */
  #compaction: { where: string; tail: string | undefined } | undefined
  #lastId: string | null = null

  constructor(into: Import, raw: RawTexts) {
    this.#into = into
    this.#raw = raw
  }

  run(session: Json, messages: unknown): void {
    this.#into.about({ showsStarts: true })
    const list = this.#own(
      objectsOf(messages).map(([index, value]) => messageOf(index, value)),
      session.id,
    )
    const revert = isObject(session.revert) ? session.revert : {}
    const cut = list.findIndex(({ info }) => info.id !== undefined && info.id === revert.messageID)
    for (const [i, message] of list.entries()) {
      if (cut < 0 || i < cut) this.#message(message)
      else if (i === cut && typeof revert.partID === 'string') this.#messageUpTo(message, revert.partID)
      else this.#keep('reverted', message)
    }
    this.#into.log.finish({ where: list.at(-1)?.where ?? 'file' })
  }

  // --- internal ---

  /** The messages of the session, each once. */
  #own(messages: readonly Message[], session: unknown): Message[] {
    const seen = new Map<unknown, string>()
    return messages.filter(message => {
      const { info, where } = message
      const of = seen.get(info.id)
      const isForeign = typeof session === 'string' && typeof info.sessionID === 'string' && info.sessionID !== session
      if (isForeign) {
        const sessionId = stringOf(info.sessionID)!
        this.#into.report({ code: 'lineage.foreign-session', severity: 'error', where, sessionId, records: 1 })
      } else if (of !== undefined) this.#into.report({ code: 'lineage.replayed-copy', severity: 'error', where, of })
      else if (info.id !== undefined) seen.set(info.id, where)
      if (isForeign || of !== undefined) this.#keep('apart', message)
      return !isForeign && of === undefined
    })
  }

  #messageUpTo(message: Message, partId: string): void {
    const at = message.parts.findIndex(([, part]) => part.id === partId)
    const [kept, undone] = at < 0 ? [message.parts, []] : [message.parts.slice(0, at), message.parts.slice(at)]
    if (kept.length > 0) this.#message({ ...message, parts: kept })
    for (const [, part] of undone) this.#note('reverted', part, message)
  }

  #message(message: Message): void {
    const { info } = message
    const before = this.#into.log.surface.length
    if (info.role === 'user') this.#user(message)
    else if (info.role !== 'assistant') this.#unknown(message)
    else if (info.summary === true) this.#summary(message)
    else this.#assistant(message)
    const node = this.#into.log.surface[before]
    if (typeof info.id === 'string' && node !== undefined) this.#nodes.set(info.id, node)
    this.#lastId = stringOf(info.id) ?? this.#lastId
  }

  #unknown(message: Message): void {
    const { where, info, parts } = message
    this.#keep('message', message)
    if (parts.length === 0) return
    const type = String(info.role)
    this.#into.report({ code: 'record.unknown-type', severity: 'info', where, type })
    this.#into.lose({ kind: 'record', count: 1, reason: 'a message of an unknown role', where })
  }

  #user(message: Message): void {
    this.#use(isObject(message.info.model) ? message.info.model : {})
    const compaction = message.parts.find(([, part]) => part.type === 'compaction')?.[1]
    // The one before it came to nothing, and the session went on.
    if (this.#compaction !== undefined) this.#reportVoid(this.#compaction.where)
    this.#compaction = undefined
    if (compaction !== undefined) this.#compact(message.where, stringOf(compaction.tail_start_id))
    if (message.parts.length === 0) this.#into.log.user([], { where: `${message.where}.parts`, time: message.time })
    let run: { isTyped: boolean; parts: UserPart[]; places: string[] } | undefined
    const flush = () => {
      if (run === undefined) return
      const place = { where: message.where, parts: run.places, time: message.time }
      if (run.isTyped) this.#into.log.user(run.parts, place)
      else this.#into.log.context(run.parts, 'opencode', place)
      run = undefined
    }
    for (const [i, part] of message.parts) {
      const said = compaction === undefined ? this.#userPart(part, `${message.where}.parts[${i}]`) : undefined
      if (said === undefined) {
        this.#note(String(part.type), part, message)
        continue
      }
      const isTyped = part.synthetic !== true
      if (run?.isTyped !== isTyped) flush()
      run ??= { isTyped, parts: [], places: [] }
      run.parts.push(said)
      run.places.push(`${message.where}.parts[${i}]`)
    }
    flush()
  }

  #compact(where: string, tail: string | undefined): void {
    if (tail !== undefined && !this.#nodes.has(tail)) {
      const [missing, bridgedTo] = [tail, this.#lastId]
      this.#into.report({ code: 'lineage.dangling-boundary', severity: 'error', where, missing, bridgedTo })
    }
    this.#compaction = { where, tail }
  }

  #reportVoid(where: string): void {
    this.#into.report({ code: 'compaction.void-summary', severity: 'error', where })
  }

  #userPart(part: Json, where: string): UserPart | undefined {
    if (part.type === 'text' && part.ignored !== true) return { type: 'text', text: stringOf(part.text) ?? '' }
    if (part.type !== 'file' || isInlined(part)) return undefined
    const file = filePart(part)
    if (file !== undefined) return file
    this.#into.lose({ kind: 'media', count: 1, reason: 'kept outside the export', where })
    return { type: 'text', text: `[${stringOf(part.filename) ?? 'file'}: not in this export]` }
  }

  /** A compaction counts once its summary is whole. */
  #summary(message: Message): void {
    const { where, info, parts, time } = message
    const texts = parts.flatMap(([i, part]) => (part.type === 'text' ? [{ i, text: stringOf(part.text) ?? '' }] : []))
    const isDone = Boolean(info.finish) || (isObject(info.time) && typeof info.time.completed === 'number')
    const isWhole = isDone && info.error === undefined && !isVoidSummary(texts.map(({ text }) => text).join(''))
    for (const [, part] of parts) if (part.type !== 'text' || !isWhole) this.#note(String(part.type), part, message)
    if (!isWhole) {
      this.#compaction = undefined
      this.#reportVoid(where)
      return
    }
    const places = texts.map(({ i }) => `${where}.parts[${i}]`)
    const content = texts.map(({ text }): UserPart => ({ type: 'text', text }))
    const replacing = this.#compacted()
    this.#into.log.context(content, 'compaction', { where, parts: places, time }, replacing ? { replacing } : {})
    this.#compaction = undefined
  }

  /** All that is visible, but for the tail that the compaction kept. */
  #compacted(): Replaced | undefined {
    const { surface } = this.#into.log
    const tail = this.#nodes.get(this.#compaction?.tail ?? '')
    const at = tail === undefined ? -1 : surface.indexOf(tail)
    const [start, end] = [surface[0], surface[(at < 0 ? surface.length : at) - 1]]
    return start === undefined || end === undefined ? undefined : { start, end }
  }

  #assistant(message: Message): void {
    const { info, parts } = message
    this.#use(info)
    if (isAbandoned(message)) {
      this.#keep('failed', message)
      return
    }
    for (const step of stepsOf(parts)) this.#step(message, step)
  }

  /** One answer of the model, and then the results of its calls. */
  #step(message: Message, parts: readonly [number, Json][]): void {
    const { where, info, time } = message
    const said: { part: AssistantPart; where: string }[] = []
    for (const [i, part] of parts) {
      const raw = () => this.#raw.at(['messages', message.index, 'parts', i, 'state', 'input'])
      const own = assistantPart(part, raw)
      if (own === undefined) this.#note(String(part.type), part, message)
      else said.push({ part: own, where: `${where}.parts[${i}]` })
    }
    const places = said.map(each => each.where)
    const [model, provider] = [stringOf(info.modelID), stringOf(info.providerID)]
    const waiting = new Set(parts.flatMap(([, part]) => (isWaiting(part) ? [stringOf(part.callID) ?? ''] : [])))
    const finish = said.some(({ part }) => part.type === 'tool-call') ? 'tool-calls' : finishOf(info.finish)
    this.#into.log.assistant(
      said.map(({ part }) => part),
      { where: message.parts.length === 0 ? `${where}.parts` : where, parts: places, time },
      {
        waiting,
        model,
        vendor: vendorOf(provider, model),
        finishReason: finish,
        usage: usageOf(info.tokens),
        ...(info.error !== undefined && { interrupted: true }),
      },
    )
    for (const [i, part] of parts) if (part.type === 'tool') this.#result(part, `${where}.parts[${i}]`)
  }

  #result(part: Json, where: string): void {
    const output = toolOutput(part)
    if (output === undefined || part.providerExecuted === true) return
    const times = isObject(part.state) && isObject(part.state.time) ? part.state.time : {}
    const place: Place = { where, parts: [where], time: timeOf(times.end) }
    this.#into.log.result({ toolCallId: stringOf(part.callID) ?? '', toolName: stringOf(part.tool), output }, place)
  }

  #use(by: Json): void {
    const model = stringOf(by.modelID) ?? stringOf(by.id)
    if (model === undefined) return
    const vendor = vendorOf(stringOf(by.providerID), model)
    this.#into.about({ model, ...(vendor !== undefined && { vendor }) })
  }

  /** The message as it is. */
  #keep(type: string, message: Message): void {
    this.#note(type, { info: message.info, parts: message.parts.map(([, part]) => part) }, message)
  }

  #note(type: string, data: Json, { where, time }: Message): void {
    this.#into.log.note(`import/opencode.${type}`, data as JsonObject, { where, time })
  }
}

function messageOf(index: number, value: Json): Message {
  const info = isObject(value.info) ? value.info : {}
  const times = isObject(info.time) ? info.time : {}
  return { index, where: `messages[${index}]`, info, parts: objectsOf(value.parts), time: timeOf(times.created) }
}

/** A failed attempt that the program does not send again: only what a tool did, or what was shown before a cancel, stays. */
function isAbandoned({ info, parts }: Message): boolean {
  if (!isObject(info.error)) return false
  const hasResult = parts.some(([, part]) => part.type === 'tool' && toolOutput(part) !== undefined)
  const isShown = parts.some(([, { type }]) => type === 'text' || type === 'tool' || type === 'reasoning')
  return !hasResult && !(info.error.name === 'MessageAbortedError' && isShown)
}

/** Each begins with a `step-start`; a message without any is one. */
function stepsOf(parts: readonly [number, Json][]): (readonly [number, Json][])[] {
  const steps: [number, Json][][] = []
  let hasContent = false
  for (const entry of parts) {
    const [, { type }] = entry
    if (steps.length === 0 || (type === 'step-start' && hasContent)) {
      steps.push([])
      hasContent = false
    }
    steps.at(-1)!.push(entry)
    if (type === 'text' || type === 'reasoning' || type === 'tool') hasContent = true
  }
  return steps.length === 0 ? [[]] : steps
}

function finishOf(finish: unknown): FinishReason {
  return finish === 'length' || finish === 'content-filter' || finish === 'tool-calls' ? finish : 'stop'
}

function usageOf(tokens: unknown): Usage | undefined {
  if (!isObject(tokens)) return undefined
  const cache = isObject(tokens.cache) ? tokens.cache : {}
  const [read, write] = [numberOf(cache.read) ?? 0, numberOf(cache.write) ?? 0]
  return {
    inputTokens: (numberOf(tokens.input) ?? 0) + read + write,
    outputTokens: numberOf(tokens.output) ?? 0,
    cachedInputTokens: read,
    reasoningTokens: numberOf(tokens.reasoning) ?? 0,
  }
}
