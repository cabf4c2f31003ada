import type { Chunk, JsonObject, ModelFailure, ProviderOptions, Usage } from '@palimpsest/session'
import { failureOfPart, truncated } from './failure.js'
import type { StreamPart } from './language-model.js'
import { base64, isRecord, jsonOf, optionsOf } from './lossless.js'
import { noted } from './own-messages.js'
import { OURS } from './prompt.js'
import { finishOf, usageOf } from './usage.js'
import type { Vendor } from './vendor.js'

/** Reads the parts of one stream, of any spec, and tells the chunk that each makes, if any. */
export class StreamParts {
  readonly #provider: string
  readonly #vendor: Vendor | undefined
  readonly #blocks = new BlockIds()
  readonly #toolNames = new Map<string, string>()
  readonly #toolOptions = new Map<string, ProviderOptions>()
  #customs = 0
  #response: { id?: string; model?: string } = {}

  constructor(provider: string, vendor: Vendor | undefined) {
    this.#provider = provider
    this.#vendor = vendor
  }

  chunkOf(part: StreamPart): Chunk | undefined {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#blocks.begin(part)
        return this.#delta(part)
      case 'text-delta':
      case 'text-end':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#delta(part)
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
        return this.#toolInput(part)
      case 'tool-call':
        return this.#toolCall(part)
      case 'tool-result':
        return this.#toolResult(part)
      case 'file':
      case 'reasoning-file':
        return this.#file(part)
      case 'custom':
        return this.#custom(part)
      case 'response-metadata':
        this.#note(part)
        return undefined
      case 'finish':
        return this.#finish(part)
      case 'tool-approval-request':
        return failed(UNAPPROVED)
      case 'error':
        return failed(failureOfPart(part.error))
      default:
        return undefined // stream-start, source, ping, raw: nothing that a replay needs
    }
  }

  #delta(part: StreamPart): Chunk | undefined {
    const text = part.delta ?? ''
    const options = this.#options(part)
    if (text === '' && options === undefined) return undefined
    const type = part.type.startsWith('text') ? 'text-delta' : 'reasoning-delta'
    return { type, id: this.#blocks.current(part), text, ...withOptions(options) }
  }

  #toolInput(part: StreamPart): Chunk | undefined {
    const toolCallId = part.id ?? ''
    const options = this.#options(part)
    if (part.toolName !== undefined) this.#toolNames.set(toolCallId, part.toolName)
    if (options) this.#toolOptions.set(toolCallId, { ...this.#toolOptions.get(toolCallId), ...options })
    if (!part.delta) return undefined
    return { type: 'tool-input-delta', toolCallId, toolName: this.#toolNames.get(toolCallId) ?? '', text: part.delta }
  }

  /** A provider may sign a call on its input parts only; then that is the call's. */
  #toolCall(part: StreamPart): Chunk {
    const { toolCallId = '', toolName = '', input } = part
    const options = this.#options(part) ?? this.#toolOptions.get(toolCallId)
    return {
      type: 'tool-call',
      toolCallId,
      toolName,
      input: typeof input === 'string' ? input : JSON.stringify(jsonOf(input)),
      ...(part.providerExecuted ? { providerExecuted: true } : {}),
      ...withOptions(options),
    }
  }

  #toolResult(part: StreamPart): Chunk | undefined {
    if (part.preliminary) return undefined // the whole one follows
    const { toolCallId = '', toolName = '' } = part
    const type = part.isError ? 'error-json' : 'json'
    const output = { type, value: jsonOf(part.result) } as const
    return { type: 'tool-result', toolCallId, toolName, output, ...withOptions(this.#options(part)) }
  }

  /** V4's provider-specific block becomes a text part without text: only its options count. */
  #custom(part: StreamPart): Chunk | undefined {
    const { type, kind = '' } = part
    if (NOTES.has(kind)) return undefined
    const providerOptions = marked(this.#options(part), { part: type, kind })
    return { type: 'text-delta', id: `${type} ${this.#customs++}`, text: '', providerOptions }
  }

  #note(part: StreamPart): void {
    if (typeof part.id === 'string') this.#response.id = part.id
    if (typeof part.modelId === 'string') this.#response.model = part.modelId
  }

  #finish(part: StreamPart): Chunk {
    const finishReason = finishOf(part.finishReason)
    if (finishReason === 'truncated') return failed(truncated())
    if (finishReason === 'failed') return failed(FINISHED_WITH_ERROR)
    const usage: Usage | undefined = usageOf(part.usage, this.#provider, part.providerMetadata)
    return {
      type: 'finish',
      finishReason,
      ...(usage === undefined ? {} : { usage }),
      ...(Object.keys(this.#response).length === 0 ? {} : { response: this.#response }),
      ...withOptions(this.#saying(part)),
    }
  }

  #file(part: StreamPart): Chunk {
    const options = this.#options(part)
    const own = part.type === 'reasoning-file' ? marked(options, { part: part.type }) : options
    return { type: 'file', mediaType: part.mediaType ?? '', data: fileText(part.data), ...withOptions(own) }
  }

  #options(part: StreamPart): ProviderOptions | undefined {
    const options = optionsOf(part.providerMetadata)
    return options && noted(options, this.#vendor)
  }

  /** Some providers finish every answer with an empty object of theirs, which would stand in every message. */
  #saying(part: StreamPart): ProviderOptions | undefined {
    const own = Object.entries(optionsOf(part.providerMetadata) ?? {}).filter(([, of]) => Object.keys(of).length > 0)
    return own.length > 0 ? noted(Object.fromEntries(own), this.#vendor) : undefined
  }
}

// --- internal ---

const FINISHED_WITH_ERROR: ModelFailure = {
  code: 'MODEL_STREAM_ERROR',
  message: 'the provider finished its answer with an error and said nothing about it; ask again',
  retryable: true,
}

const UNAPPROVED: ModelFailure = {
  code: 'MODEL_APPROVAL_UNSUPPORTED',
  message:
    'the provider asks to approve a tool that it runs itself, which is not supported; let it run without approval',
  retryable: false,
}

/** Blocks that only tell what `response-metadata` and the usage say too; never sent back. */
const NOTES: ReadonlySet<string> = new Set(['anthropic.message_start'])

/** Ids of text and reasoning blocks. Some providers begin a second block with the id of an ended one. */
class BlockIds {
  readonly #used = new Set<string>()
  readonly #current = new Map<string, string>()

  begin(part: StreamPart): void {
    const id = part.id ?? ''
    let free = id
    for (let n = 2; this.#used.has(keyOf(part, free)); n++) free = `${id}-${n}`
    this.#used.add(keyOf(part, free))
    this.#current.set(keyOf(part, id), free)
  }

  current(part: StreamPart): string {
    const id = part.id ?? ''
    return this.#current.get(keyOf(part, id)) ?? id
  }
}

function keyOf(part: StreamPart, id: string): string {
  return `${part.type.startsWith('text') ? 'text' : 'reasoning'} ${id}`
}

/** Bytes, base64 text, or (since V4) one of them or a URL under a tag. */
function fileText(data: unknown): string {
  if (data instanceof Uint8Array) return base64(data)
  if (isRecord(data) && !(data instanceof URL)) return fileText(data.type === 'url' ? data.url : data.data)
  return String(data)
}

/** Added to what stands under our own name. */
function marked(options: ProviderOptions | undefined, mark: JsonObject): ProviderOptions {
  return { ...options, [OURS]: { ...options?.[OURS], ...mark } }
}

function failed(error: ModelFailure): Chunk {
  return { type: 'error', error }
}

function withOptions(providerOptions: ProviderOptions | undefined): { providerOptions?: ProviderOptions } {
  return providerOptions === undefined ? {} : { providerOptions }
}
