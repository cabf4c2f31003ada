import type { AssistantPart, JsonObject, ReasoningPart, TextPart, ToolOutput } from '@palimpsest/session'
import type { Import } from '../format.js'
import { inspectRecord } from '../inspect.js'
import { isObject, type Json, stringOf } from '../json/shapes.js'
import { inputOfText, inputOfValue } from '../tool-input.js'
import { filePart, providerOptionsOf, toolOutput } from './ai-sdk-parts.js'

export function isChunk(chunk: unknown): boolean {
  if (!isObject(chunk) || 'role' in chunk) return false
  const type = String(chunk.type)
  return TYPES.has(type) || /^data-\w/.test(type)
}

/** Folds a stream of chunks into the messages of its steps. */
export class AiSdkChunks {
  #parts: { part: AssistantPart; where: string }[] = []
  #results: { toolCallId: string; toolName: string; output: ToolOutput; where: string; isPreliminary: boolean }[] = []
  readonly #byId = new Map<string, TextPart | ReasoningPart>()
  readonly #inputs = new Map<string, { toolName: string; text: string; where: string }>()
  readonly #names = new Map<string, string>()
  #wasAborted = false

  constructor(private readonly into: Import) {}

  run(chunks: readonly { chunk: Json; where: string }[]): void {
    for (const { chunk, where } of chunks) {
      inspectRecord(JSON.stringify(chunk), chunk, where, this.into.report)
      this.#chunk(chunk, where)
    }
    const where = chunks.at(-1)?.where ?? 'file'
    this.#endStep(where)
    this.into.log.finish({ where })
  }

  // --- internal ---

  #chunk(chunk: Json, where: string): void {
    const type = String(chunk.type)
    const [, kind, stage] = /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? []
    if (kind !== undefined) this.#said(kind as 'text' | 'reasoning', stage!, chunk, where)
    else if (type.startsWith('tool-')) this.#tool(type, chunk, where)
    else if (type === 'file') this.#parts.push({ part: filePart(chunk), where })
    else if (type === 'start-step' || type === 'finish-step' || type === 'finish') this.#endStep(where)
    else if (type === 'abort') this.#wasAborted = true
    else if (type !== 'start') this.into.log.note(`import/ai-sdk-stream.${type}`, chunk as JsonObject, { where })
  }

  #said(type: 'text' | 'reasoning', stage: string, chunk: Json, where: string): void {
    const id = `${type} ${String(chunk.id ?? '')}`
    const known = stage === 'start' ? undefined : this.#byId.get(id)
    const part: TextPart | ReasoningPart = known ?? { type, text: '' }
    if (known === undefined) {
      this.#byId.set(id, part)
      this.#parts.push({ part, where })
    }
    part.text += stringOf(chunk.delta) ?? stringOf(chunk.text) ?? ''
    const { providerOptions } = providerOptionsOf(chunk)
    if (providerOptions) part.providerOptions = { ...part.providerOptions, ...providerOptions }
    if (stage === 'end') this.#byId.delete(id)
  }

  #tool(type: string, chunk: Json, where: string): void {
    const toolCallId = stringOf(chunk.toolCallId) ?? ''
    const toolName = stringOf(chunk.toolName) ?? this.#names.get(toolCallId) ?? ''
    this.#names.set(toolCallId, toolName)
    if (type === 'tool-input-start') this.#inputs.set(toolCallId, { toolName, text: '', where })
    else if (type === 'tool-input-delta') this.#inputDelta(toolCallId, chunk)
    else if (type === 'tool-input-available' || type === 'tool-call') this.#call(toolCallId, chunk, where)
    else if (type === 'tool-input-error') {
      this.#call(toolCallId, chunk, where)
      this.#result(toolCallId, { type: 'error-text', value: stringOf(chunk.errorText) ?? '' }, where)
    } else {
      const output = toolOutput(type, chunk)
      if (output !== undefined) this.#result(toolCallId, output, where, chunk.preliminary === true)
      else this.into.log.note(`import/ai-sdk-stream.${type}`, chunk as JsonObject, { where })
    }
  }

  #inputDelta(toolCallId: string, chunk: Json): void {
    const input = this.#inputs.get(toolCallId)
    if (input !== undefined) input.text += stringOf(chunk.inputTextDelta) ?? stringOf(chunk.delta) ?? ''
  }

  /** The text of the model, where the input is the same; a string is a call's text, too. */
  #call(toolCallId: string, chunk: Json, where: string): void {
    const streamed = this.#inputs.get(toolCallId)
    this.#inputs.delete(toolCallId)
    const { input } = chunk
    const own = typeof input === 'string' ? inputOfText(input) : inputOfValue(input)
    const told = streamed && streamed.text !== '' ? inputOfText(streamed.text) : own
    const isSame = input === undefined || JSON.stringify(told.input) === JSON.stringify(own.input)
    this.#parts.push({
      where: streamed?.where ?? where,
      part: {
        type: 'tool-call',
        toolCallId,
        toolName: this.#names.get(toolCallId) ?? '',
        ...(isSame ? told : own),
        ...(chunk.providerExecuted === true && { providerExecuted: true }),
        ...providerOptionsOf(chunk),
      },
    })
  }

  /** A later output of a call takes the place of a preliminary one. */
  #result(toolCallId: string, output: ToolOutput, where: string, isPreliminary = false): void {
    const toolName = this.#names.get(toolCallId) ?? ''
    const call = this.#parts.find(({ part }) => part.type === 'tool-call' && part.toolCallId === toolCallId)?.part
    if (call?.type === 'tool-call' && call.providerExecuted) {
      this.#parts.push({ part: { type: 'tool-result', toolCallId, toolName, output }, where })
      return
    }
    this.#results = this.#results.filter(result => result.toolCallId !== toolCallId || !result.isPreliminary)
    this.#results.push({ toolCallId, toolName, output, where, isPreliminary })
  }

  #endStep(where: string): void {
    for (const [toolCallId, streamed] of this.#inputs) this.#call(toolCallId, {}, streamed.where)
    const parts = this.#parts.filter(({ part }) => !isEmpty(part))
    if (parts.length > 0) {
      this.into.log.assistant(
        parts.map(({ part }) => part),
        { where: parts[0]!.where, parts: parts.map(each => each.where) },
        this.#wasAborted ? { interrupted: true } : {},
      )
    }
    for (const { where, isPreliminary: _, ...result } of this.#results)
      this.into.log.result(result, { where, parts: [where] })
    this.#parts = []
    this.#results = []
    this.#byId.clear()
    if (this.#wasAborted) this.into.log.endTurn({ where }, { kind: 'aborted' })
  }
}

function isEmpty(part: AssistantPart): boolean {
  return (part.type === 'text' || part.type === 'reasoning') && part.text === '' && part.providerOptions === undefined
}

const TYPES = new Set([
  'start',
  'start-step',
  'finish-step',
  'finish',
  'abort',
  'error',
  'file',
  'message-metadata',
  'source-url',
  'source-document',
  'text-start',
  'text-delta',
  'text-end',
  'reasoning-start',
  'reasoning-delta',
  'reasoning-end',
  'tool-input-start',
  'tool-input-delta',
  'tool-input-end',
  'tool-input-available',
  'tool-input-error',
  'tool-approval-request',
  'tool-output-available',
  'tool-output-error',
  'tool-output-denied',
  'tool-call',
  'tool-result',
  'tool-error',
])
