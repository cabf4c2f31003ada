import type { Chunk, ModelFailure, ModelPort, ModelRequest } from '@palimpsest/session'
import { type CallDefaults, callOptionsOf } from './call-options.js'
import { aborted, failureOfReading, failureOfRequest, truncated } from './failure.js'
import type { AnyModel, LanguageModel, PartReader, SpecVersion, StreamPart, StreamResult } from './language-model.js'
import { ownMessages } from './own-messages.js'
import { withRawTexts } from './raw-fetch.js'
import { StreamParts } from './stream-parts.js'
import { type Vendor, vendorOf } from './vendor.js'

export type AiSdkModelOptions = CallDefaults

/**
 * Any model of the AI SDK (spec V2, V3 or V4) as a model port. Each `stream` calls `doStream` once
 * and never retries; whatever goes wrong is a final `error` chunk. What another vendor signed or
 * sealed is not sent to this one. Throws a `TypeError` here, at once, for a model of another spec.
 */
export function aiSdkModel(model: LanguageModel, options: AiSdkModelOptions = {}): ModelPort {
  const target = { model: model as AnyModel, spec: specOf(model), defaults: options, vendor: vendorOf(model) }
  return { model: model.modelId, stream: (request, signal) => streamOf(target, request, signal) }
}

// --- internal ---

const SPECS: readonly string[] = ['v2', 'v3', 'v4'] satisfies SpecVersion[]

function specOf(model: LanguageModel): SpecVersion {
  const found = (model as { specificationVersion?: unknown } | null | undefined)?.specificationVersion
  if (SPECS.includes(found as string)) return found as SpecVersion
  throw new TypeError(
    `expected a language model of specification v2, v3 or v4, found ${JSON.stringify(found)}; ` +
      'make one with an AI SDK provider, such as createAnthropic()(id)',
  )
}

interface Target {
  model: AnyModel
  spec: SpecVersion
  defaults: CallDefaults
  vendor: Vendor | undefined
}

async function* streamOf(
  target: Target,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<Chunk, void, undefined> {
  let reader: PartReader
  try {
    const result = await startStream(target, request, signal)
    reader = result.stream.getReader()
  } catch (error) {
    yield failed(isAbort(error, signal) ? aborted() : failureOfRequest(error))
    return
  }
  yield* chunksOf(reader, new StreamParts(target.model.provider, target.vendor), signal)
}

/** Does not wait for a model that ignores the signal; a stream that such a model brings late is closed. */
async function startStream(
  { model, spec, defaults, vendor }: Target,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<StreamResult> {
  signal.throwIfAborted()
  const own = vendor === undefined ? request : { ...request, messages: ownMessages(request.messages, vendor) }
  const options = callOptionsOf(own, spec, defaults, signal)
  const started = Promise.resolve(withRawTexts(own, () => model.doStream(options)))
  let stop = () => {}
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([started, stopped])
  } catch (error) {
    started.then(late => close(late.stream.getReader())).catch(() => {})
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Ends with exactly one final chunk. Closing the reader is what wakes a pending read on abort. */
async function* chunksOf(
  reader: PartReader,
  parts: StreamParts,
  signal: AbortSignal,
): AsyncGenerator<Chunk, void, undefined> {
  const stop = () => close(reader)
  signal.addEventListener('abort', stop, { once: true })
  try {
    for (;;) {
      const chunk = await nextChunk(reader, parts, signal)
      if (chunk === undefined) continue
      yield chunk
      if (chunk.type === 'finish' || chunk.type === 'error') return
    }
  } finally {
    signal.removeEventListener('abort', stop)
    close(reader)
  }
}

async function nextChunk(reader: PartReader, parts: StreamParts, signal: AbortSignal): Promise<Chunk | undefined> {
  try {
    if (signal.aborted) return failed(aborted())
    const { done, value } = await reader.read()
    if (signal.aborted) return failed(aborted())
    return done ? failed(truncated()) : parts.chunkOf(value as StreamPart)
  } catch (error) {
    return failed(isAbort(error, signal) ? aborted() : failureOfReading(error))
  }
}

/** Nobody waits for the provider to notice. */
function close(reader: PartReader): void {
  reader.cancel().catch(() => {})
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || (error as { name?: unknown } | null | undefined)?.name === 'AbortError'
}

function failed(error: ModelFailure): Chunk {
  return { type: 'error', error }
}
