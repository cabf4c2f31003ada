import type { AssistantPart, FinishReason, JsonObject, Usage, UserPart } from '@palimpsest/session'
import type { Import } from '../../format.js'
import type { RawTexts } from '../../json/raw-text.js'
import { isObject, type Json, numberOf, objectsOf, stringOf, timeOf } from '../../json/shapes.js'
import type { Replaced } from '../../log-builder.js'
import type { Place } from '../../place.js'
import { vendorOf } from '../../vendor.js'
import { isVoidSummary } from '../void-summary.js'
import { assistantPart, filePart, isInlined, toolOutput } from './parts.js'

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
  #compaction: { tail: string | undefined } | undefined

  constructor(into: Import, raw: RawTexts) {
    this.#into = into
    this.#raw = raw
  }

  run(session: Json, messages: unknown): void {
    const list = objectsOf(messages).map(([index, value]) => messageOf(index, value))
    const revert = isObject(session.revert) ? session.revert : {}
    const cut = list.findIndex(({ info }) => info.id !== undefined && info.id === revert.messageID)
    for (const [i, message] of list.entries()) {
      if (cut < 0 || i < cut) this.#message(message)
      else if (i === cut && typeof revert.partID === 'string') this.#messageUpTo(message, revert.partID)
      else this.#note('reverted', { info: message.info, parts: message.parts.map(([, part]) => part) }, message)
    }
    this.#into.log.finish({ where: list.at(-1)?.where ?? 'file' })
  }

  // --- internal ---

  #messageUpTo(message: Message, partId: string): void {
    const at = message.parts.findIndex(([, part]) => part.id === partId)
    const [kept, undone] = at < 0 ? [message.parts, []] : [message.parts.slice(0, at), message.parts.slice(at)]
    if (kept.length > 0) this.#message({ ...message, parts: kept })
    for (const [, part] of undone) this.#note('reverted', part, message)
  }

  #message(message: Message): void {
    const { info, parts } = message
    const before = this.#into.log.surface.length
    if (info.role === 'user') this.#user(message)
    else if (info.role !== 'assistant') this.#note('message', { info, parts: parts.map(([, part]) => part) }, message)
    else if (info.summary === true) this.#summary(message)
    else this.#assistant(message)
    const node = this.#into.log.surface[before]
    if (typeof info.id === 'string' && node !== undefined) this.#nodes.set(info.id, node)
  }

  #user(message: Message): void {
    this.#use(isObject(message.info.model) ? message.info.model : {})
    const compaction = message.parts.find(([, part]) => part.type === 'compaction')?.[1]
    if (compaction !== undefined) this.#compaction = { tail: stringOf(compaction.tail_start_id) }
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
      this.#into.report({ code: 'compaction.void-summary', severity: 'error', where })
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
      this.#note('failed', { info, parts: parts.map(([, part]) => part) }, message)
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
    const finish = said.some(({ part }) => part.type === 'tool-call') ? 'tool-calls' : finishOf(info.finish)
    this.#into.log.assistant(
      said.map(({ part }) => part),
      { where, parts: places, time },
      {
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
